//! Activity of the grid's units in each cycle of two steps: seen on the array, drawn as bars.
//!
//! ```text
//! loader       ▓▓▓▓▓▓▓▓▓▓▓▓          ░░░░░░░░░░░
//! alu                  ▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓    ░░░░░░░░░
//! trees                  ▓▓    ▓                ░░
//! roots                     ▓▓▓  ▓                ░░░
//! ```

use crate::Failure;
use crate::report::page::charts;
use crate::report::page::names::Names;
use crate::report::page::watched::Watched;
use arch::Image;
use arch::image::Annotated;
use arch::origin::Lines;
use arch::timing::{self, Unit};
use compiler::fixed::Program;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Value, json};
use sim::array::Array;
use sim::array::watch::{Observation, StreamView};
use sim::driver::{self, Driver, Run};
use sim::grid::Stalls;
use std::collections::VecDeque;
use std::fmt::Write;

/// Steps that fill the machine before the two that are shown.
const BEFORE: u32 = 3;
/// Steps that are shown.
const SHOWN: u32 = 2;
/// Steps after them, so that the loader works as it does in the middle of a run.
const AFTER: u32 = 2;

/// Two steps.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Timeline {
    /// Cycles that are shown.
    pub cycles: u64,
    /// Cycle in which each step starts.
    pub steps: Vec<u64>,
    /// One per unit, from the input to the output.
    pub lanes: Vec<Lane>,
}

/// One unit.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Lane {
    /// Its name.
    pub unit: &'static str,
    /// Cycles in which it is busy.
    pub busy: u64,
    /// In order.
    pub bars: Vec<Bar>,
}

/// A stretch of work.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Bar {
    /// First cycle.
    pub start: u64,
    /// Cycle after the last one.
    pub end: u64,
    /// Which step it belongs to; the first one shown is 0.
    pub step: i64,
    /// What is done.
    pub what: String,
    /// Source line; 0 where there is none.
    pub line: usize,
    /// Lines of what was fused into it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub fused: Vec<usize>,
}

impl Bar {
    /// Its lines in words, for a title: `lines 3, 4: `.
    fn place(&self) -> String {
        let lines: Vec<String> = [self.line].iter().chain(&self.fused).map(usize::to_string).collect();
        match (self.line, lines.len()) {
            (0, _) => String::new(),
            (line, 1) => format!("line {line}: "),
            _ => format!("lines {}: ", lines.join(", ")),
        }
    }
}

/// Run some steps of the image of a program on the array and look at two of them; `source` is its text.
///
/// # Errors
/// The array is stuck.
pub fn watch(image: &Image, program: &Program, source: &str) -> Result<Timeline, Failure> {
    let words = driver::zeros(image);
    let mut seen = Seen::default();
    let array = Array::without_words(&image.machine);
    let mut watched = Watched::streams(array, |inside: &Observation, _| seen.add(inside));
    let mut driver = Driver::new(&mut watched, image.clone(), Stalls::none());
    let steps = vec![words.clone(); (BEFORE + SHOWN + AFTER) as usize];
    let run = Run { load_model: Some(&words), steps: &steps, emit_model: false };
    driver.run(run).map_err(|stuck| Failure::Bug(stuck.to_string()))?;
    drop(driver);
    drop(watched);
    Ok(of(&seen, image, &Spoken { names: Names::new(program, source), source }))
}

/// Cycles from the sequencer's issue of a beat to the unit it is for: streams alu, root, move, load, scalar.
const LATE: [u64; 5] = [timing::DISTRIBUTION, timing::DISTRIBUTION, timing::DISTRIBUTION, 0, timing::DISTRIBUTION];

/// What has been seen of the steps that are shown: memory goes with the instructions, not with the cycles.
#[derive(Default)]
struct Seen {
    /// Cycles so far.
    cycles: u64,
    /// Cycle in which each of these steps starts, and the one after them.
    starts: Vec<u64>,
    /// The last cycles before the first of them: their beats may reach the units in it.
    before: VecDeque<(u32, [StreamView; 5])>,
    /// By stream.
    runs: [Vec<Stretch>; 5],
}

/// An instruction at work, in cycles since the first step that is shown began.
struct Stretch {
    instruction: usize,
    start: u64,
    end: u64,
    step: u32,
}

impl Seen {
    fn add(&mut self, inside: &Observation) {
        let next = BEFORE + self.starts.len() as u32;
        if next <= BEFORE + SHOWN && inside.run_state == "step" && inside.step == next {
            self.starts.push(self.cycles);
            let before = std::mem::take(&mut self.before);
            for (cycle, (step, streams)) in (self.cycles - before.len() as u64..).zip(before) {
                self.beats(cycle, step, &streams);
            }
        }
        if self.starts.is_empty() {
            self.before.push_back((inside.step, inside.streams));
            if self.before.len() as u64 > timing::DISTRIBUTION {
                self.before.pop_front();
            }
        } else if self.starts.len() as u32 <= SHOWN {
            self.beats(self.cycles, inside.step, &inside.streams);
        }
        self.cycles += 1;
    }

