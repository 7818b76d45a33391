//! `sim`
