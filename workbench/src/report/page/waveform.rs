//! An excerpt of the waves: some signals of the grid over a few cycles of the training, as a wave viewer shows them.
//!
//! ```text
//! in_valid   ▁▁▁▁████▁▁▁▁▁▁▁▁
//! pe0 a      ──< 12 >< -7 ><
//! ```

use super::watched::Watched;
use crate::design::Design;
use crate::engines::{EngineMaker, Rung, Which};
use crate::failure::Failure;
use crate::report::page::charts;
use arch::Image;
use schemars::JsonSchema;
use serde::Serialize;
use sim::array::Array;
use sim::array::watch::Observation;
use sim::train::engine::{Engine, NamedValues};
use sim::waves::signals::{self, Kind, Moment, Ports, Value};
use std::fmt::Write;

/// Updates before the one that is shown, and after it, so that the grid works as in the middle of a run.
const BEFORE: u32 = 3;
const AFTER: usize = 2;
/// Cycles that are shown.
const CYCLES: usize = 24;
/// Signals that are shown, as scope and name: what comes in, what the sequencer starts, what one PE does with it, what leaves the trees.
const SHOWN: [(&str, &str); 15] = [
    ("grid", "in_valid"),
    ("grid", "in_data0"),
    ("grid.sequencer", "step"),
    ("grid.sequencer.load", "beat"),
    ("grid.sequencer.alu", "beat"),
    ("grid.sequencer.alu", "line"),
    ("grid.pu0.pe0", "a"),
    ("grid.pu0.pe0", "b"),
    ("grid.pu0.pe0", "accumulator"),
    ("grid.pu0.pe0", "result"),
    ("grid.trees", "row_tree0"),
    ("grid.trees", "global_tree"),
    ("grid.sequencer.root", "beat"),
    ("grid.trees", "row_bus0"),
    ("grid.trees", "global_bus"),
];

/// Some cycles of a training on the array, which agrees with the Verilog in every cycle.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Waveform {
    /// The update that computes in the first of these cycles.
    pub step: u32,
    /// From the input to the output.
    pub signals: Vec<Trace>,
}

/// One signal.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Trace {
    /// Its scope and name, as in a wave file.
    pub name: String,
    /// Bits of a value.
    pub bits: u32,
    /// Its value in each cycle, in decimal.
    pub values: Vec<String>,
}

/// Train for some updates from `model` and look at one of them.
///
/// # Errors
/// The array is stuck.
pub fn watch(design: &Design, model: &NamedValues, source: &str) -> Result<Waveform, Failure> {
    let maker = EngineMaker::new(Rung::Array, &design.lowered, Some(&design.images), &())?;
    let image = maker.image(Which::Full).expect("a training has updates");
    let step = BEFORE * image.tiles;
    let mut window: Vec<Seen> = Vec::new();
    let see = |inside: &Observation, input: Option<&[i64]>| {
        let begins = inside.run_state == "step" && inside.step == step && inside.streams[0].issued;
        if window.len() < CYCLES && (begins || !window.is_empty()) {
            window.push(Seen { inside: inside.clone(), input: input.map(<[i64]>::to_vec) });
        }
    };
    let mut watched = Watched::new(Array::new(&design.images.machine), see);
    let mut device = maker.device(&mut watched, Which::Full, &design.samples.signature);
    device.load(model);
    device.run(&design.steps(BEFORE as usize + 1 + AFTER))?;
    drop(device);
    drop(watched);
    Ok(excerpt(step, &window, image, source))
}

/// One cycle: inside, and the beat that was offered.
struct Seen {
    /// Registers, streams, the PU that is watched.
    inside: Observation,
    /// The beat at the input.
    input: Option<Vec<i64>>,
}

fn excerpt(step: u32, window: &[Seen], image: &Image, source: &str) -> Waveform {
    let signals = signals::all(image, source, 0);
    let found = |(scope, name): &(&str, &str)| {
        let signal = signals.iter().find(|signal| signal.name == *name && signal.scope.join(".") == *scope)?;
        let bits = match signal.kind {
            Kind::Bits(bits) | Kind::Signed(bits) => bits,
            Kind::Text(_) => return None,
        };
        let value = |seen: &Seen| {
            let ports = Ports { input: seen.input.as_deref(), output_ready: true, ..Ports::default() };
            match (signal.value)(&Moment { seen: &seen.inside, ports: &ports }) {
                Value::Number(number) => number.to_string(),
                Value::Text(text) => text.to_string(),
            }
        };
        let scope = scope.split('.').next_back().filter(|scope| *scope != "grid");
        let name = scope.map_or_else(|| (*name).to_owned(), |scope| format!("{scope} {name}"));
        Some(Trace { name, bits, values: window.iter().map(value).collect() })
    };
    Waveform { step, signals: SHOWN.iter().filter_map(found).collect() }
}

