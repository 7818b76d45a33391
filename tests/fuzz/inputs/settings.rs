//! Bytes as TOML: a config, and what stands beside a program.

use workbench::config::Config;
use workbench::settings::{function_table, train_table};
use workbench::{Failure, Source};

/// Nothing here may panic; every message points into the text.
pub(crate) fn read(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes).into_owned();
    let length = text.len();
    let source = Source { name: "config.toml".to_owned(), text };
    let mut diagnostics = Config::parse(&source).err().unwrap_or_default();
    match train_table(&source) {
        Ok(table) => drop(table.map(|settings| settings.scales_target())),
        Err(Failure::Diagnostics { diagnostics: wrong, .. }) => diagnostics.extend(wrong),
        Err(other) => panic!("{other}"),
    }
    let _ = function_table(&source);
    for diagnostic in diagnostics {
        let span = diagnostic.span.unwrap_or_default();
        assert!(span.start <= span.end && span.end <= length, "a span outside the text: {diagnostic:?}");
    }
}
