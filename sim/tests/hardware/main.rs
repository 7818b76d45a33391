//! The hardware against its models: grids, shells, links, stores, and the simulators that run them.

mod axi;
mod axi_client;
mod columns;
mod fixed_program;
mod grid;
mod link;
mod lockstep;
mod logistic;
#[path = "../made_up/mod.rs"]
mod made_up;
mod modelled;
mod rectifiers;
mod squares;
mod store;
mod tiles;
mod verilator;
mod waves;
