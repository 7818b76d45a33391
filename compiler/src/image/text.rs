//! Text form of an image: what is loaded into the grid, instruction by instruction, and what the streams carry.

use arch::image::{Entries, Feed, FeedDimension, Image, StreamTensor};
use arch::isa::LEVELS;
use std::fmt::{Display, Write};

/// The text of an image.
pub fn text(image: &Image) -> String {
    let mut text = format!("image for {}\n", image.machine);
    let _ = writeln!(text, "step {} cycles, {} tiles", image.step_length, image.tiles);
    for (name, entry) in routines(&image.entries) {
        if let Some(entry) = entry {
            let _ = writeln!(text, "entry {name} {entry}");
        }
    }
    list(&mut text, &image.alu);
    list(&mut text, &image.root);
    list(&mut text, &image.moves);
    list(&mut text, &image.scalar);
    list(&mut text, &image.load);
    for (number, StreamTensor { name, shape, fraction, constant }) in image.tensors.iter().enumerate() {
        let words = constant.as_ref().map_or(String::new(), |words| format!(" = {words:?}"));
        let _ = writeln!(text, "stream {number} {name} {shape:?} q{fraction}{words}");
    }
    for (word, feeds) in [
        ("model in", &image.model_in),
        ("step in", &image.step_in),
        ("step out", &image.step_out),
        ("model out", &image.model_out),
    ] {
        for feed in feeds {
            let _ = writeln!(text, "{word}: {}", carried(feed));
        }
    }
    text
}

/// The routines of an image, each by its stream.
fn routines(entries: &Entries) -> [(&'static str, Option<u32>); 8] {
    [
        ("step alu", entries.step_alu),
        ("step root", entries.step_root),
        ("step move", entries.step_move),
        ("step scalar", entries.step_scalar),
        ("step load", entries.step_load),
        ("emit step", entries.emit_step),
        ("emit model", entries.emit_model),
        ("load model", entries.load_model),
    ]
}

fn list<I: Display>(text: &mut String, instructions: &[I]) {
    for (number, instruction) in instructions.iter().enumerate() {
        let _ = writeln!(text, "{number:3}  {instruction}");
    }
}

/// Which elements the beats carry: `0[2 + 1k3 + 1 lane] for k3<4`.
fn carried(feed: &Feed) -> String {
    let mut text = feed.tensor.to_string();
    for FeedDimension { offset, levels, lane } in &feed.dimensions {
        let mut index = offset.to_string();
        for (level, stride) in levels.iter().enumerate().filter(|(_, stride)| **stride != 0) {
            let _ = write!(index, "{stride:+}k{level}");
        }
        if *lane != 0 {
            let _ = write!(index, "{lane:+}lane");
        }
        let _ = write!(text, "[{index}]");
    }
    for level in (0..LEVELS).filter(|&level| feed.counts[level] > 1) {
        let _ = write!(text, " k{level}<{}", feed.counts[level]);
    }
    text
}
