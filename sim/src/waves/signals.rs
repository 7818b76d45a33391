//! The signals of a wave file: scope, name, kind, and how to get the value out of a cycle.
//!
//!     grid ─┬─ clock, in_*, out_*, control_*
//!           ├─ sequencer ─┬─ run_state, step, bank, ...
//!           │             └─ alu, root, move, load: instruction (number, text, source line), loop counters, beat
//!           ├─ trees: row tree, global tree, buses
//!           └─ pu<r> ─── pe<c>: mask, operands, accumulator, result

use crate::array::watch::{Observation, PeView};
use arch::Image;
use arch::image::Annotated;
use arch::isa::LEVELS;
use arch::origin::Lines;
use std::fmt::{Debug, Display};
use std::rc::Rc;

/// What a signal looks like.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A number without sign, of so many bits.
    Bits(u32),
    /// A number in two's complement, of so many bits.
    Signed(u32),
    /// Text of at most so many bytes; ASCII.
    Text(usize),
}

/// A value of a signal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Value {
    /// Of `Bits` and `Signed`.
    Number(i128),
    /// Of `Text`.
    Text(Rc<str>),
}

/// The ports of the grid in one cycle.
#[derive(Debug, Default)]
pub struct Ports<'a> {
    /// Control port: whether it writes, address, data.
    pub control: Option<(bool, u32, u32)>,
    /// The beat that is offered.
    pub input: Option<&'a [i64]>,
    /// Whether the host accepts output.
    pub output_ready: bool,
}

/// Everything that signals are made of.
pub struct Moment<'a> {
    /// Inside.
    pub seen: &'a Observation,
    /// Outside.
    pub ports: &'a Ports<'a>,
}

/// One signal.
pub struct Signal {
    /// Names of the scopes it is in, outermost first.
    pub scope: Vec<String>,
    /// Its own name.
    pub name: String,
    /// What it looks like.
    pub kind: Kind,
    /// Its value in a cycle.
    pub value: Box<dyn Fn(&Moment<'_>) -> Value>,
}

impl Debug for Signal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}.{}: {:?}", self.scope.join("."), self.name, self.kind)
    }
}

/// What an idle stream shows as its text.
const IDLE: &str = "-";

/// Collects signals of one scope.
struct Scope<'a> {
    signals: &'a mut Vec<Signal>,
    path: Vec<String>,
}

