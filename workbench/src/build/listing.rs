//! An image as text: placement, schedule, instructions.

use crate::report::fates::Fates;
use arch::Image;
use arch::image::Annotated;
use compiler::placed::Axis;
use compiler::search::{Alternative, Compiled};
use std::fmt::Display;

fn axis(axis: Axis) -> &'static str {
    match axis {
        Axis::Local => "local",
        Axis::Column => "columns",
        Axis::Row => "rows",
        Axis::Grid => "all PEs",
        Axis::Tall => "all PEs, rows first",
    }
}

/// Where each tensor lies, when each instruction of the step runs, and what became of names and lines of the source that are not found
/// there.
pub fn explain(compiled: &Compiled, source: &str, fates: &Fates) -> String {
    let mut text = format!("placement on {} (each dimension of a tensor)\n", compiled.image.machine);
    for (name, axes) in &compiled.placement {
        let axes: Vec<&str> = axes.iter().map(|&a| axis(a)).collect();
        let axes = if axes.is_empty() { "scalar".to_owned() } else { axes.join(", ") };
        text.push_str(&format!("  {name:16} {axes}\n"));
    }
    for (name, fate) in &fates.names {
        text.push_str(&format!("  {name:16} ({fate})\n"));
    }
    text.push_str(&alternatives(compiled));
    text.push_str(&schedule(compiled, source));
    for (line, fate) in &fates.lines {
        if let Some(fate) = fate {
            text.push_str(&format!("line {line} is {fate}\n"));
        }
    }
    text
}

/// When each instruction of the step runs, and what there is to say about all of them.
fn schedule(compiled: &Compiled, source: &str) -> String {
    let mut text = "\nschedule of one step\n  start   beats  readable  unit          line  what\n".to_owned();
    for step in &compiled.steps {
        let waited = step.cause.as_ref().filter(|_| step.waited > 0);
        let waited = waited.map_or_else(String::new, |cause| format!("  (waited {} cycles {cause})", step.waited));
        text.push_str(&format!(
            "{:7} {:7} {:9}  {:12} {:>5}  {}{waited}\n",
            step.start,
            step.length,
            step.readable,
            step.unit,
            step.origin.lines(source).numbers(),
            step.what
        ));
    }
    text.push_str(&format!(
        "\n{} cycles of computing from step to step, where loading and emission take no longer\n",
        compiled.image.step_length
    ));
    if !compiled.image.scalar.is_empty() {
        text.push_str("what the scalar unit computes takes no beat of the PEs\n");
    }
    if let Some(samples) = compiled.tile {
        text.push_str(&format!(
            "a batch is {} steps of {samples} samples: it does not fit the data pads as a whole\n",
            compiled.image.tiles
        ));
        let (tile, step) = (compiled.image.tile_length, compiled.image.step_length);
        if tile < step {
            text.push_str(&format!(
                "all but the last one end after {tile} cycles: the update takes the other {}\n",
                step - tile
            ));
        }
    }
    text
}

/// What the placement takes, and what the best of the others would take and where it differs.
fn alternatives(compiled: &Compiled) -> String {
    let cycles = |a: &Alternative| {
        let mut sent = if a.emit > 0 { format!(", {} beats of output", a.emit) } else { String::new() };
        if a.leave > a.emit {
            sent.push_str(&format!(" in {} transfers", a.leave));
        }
        format!("{} cycles of computing, {} transfers of input{sent}", a.step, a.load)
    };
    let Some(chosen) = compiled.alternatives.first() else { return String::new() };
    let mut text = format!("chosen because it takes least: {}\n", cycles(chosen));
    match compiled.alternatives.iter().skip(1).find(|other| other.placement != chosen.placement) {
        None => text.push_str("no other placement came near it\n"),
        Some(second) => {
            let differing = second
                .placement
                .iter()
                .filter(|(name, axes)| !chosen.placement.iter().any(|(known, chosen)| known == name && chosen == axes));
            let axes = |axes: &[Axis]| axes.iter().map(|&a| axis(a)).collect::<Vec<_>>().join(", ");
            let where_else: Vec<String> = differing.map(|(name, a)| format!("{name} on {}", axes(a))).collect();
            text.push_str(&format!("runner-up: {}", cycles(second)));
            if !where_else.is_empty() {
                text.push_str(&format!(", with {}", where_else.join("; ")));
            }
            text.push('\n');
        }
    }
    text
}

fn program<I: Display>(text: &mut String, name: &str, instructions: &[Annotated<I>], source: &str) {
    text.push_str(&format!("\n{name}\n"));
    for (n, Annotated { instruction, what, origin }) in instructions.iter().enumerate() {
        text.push_str(&format!("{n:4}  {instruction}    # {}\n", origin.lines(source).before(what)));
    }
}

/// All programs, instruction by instruction; `source` is the program that they come from.
pub fn microcode(image: &Image, source: &str) -> String {
    let mut text = format!(
        "microcode for {}\n\n\
         `+n` waits n cycles; `k2<4` is a loop; `model[3+8k2]` is a word of a scratchpad; `rows 0..2 columns 0..5 at k3` are the\n\
         PEs that take part, the bounds in the first and last iteration of the loop named. docs/machine.md has the rest.\n\nentries",
        image.machine
    );
    let entries = &image.entries;
    for (name, entry) in [
        ("step: alu", entries.step_alu),
        ("root", entries.step_root),
        ("move", entries.step_move),
        ("scalar", entries.step_scalar),
        ("load", entries.step_load),
        ("after a step: alu", entries.emit_step),
        ("model out: alu", entries.emit_model),
        ("model in: load", entries.load_model),
    ] {
        if let Some(entry) = entry {
            text.push_str(&format!("  {name} {entry}"));
        }
    }
    text.push('\n');
    program(&mut text, "alu", &image.alu, source);
    program(&mut text, "root", &image.root, source);
    program(&mut text, "move", &image.moves, source);
    program(&mut text, "load", &image.load, source);
    if image.machine.scalar() {
        program(&mut text, "scalar", &image.scalar, source);
    }
    for table in &image.tables {
        let (function, entries, base) = (table.function, table.entries.len(), table.usage.base);
        text.push_str(&format!("\ntable {function}: {entries} entries from {base}\n"));
    }
    text
}
