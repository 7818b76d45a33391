//! `cache`: where simulators are kept, how much that is; `--prune` removes them.

use crate::arguments::{CacheOptions, Global};
use crate::output;
use arch::tools::Toolbox;
use schemars::JsonSchema;
use serde::Serialize;
use sim::verilator::cache::{Cache, MOST_BYTES};
use workbench::Failure;
use workbench::documents::Document;

/// The cache of simulators.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Kept {
    /// The folder.
    folder: String,
    /// Files in it.
    entries: usize,
    /// Their bytes.
    bytes: u64,
    /// Bytes that are kept at most: those that were used longest ago go first.
    most_bytes: u64,
}

/// Say what is there, after removing it if that is asked for.
pub fn run(global: &Global, options: &CacheOptions) -> Result<(), Failure> {
    let cache = Cache::of(&Toolbox::default())?;
    if options.prune {
        cache.prune(0)?;
    }
    let (entries, bytes) = cache.size();
    let folder = cache.folder().display().to_string();
    output::either(
        global.format,
        || format!("{folder}: {entries} files, {} MB of at most {} MB\n", bytes >> 20, MOST_BYTES >> 20),
        || Document::new(Kept { folder: folder.clone(), entries, bytes, most_bytes: MOST_BYTES }),
    )
}