/// Height of a signal, and of its wave; width of the names and of a cycle.
const ROW: f64 = 30.0;
const WAVE: f64 = 20.0;
const NAMES: f64 = 130.0;
const CYCLE: f64 = 44.0;
/// Width of a digit.
const DIGIT: f64 = 7.0;

impl Waveform {
    /// The drawing.
    pub fn svg(&self) -> String {
        let cycles = self.signals.first().map_or(0, |trace| trace.values.len());
        let (width, height) = (NAMES + CYCLE * cycles as f64, ROW * (self.signals.len() as f64 + 1.0));
        let mut svg = charts::opening("signals of the grid, cycle by cycle", width + 8.0, height);
        let x = |cycle: usize| NAMES + CYCLE * cycle as f64;
        for cycle in 0..=cycles {
            let at = x(cycle);
            let _ = write!(svg, "<line class=\"rule\" x1=\"{at}\" x2=\"{at}\" y1=\"0\" y2=\"{}\"/>", height - ROW);
            if cycle < cycles {
                let (middle, under) = (at + CYCLE / 2.0, height - 10.0);
                let _ = write!(svg, "<text class=\"middle\" x=\"{middle}\" y=\"{under}\">{cycle}</text>");
            }
        }
        for (row, trace) in self.signals.iter().enumerate() {
            let top = ROW * row as f64 + (ROW - WAVE) / 2.0;
            let _ = write!(svg, "<text x=\"0\" y=\"{}\">{}</text>", top + 15.0, charts::escape(&trace.name));
            let mut from = 0;
            for run in trace.values.chunk_by(|a, b| a == b) {
                let (left, right) = (x(from), x(from + run.len()));
                from += run.len();
                let floor = top + WAVE;
                let (value, zero) = (&run[0], run[0] == "0");
                let path = match (trace.bits, zero) {
                    (1, true) => format!("M{left} {floor}H{right}"),
                    (1, false) => format!("M{left} {floor}V{top}H{right}V{floor}"),
                    (_, true) => format!("M{left} {}H{right}", top + WAVE / 2.0),
                    _ => {
                        let (in_left, in_right, middle) = (left + 3.0, right - 3.0, top + WAVE / 2.0);
                        format!(
                            "M{left} {middle}L{in_left} {top}H{in_right}L{right} {middle}L{in_right} {floor}H{in_left}Z"
                        )
                    }
                };
                let colour = u8::from(trace.bits == 1) * 2;
                let title = format!("<title>{} = {value}</title>", charts::escape(&trace.name));
                let _ = write!(svg, "<g>{title}<path class=\"line{colour}\" d=\"{path}\"/>");
                if trace.bits > 1 && !zero && DIGIT * value.len() as f64 + 4.0 < right - left {
                    let middle = f64::midpoint(left, right);
                    let _ = write!(svg, "<text class=\"middle\" x=\"{middle}\" y=\"{}\">{value}</text>", top + 14.5);
                }
                svg.push_str("</g>");
            }
        }
        svg + "</svg>"
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_stand_where_there_is_room() {
        let trace = |name: &str, bits, values: &[&str]| Trace {
            name: name.to_owned(),
            bits,
            values: values.iter().map(|&value| value.to_owned()).collect(),
        };
        let signals = vec![trace("beat", 1, &["0", "1", "1"]), trace("a", 16, &["0", "-12345", "7"])];
        let svg = Waveform { step: 3, signals }.svg();
        let tips = ["beat = 0", "beat = 1", "a = 0", "a = -12345", "a = 7"];
        assert!(tips.iter().all(|tip| svg.contains(&format!("<title>{tip}</title>"))), "{svg}");
        // Six characters take more than a cycle's width; the tip has them.
        assert!(svg.contains(">7</text>") && !svg.contains(">-12345</text>"), "{svg}");
    }
}