    fn beats(&mut self, cycle: u64, step: u32, streams: &[StreamView; 5]) {
        for ((view, late), runs) in streams.iter().zip(LATE).zip(&mut self.runs) {
            let (true, Some(instruction)) = (view.issued, view.instruction) else { continue };
            let Some(at) = (cycle + late).checked_sub(self.starts[0]) else { continue };
            let begins = view.counters.iter().all(|&counter| counter == 0);
            match runs.last_mut() {
                Some(run) if run.instruction == instruction && !begins => run.end = at + 1,
                _ => runs.push(Stretch { instruction, start: at, end: at + 1, step }),
            }
        }
    }
}

fn of(seen: &Seen, image: &Image, spoken: &Spoken<'_>) -> Timeline {
    let (Some(&first), Some(&last)) = (seen.starts.first(), seen.starts.last()) else {
        return Timeline { cycles: 0, steps: Vec::new(), lanes: Vec::new() };
    };
    let window = Window { seen, cycles: last - first };
    let machine = &image.machine;
    let alu = window.bars(0, |n| Some(spoken.of(image.alu.get(n)?)));
    let root = |unit: Unit| {
        let of_unit = |n: usize| image.root.get(n).filter(|root| root.unit == unit).map(|root| spoken.of(root));
        window.bars(1, of_unit)
    };
    let (row_roots, global_root) = (root(Unit::Row), root(Unit::Global));
    let levels = |unit: Unit| {
        u64::from(match unit {
            Unit::Row | Unit::Across => machine.row_levels(),
            Unit::Global => machine.row_levels() + machine.global_levels(),
        })
    };
    let ahead = |bars: &[Bar], unit: Unit| -> Vec<Bar> {
        let levels = levels(unit);
        bars.iter()
            .map(|bar| Bar {
                start: bar.start.saturating_sub(levels),
                what: "tree of ".to_owned() + &bar.what,
                ..bar.clone()
            })
            .collect()
    };
    let mut trees = [ahead(&row_roots, Unit::Row), ahead(&global_root, Unit::Global)].concat();
    trees.sort_by_key(|bar| bar.start);
    let moves = window.bars(2, |n| Some(spoken.of(image.moves.get(n)?)));
    let load = window.bars(3, |n| Some(spoken.of(image.load.get(n)?)));
    let scalar = window.bars(4, |n| Some(spoken.of(image.scalar.get(n)?)));
    let lane = |unit: &'static str, bars: Vec<Bar>| Lane { unit, busy: busy(&bars), bars };
    let cycles = window.cycles;
    let mut lanes = vec![
        lane("loader", load),
        lane("ALU", alu),
        lane("trees", trees),
        lane("row roots", row_roots),
        lane("global root", global_root),
        lane("buses", moves),
    ];
    if machine.scalar() {
        lanes.insert(5, lane("scalar unit", scalar));
    }
    let steps = seen.starts[..seen.starts.len() - 1].iter().map(|&start| start - first).collect();
    Timeline { cycles, steps, lanes }
}

/// The program in which instructions are spoken of.
struct Spoken<'a> {
    names: Names<'a>,
    source: &'a str,
}

impl Spoken<'_> {
    /// An instruction in the user's names, and its lines.
    fn of<I>(&self, at: &Annotated<I>) -> (String, Lines) {
        (self.names.text(&at.what), at.origin.lines(self.source))
    }
}

/// Cycles in which at least one of the bars is there.
fn busy(bars: &[Bar]) -> u64 {
    let (mut sum, mut reached) = (0, 0);
    for bar in bars {
        sum += bar.end.saturating_sub(bar.start.max(reached));
        reached = reached.max(bar.end);
    }
    sum
}

/// The cycles that are shown.
struct Window<'a> {
    seen: &'a Seen,
    cycles: u64,
}

impl Window<'_> {
    /// From the first beat of an instruction to its last, when they reach their unit.
    fn bars(&self, stream: usize, what: impl Fn(usize) -> Option<(String, Lines)>) -> Vec<Bar> {
        let bar = |run: &Stretch| {
            let (what, lines) = what(run.instruction)?;
            let (line, fused) = (lines.own(), lines.fused().to_vec());
            let (end, step) = (run.end.min(self.cycles), i64::from(run.step) - i64::from(BEFORE));
            (run.start < end).then_some(Bar { start: run.start, end, step, what, line, fused })
        };
        self.seen.runs[stream].iter().filter_map(bar).collect()
    }
}

/// Height of a lane, width of the names, width of the field.
const LANE: f64 = 34.0;
const NAMES: f64 = 84.0;
const FIELD: f64 = 1100.0;

