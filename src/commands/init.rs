//! `init`: a new project folder that works at once: program, settings, config, data.

use crate::arguments::{Global, Init};
use crate::documents::Document;
use crate::output::{self, Files, Talk};
use schemars::JsonSchema;
use serde::Serialize;
use workbench::Failure;

/// A new project.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Begun {
    /// Its folder.
    folder: String,
    /// Files in it.
    files: Vec<String>,
}

/// Files of a project, and their texts.
const FILES: &[(&str, &str)] = &[
    ("model.t", include_str!("../template/model.t")),
    ("model.toml", include_str!("../template/model.toml")),
    ("board.toml", include_str!("../template/board.toml")),
    ("README.md", include_str!("../template/README.md")),
];

/// Write the project.
pub fn run(global: &Global, options: &Init, talk: &Talk) -> Result<(), Failure> {
    let folder = &options.folder;
    let occupied = match std::fs::read_dir(folder) {
        Ok(mut entries) => entries.next().is_some(),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => false,
        Err(error) => return Err(Failure::file("write", folder, &error)),
    };
    if occupied {
        return Err(Failure::File(format!("{} exists and is not empty: nothing was written", folder.display())));
    }
    let mut files = Files::new();
    for (name, text) in FILES {
        files.add(*name, *text);
    }
    files.add("data.csv", data());
    files.write(folder)?;
    let train = "tabla-gen train --config board.toml --data data.csv";
    talk.say(format!("wrote {}; try: cd {} && {train}", folder.display(), folder.display()));
    let names: Vec<String> = files.names().map(|path| path.display().to_string()).collect();
    output::either(
        global.format,
        || names.iter().fold(String::new(), |text, name| text + name + "\n"),
        || Document::new(Begun { folder: folder.display().to_string(), files: names.clone() }),
    )
}

/// Two made-up classes of points in the plane, and a feature that says nothing; the same every time.
fn data() -> String {
    let mut state = 7u64;
    let mut noise = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as f64 / f64::from(1u32 << 31) - 0.5
    };
    let mut text = "height,width,noise,target\n".to_owned();
    for row in 0..240 {
        let class = row % 2;
        let side = if class == 0 { -1.0 } else { 1.0 };
        let (height, width) = (1.5 * side + 4.0 * noise(), -side + 4.0 * noise());
        text.push_str(&format!("{height:.3},{width:.3},{:.3},{class}\n", 2.0 * noise()));
    }
    text
}
