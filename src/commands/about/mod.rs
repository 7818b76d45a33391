//! Commands about the tool itself.

pub mod cache;
pub mod code;
pub mod completions;
pub mod doctor;
pub mod man;
pub mod schema;
