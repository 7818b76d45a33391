//! The sample store beside a grid: whether there is one, where its rows are, what it can do.
//!
//! ```text
//! store = ".." in [board] ──┐
//! what the board has ───────┼──▶ Project::store ──▶ Store ──▶ hdl::store::Store
//! what a training needs ────┘
//! ```

use super::Project;
use crate::config::{StoreOption, value_span};
use crate::failure::Failure;
use crate::resources;
use arch::Machine;
use arch::store::row_in_words;

/// A sample store.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Store {
    /// Rows, each as wide as a beat; 0: there is none.
    pub rows: u32,
    /// Whether they lie in the board's SDRAM, else in block memories.
    pub in_sdram: bool,
    /// Whether those are large ones, of 256 kbit.
    pub large: bool,
    /// Whether it can play the batches of an epoch in an order of its own.
    pub permutes: bool,
}

/// What a training asks of a sample store.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct StoreNeeds {
    /// Rows, where they are known.
    pub rows: Option<u64>,
    /// An order of its own in each epoch.
    pub permutes: bool,
}

impl Store {
    /// The hardware, with an SDRAM if its rows are there.
    pub fn hardware<'a>(&self, sdram: Option<&'a hdl::store::Sdram>) -> Option<hdl::store::Store<'a>> {
        let Store { rows, permutes, large, .. } = *self;
        (rows > 0).then_some(hdl::store::Store { rows, permutes, sdram, large })
    }

    /// For people.
    pub fn text(&self) -> String {
        match (self.rows, self.in_sdram) {
            (0, _) => "no sample store".to_owned(),
            (rows, true) => format!("a sample store of {rows} rows in its SDRAM"),
            (rows, false) => format!("a sample store of {rows} rows"),
        }
    }
}

impl Project {
    /// The sample store that the configuration asks for beside this grid, for a training.
    ///
    /// # Errors
    /// It asks for one where there is no room, or no serial port that would fill it, or no SDRAM.
    pub fn store(&self, machine: &Machine, needs: StoreNeeds) -> Result<Store, Failure> {
        let StoreNeeds { rows: needed, permutes } = needs;
        let asked = self.config.board.store;
        let (Some(facts), Some((_, source))) = (self.board.facts(), &self.config_source) else {
            return Ok(Store::default());
        };
        let refused = |message: String, help: &str| {
            let span = value_span(&source.text, &["board", "store"]).unwrap_or_default();
            let diagnostic = arch::Diagnostic::new(arch::Code::Config, span, message).with_help(help);
            Failure::about(source, vec![diagnostic])
        };
        let in_sdram = facts.sdram.as_ref().map(|sdram| Store {
            rows: 1 << (sdram.address_bits() - row_in_words(machine, sdram.data_bits).1),
            in_sdram: true,
            large: false,
            permutes,
        });
        let clock = self.board.clock_mhz;
        let has_clock =
            facts.sdram.as_ref().is_some_and(|sdram| (sdram.clock_mhz[0]..=sdram.clock_mhz[1]).contains(&clock));
        let (family, microcode) = (facts.device.family(), self.config.build.microcode);
        let blocks = || {
            let large = resources::large_store_rows(machine, &facts.resources);
            let small = || resources::store_rows(machine, family, &facts.resources, microcode);
            let rows = if large > 0 { large } else { small() };
            let rows = facts.io.as_ref().map_or(0, |_| rows);
            Store { rows, in_sdram: false, large: large > 0, permutes }
        };
        // A store that nobody insists on may not cost the grid its place.
        let has_logic = || resources::has_logic_for_store(machine, family, &facts.resources, microcode, permutes);
        match (asked, in_sdram) {
            (StoreOption::None, _) => Ok(Store::default()),
            (StoreOption::Sdram, None) => {
                let help = "`store = \"bram\"` takes block memories; `[sdram]` in the board's file describes an SDRAM of single data rate";
                Err(refused(format!("{} has no SDRAM", facts.title), help))
            }
            (StoreOption::Sdram, Some(_)) if !has_clock => {
                let [least, most] = facts.sdram.as_ref().map_or([0.0; 2], |sdram| sdram.clock_mhz);
                let message = format!("the SDRAM of {} works at {least} to {most} MHz, not at {clock}", facts.title);
                Err(refused(message, "`clock_mhz` in [board] is the clock of grid and SDRAM"))
            }
            (StoreOption::Sdram, Some(store)) => Ok(store),
            (StoreOption::Auto, _) if !has_logic() => Ok(Store::default()),
            (StoreOption::Auto, Some(store))
                if has_clock
                    && needed.is_some_and(|rows| rows > u64::from(blocks().rows) && rows <= u64::from(store.rows)) =>
            {
                Ok(store)
            }
            (StoreOption::Auto, _) => Ok(blocks()),
            (StoreOption::Bram, _) => match (blocks(), &facts.io) {
                (Store { rows: 0, .. }, Some(_)) => Err(refused(
                    format!("{} has no room for a sample store beside {machine}", facts.title),
                    "a smaller grid or shallower memories leave block memories over; `store = \"auto\"` goes without",
                )),
                (Store { rows: 0, .. }, None) => Err(refused(
                    format!("{} has no serial port that could fill a sample store", facts.title),
                    "`store = \"auto\"` goes without",
                )),
                (store, _) => Ok(store),
            },
        }
    }
}