impl Timeline {
    /// The drawing.
    pub fn svg(&self) -> String {
        let height = LANE * (self.lanes.len() as f64 + 1.0) + 8.0;
        let mut svg = charts::opening("units over two steps", NAMES + FIELD + 8.0, height);
        let cycles = self.cycles.max(1) as f64;
        let x = |cycle: u64| NAMES + FIELD * cycle as f64 / cycles;
        let floor = LANE * self.lanes.len() as f64 + 4.0;
        let step = [1u64, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10_000, 20_000, 50_000, 100_000];
        let step = step.into_iter().find(|&step| self.cycles / step <= 16).unwrap_or(self.cycles / 10);
        for tick in (0..=self.cycles).step_by(step.max(1) as usize) {
            let at = x(tick);
            let _ = write!(svg, "<line class=\"rule\" x1=\"{at:.1}\" x2=\"{at:.1}\" y1=\"0\" y2=\"{floor}\"/>");
            let _ = write!(svg, "<text class=\"middle\" x=\"{at:.1}\" y=\"{}\">{tick}</text>", floor + 16.0);
        }
        for (row, lane) in self.lanes.iter().enumerate() {
            let top = LANE * row as f64 + 4.0;
            let _ = write!(svg, "<text x=\"0\" y=\"{}\">{}</text>", top + 20.0, lane.unit);
            for bar in &lane.bars {
                let colour = bar.step.rem_euclid(2);
                let (from, width) = (x(bar.start), (x(bar.end) - x(bar.start)).max(0.6));
                let place = bar.place();
                let title = charts::escape(&format!("{place}{} (cycles {} to {})", bar.what, bar.start, bar.end - 1));
                let _ = write!(
                    svg,
                    "<g><title>{title}</title><rect class=\"fill{colour}\" x=\"{from:.1}\" y=\"{top}\" width=\"{width:.1}\" height=\"{}\" rx=\"2\"/>",
                    LANE - 8.0
                );
                if bar.line > 0 && width > 12.0 {
                    let _ = write!(
                        svg,
                        "<text class=\"onbar\" x=\"{:.1}\" y=\"{}\">{}</text>",
                        from + 3.0,
                        top + 17.0,
                        bar.line
                    );
                }
                svg.push_str("</g>");
            }
        }
        for &start in &self.steps {
            let at = x(start);
            let _ = write!(svg, "<line class=\"line5\" x1=\"{at:.1}\" x2=\"{at:.1}\" y1=\"0\" y2=\"{floor}\"/>");
        }
        svg + "</svg>"
    }

    /// For Perfetto and other viewers of the Trace Event Format: a process per unit, a cycle as a microsecond. Bars of a unit that overlap, as
    /// those of trees do, lie on threads of their own.
    pub fn trace(&self) -> Value {
        let name = |kind: &str, process: usize, thread: usize, name: &str| json!({"ph": "M", "name": kind, "pid": process, "tid": thread, "args": {"name": name}});
        let mut events = vec![name("process_name", 0, 0, "steps"), name("thread_name", 0, 0, "1 us is a cycle")];
        let ends = self.steps.iter().skip(1).chain([&self.cycles]);
        events.extend(self.steps.iter().zip(ends).enumerate().map(|(step, (start, end))| {
            json!({"ph": "X", "name": format!("step {step}"), "pid": 0, "tid": 0, "ts": start, "dur": end - start})
        }));
        for (process, lane) in (1..).zip(&self.lanes) {
            events.push(name("process_name", process, 0, lane.unit));
            let mut free: Vec<u64> = Vec::new();
            let mut bars: Vec<&Bar> = lane.bars.iter().collect();
            bars.sort_by_key(|bar| bar.start);
            for bar in bars {
                let thread = free.iter().position(|&end| end <= bar.start).unwrap_or(free.len());
                if thread == free.len() {
                    free.push(0);
                    events.push(name("thread_name", process, thread, lane.unit));
                }
                free[thread] = bar.end;
                let (from, long) = (bar.start, bar.end - bar.start);
                let detail = json!({"step": bar.step, "line": bar.line, "fused lines": bar.fused});
                let event = json!({"ph": "X", "name": bar.what, "pid": process, "tid": thread, "ts": from, "dur": long, "args": detail});
                events.push(event);
            }
        }
        json!({"traceEvents": events, "displayTimeUnit": "ns"})
    }

    /// The same for people without pictures.
    pub fn text(&self) -> String {
        let mut text = format!("units over two steps, {} cycles: busy cycles\n", self.cycles);
        for lane in &self.lanes {
            let part = 100.0 * lane.busy as f64 / self.cycles.max(1) as f64;
            text.push_str(&format!("  {:12} {:8}  {part:5.1} %\n", lane.unit, lane.busy));
        }
        text
    }
}
