//! Bytes as TOML: a config, and the settings of a training.

use sim::train::settings::Settings;
use workbench::Source;
use workbench::config::{Config, from_toml};

#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct TrainFile {
    train: Settings,
}

/// Nothing here may panic; every message points into the text.
pub(crate) fn read(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes).into_owned();
    let length = text.len();
    let source = Source { name: "config.toml".to_owned(), text };
    let mut diagnostics = Config::parse(&source).err().unwrap_or_default();
    match from_toml::<TrainFile>(&source.text) {
        Ok(file) => {
            let _ = file.train.scales_target();
        }
        Err(diagnostic) => diagnostics.push(diagnostic),
    }
    for diagnostic in diagnostics {
        let span = diagnostic.span.unwrap_or_default();
        assert!(span.start <= span.end && span.end <= length, "a span outside the text: {diagnostic:?}");
    }
}
