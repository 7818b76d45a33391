//! Layers: the statements of a program with their cycles, beside what no grid of this size can beat for each of them alone.
//!
//! ```text
//! instructions of a step ──by line of the source──▶ cycles, conversions ──┐
//! operations in fixed point ──by line of the source──▶ bound ─────────────┴─▶ Layer ──more than three times?──▶ W-SLOW
//! ```

use super::figures::figure;
use arch::{Code, Diagnostic, Span};
use compiler::fixed::Program;
use compiler::search::{Compiled, Step};
use schemars::JsonSchema;
use serde::Serialize;
use sim::pace;
use std::collections::BTreeMap;

/// Times its bound that a layer may take without a word.
const TIMES: f64 = 3.0;
/// Cycles beyond that of which nothing is said: every statement has a few beats, and waits for the pipeline of the one before.
const FEW_BEATS: u64 = 16;
const FEW_CYCLES: u64 = 128;
/// Letters of a statement that are shown.
const SHOWN: usize = 48;

/// A statement of the source.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Layer {
    /// Its line.
    pub line: usize,
    /// How it begins.
    pub text: String,
    /// Cycles of a step in which PEs compute for it, change the place of words for it, or wait to begin.
    pub cycles: u64,
    /// Cycles that no grid of this size can beat, for this statement alone: operations, and results, of which a PE writes one per cycle.
    pub bound: f64,
    /// Of `cycles` those that only copy words to where they are needed.
    pub conversions: u64,
    /// Why it takes more than three times its bound, if it does.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub slow: Option<String>,
    #[serde(skip)]
    span: Span,
}

/// The statements of a program that were compiled to instructions of their own, in the order of the text.
pub fn layers(program: &Program, compiled: &Compiled, source: &str) -> Vec<Layer> {
    let machine = &compiled.image.machine;
    let mut steps: BTreeMap<usize, Vec<&Step>> = BTreeMap::new();
    for step in compiled.steps.iter().filter(|step| step.unit != "scalar unit") {
        steps.entry(step.origin.line(source)).or_default().push(step);
    }
    steps.remove(&0);
    let layer = |(line, steps): (usize, Vec<&Step>)| {
        let of_line = |operation: &compiler::fixed::Operation| operation.origin.line(source) == line;
        let bound = pace::bound_of(program, machine, of_line) / f64::from(compiled.image.tiles);
        let copies = |step: &&&Step| step.what.ends_with(" copy");
        let waited: u64 = steps.iter().map(|step| step.waited).sum();
        let conversions = steps.iter().filter(copies).map(|step| step.length).sum();
        let cycles = waited + steps.iter().map(|step| step.length).sum::<u64>();
        let text = source.lines().nth(line - 1).unwrap_or_default().trim();
        let mut layer = Layer {
            line,
            text: text.chars().take(SHOWN).collect(),
            cycles,
            bound,
            conversions,
            slow: None,
            span: steps[0].origin.span(),
        };
        if is_slow(cycles, waited, bound) {
            layer.slow = Some(reason(&layer, &steps, waited, machine.pes()));
        }
        layer
    };
    steps.into_iter().map(layer).collect()
}

/// Whether so many cycles, of which some are waited, are worth a word.
fn is_slow(cycles: u64, waited: u64, bound: f64) -> bool {
    let beyond = |cycles: u64, few: u64| cycles as f64 > TIMES * bound + few as f64;
    beyond(cycles - waited, FEW_BEATS) || beyond(cycles, FEW_CYCLES)
}

/// What most of the cycles go to.
fn reason(layer: &Layer, steps: &[&Step], waited: u64, pes: u32) -> String {
    let half = layer.cycles / 2;
    if waited > half {
        let longest = steps.iter().max_by_key(|step| step.waited).expect("a layer has instructions");
        let cause = longest.cause.as_ref().map_or_else(String::new, |cause| format!(", most of them {cause}"));
        return format!("{waited} cycles are waited{cause}");
    }
    if layer.conversions > half {
        return format!("{} cycles only copy words to where they are needed", layer.conversions);
    }
    let busy = (layer.bound * f64::from(pes) / (layer.cycles - waited).max(1) as f64).max(1.0);
    let longest = steps.iter().max_by_key(|step| step.length).expect("a layer has instructions");
    let (what, length) = (&longest.what, longest.length);
    format!("as it lies, about {busy:.0} of {pes} PEs have work of their own; `{what}` takes {length} cycles")
}

/// The warnings about those that are slow.
pub fn warnings(layers: &[Layer]) -> Vec<Diagnostic> {
    let slow = layers.iter().filter_map(|layer| Some((layer, layer.slow.as_ref()?)));
    let warning = |(layer, why): (&Layer, &String)| {
        let bound = figure(layer.bound);
        let message = format!("this takes {} cycles of a step, {bound} would do on so many PEs: {why}", layer.cycles);
        Diagnostic::new(Code::WarnSlow, layer.span, message)
            .with_help("extents that are multiples of the grid, or another grid (`tabla-gen explore`), may lie better")
    };
    slow.map(warning).collect()
}

/// The statements as a table.
pub fn text(layers: &[Layer]) -> String {
    let mut text = "\nlayers of one step\n   line   cycles      bound   times  copying  statement\n".to_owned();
    for layer in layers {
        let times =
            if layer.bound > 0.0 { format!("{:.2}", layer.cycles as f64 / layer.bound) } else { "-".to_owned() };
        let bound = figure(layer.bound);
        let (line, cycles, copying, statement) = (layer.line, layer.cycles, layer.conversions, &layer.text);
        text.push_str(&format!("{line:7} {cycles:8} {bound:>10} {times:>7} {copying:8}  {statement}\n"));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Three times the bound is not slow, nor are a few beats and the latency of the pipeline.
    #[test]
    fn more_than_three_times_the_bound_is_slow() {
        assert!(!is_slow(300, 0, 100.0) && !is_slow(316, 0, 100.0) && is_slow(317, 0, 100.0));
        assert!(!is_slow(300 + 128, 120, 100.0) && is_slow(300 + 129, 120, 100.0));
        assert!(!is_slow(16, 0, 0.0) && is_slow(2049, 8, 4.0));
    }
}