impl Scope<'_> {
    fn inner(&mut self, name: &str) -> Scope<'_> {
        let mut path = self.path.clone();
        path.push(name.to_owned());
        Scope { signals: self.signals, path }
    }

    fn add(&mut self, name: &str, kind: Kind, value: impl Fn(&Moment<'_>) -> Value + 'static) {
        self.signals.push(Signal { scope: self.path.clone(), name: name.to_owned(), kind, value: Box::new(value) });
    }

    fn bits(&mut self, name: &str, bits: u32, value: impl Fn(&Moment<'_>) -> u64 + 'static) {
        self.add(name, Kind::Bits(bits), move |moment| Value::Number(i128::from(value(moment))));
    }

    fn bit(&mut self, name: &str, value: impl Fn(&Moment<'_>) -> bool + 'static) {
        self.bits(name, 1, move |moment| value(moment).into());
    }

    fn word(&mut self, name: &str, bits: u32, value: impl Fn(&Moment<'_>) -> i128 + 'static) {
        self.add(name, Kind::Signed(bits), move |moment| Value::Number(value(moment)));
    }

    /// One of some texts, by number.
    fn text(&mut self, name: &str, texts: &[String], choice: impl Fn(&Moment<'_>) -> Option<usize> + 'static) {
        let texts: Vec<Rc<str>> = texts.iter().map(|text| plain(text).into()).collect();
        let longest = texts.iter().map(|text| text.len()).max().unwrap_or(0).max(IDLE.len());
        let idle: Rc<str> = IDLE.into();
        self.add(name, Kind::Text(longest), move |moment| {
            Value::Text(Rc::clone(choice(moment).and_then(|n| texts.get(n)).unwrap_or(&idle)))
        });
    }

    fn state(&mut self, name: &str, value: impl Fn(&Moment<'_>) -> &'static str + 'static) {
        // The longest state's name is `wait_model`.
        self.add(name, Kind::Text("wait_model".len()), move |moment| Value::Text(value(moment).into()));
    }
}

/// One line of printable ASCII; anything else is a question mark. Never empty: a viewer could not tell it from a missing value.
fn plain(text: &str) -> String {
    let text: String = text.trim().chars().map(|c| if c.is_ascii_graphic() || c == ' ' { c } else { '?' }).collect();
    let end = text.len().min(LONGEST);
    if text.is_empty() { IDLE.to_owned() } else { text[..end].to_owned() }
}

/// Longer lines are cut.
const LONGEST: usize = 200;

/// The signals of a grid that runs `image`, with a look into PU `pu`. `source` is the program's text.
#[expect(clippy::too_many_lines, reason = "one list: the signals in the order in which viewers show them")]
pub fn all(image: &Image, source: &str, pu: u32) -> Vec<Signal> {
    let machine = &image.machine;
    let (word, accumulator) = (machine.word(), machine.accumulator());
    let mut signals = Vec::new();
    let mut grid = Scope { signals: &mut signals, path: vec!["grid".to_owned()] };
    grid.bit("control_write", |m| m.ports.control.is_some_and(|control| control.0));
    grid.bit("control_read", |m| m.ports.control.is_some_and(|control| !control.0));
    grid.bits("control_address", 20, |m| m.ports.control.map_or(0, |control| control.1.into()));
    grid.bits("control_data", 32, |m| m.ports.control.map_or(0, |control| control.2.into()));
    grid.bit("in_valid", |m| m.ports.input.is_some());
    grid.bit("in_ready", |m| m.seen.input_ready);
    for lane in 0..machine.stream_words() as usize {
        grid.word(&format!("in_data{lane}"), word, move |m| m.ports.input.map_or(0, |beat| beat[lane].into()));
    }
    grid.bit("out_valid", |m| !m.seen.output.is_empty());
    grid.bit("out_ready", |m| m.ports.output_ready);
    for lane in 0..machine.output_words() as usize {
        let name = if machine.output_words() == 1 { "out_data".to_owned() } else { format!("out_data{lane}") };
        grid.word(&name, word, move |m| m.seen.output.get(lane).copied().unwrap_or(0).into());
    }

    let mut sequencer = grid.inner("sequencer");
    sequencer.state("run_state", |m| m.seen.run_state);
    sequencer.state("load_state", |m| m.seen.load_state);
    sequencer.bits("step", 32, |m| m.seen.step.into());
    sequencer.bits("steps_left", 32, |m| m.seen.steps_left.into());
    sequencer.bits("timer", 32, |m| m.seen.timer.into());
    sequencer.bits("bank", 1, |m| m.seen.bank.into());
    if machine.gradient_depth() > 0 {
        sequencer.bit("first_tile", |m| m.seen.tile[0]);
        sequencer.bit("last_tile", |m| m.seen.tile[1]);
    }
    sequencer.bits("load_bank", 1, |m| m.seen.load_bank.into());
    sequencer.bit("full0", |m| m.seen.full[0]);
    sequencer.bit("full1", |m| m.seen.full[1]);
    sequencer.bits("credits", 16, |m| m.seen.credits.into());
    sequencer.bit("saturated", |m| m.seen.saturated);
    let programs = [
        ("alu", texts(&image.alu)),
        ("root", texts(&image.root)),
        ("move", texts(&image.moves)),
        ("load", texts(&image.load)),
        ("scalar", texts(&image.scalar)),
    ];
    let streams = if machine.scalar() { programs.len() } else { programs.len() - 1 };
    for (n, (name, program)) in programs.into_iter().take(streams).enumerate() {
        let mut scope = sequencer.inner(name);
        stream(&mut scope, &program, n);
        if n == 0 {
            let what: Vec<String> = image.alu.iter().map(|alu| alu.what.clone()).collect();
            scope.text("what", &what, |m| m.seen.streams[0].instruction);
            let lines: Vec<Lines> = image.alu.iter().map(|alu| alu.origin.lines(source)).collect();
            let texts: Vec<&str> = source.lines().collect();
            let text = |&line: &usize| Some(format!("{line}: {}", texts.get(line.checked_sub(1)?)?.trim()));
            let shown = |lines: &Lines| lines.all().iter().filter_map(text).collect::<Vec<_>>().join(" | ");
            let source: Vec<String> = lines.iter().map(shown).collect();
            scope.text("source", &source, |m| m.seen.streams[0].instruction);
            let numbers: Vec<usize> = lines.iter().map(Lines::own).collect();
            scope.bits("line", 16, move |m| {
                m.seen.streams[0].instruction.and_then(|n| numbers.get(n)).copied().unwrap_or(0) as u64
            });
        }
    }

    let mut trees = grid.inner("trees");
    trees.word(&format!("row_tree{pu}"), accumulator, |m| m.seen.pu.row_tree);
    trees.word("global_tree", accumulator, |m| m.seen.pu.global_tree);
    trees.word(&format!("row_bus{pu}"), word, |m| m.seen.pu.row_bus.into());
    trees.word("global_bus", word, |m| m.seen.pu.global_bus.into());
    trees.bits("fifo_words", 16, |m| m.seen.pu.fifo as u64);

    if machine.scalar() {
        let mut unit = grid.inner("scalar");
        element(&mut unit, word, accumulator, |m| m.seen.pu.scalar);
    }

    let mut scope = grid.inner(&format!("pu{pu}"));
    scope.bit("beat", |m| m.seen.pu.beat);
    scope.bit("write", |m| m.seen.pu.write.is_some());
    let pads = arch::isa::Pad::ALL.map(|pad| pad.to_string());
    scope.text("write_pad", &pads, |m| m.seen.pu.write.map(|(pad, _)| pad as usize));
    scope.bits("write_address", 32, |m| m.seen.pu.write.map_or(0, |(_, address)| address as u64));
    for column in 0..machine.pes_per_pu() as usize {
        let mut scope = scope.inner(&format!("pe{column}"));
        let pe = move |m: &Moment<'_>| m.seen.pu.pes.get(column).copied().unwrap_or_default();
        element(&mut scope, word, accumulator, pe);
    }
    signals
}

/// One PE, or the scalar unit.
fn element(scope: &mut Scope<'_>, word: u32, accumulator: u32, pe: impl Fn(&Moment<'_>) -> PeView + Copy + 'static) {
    scope.bit("taken", move |m| pe(m).taken);
    scope.word("a", word, move |m| pe(m).a.into());
    scope.word("b", word, move |m| pe(m).b.into());
    scope.word("c", word, move |m| pe(m).c.into());
    scope.word("result", word, move |m| pe(m).result.unwrap_or(0).into());
    scope.word("accumulator", accumulator, move |m| pe(m).sum);
    scope.bit("write", move |m| pe(m).result.is_some());
}

fn texts<I: Display>(program: &[Annotated<I>]) -> Vec<String> {
    program.iter().map(|at| at.instruction.to_string()).collect()
}

/// Stream number `n` of the sequencer.
fn stream(scope: &mut Scope<'_>, program: &[String], n: usize) {
    let view = move |m: &Moment<'_>| m.seen.streams[n];
    scope.bit("active", move |m| view(m).instruction.is_some());
    scope.bits("instruction", 16, move |m| view(m).instruction.unwrap_or(0) as u64);
    scope.text("text", program, move |m| view(m).instruction);
    scope.bit("beat", move |m| view(m).issued);
    scope.bits("delay", 24, move |m| view(m).delay.into());
    scope.bits("interval", 16, move |m| view(m).interval.into());
    for level in 0..LEVELS {
        scope.bits(&format!("k{level}"), 16, move |m| view(m).counters[level].into());
    }
}
