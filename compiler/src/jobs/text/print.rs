//! Jobs to text.

use super::super::job::{Access, Copies, Counts, Datapath, Job, Sink, Source, Walk};
use super::super::lanes::{Bound, Lanes};
use super::super::{Program, Storage};
use super::reserved;
use crate::fixed::Role;
use crate::placed::Axis;
use crate::placed::text::{axes, piece, tile};
use crate::text::forms::sum;
use crate::text::table::table;
use crate::text::write::{list, name, origin};
use arch::division::Rounding;
use arch::function::FunctionTable;
use arch::isa::{Combine, Finish, RootFunction, UNLIMITED};
use std::fmt::{Display, Formatter};

impl Display for Program {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        f.write_str(&head(self))?;
        for (number, storage) in self.storages.iter().enumerate() {
            writeln!(f, "{}", self::storage(number, storage))?;
        }
        self.jobs.iter().try_for_each(|job| writeln!(f, "{}", self::job(job, &self.tables)))
    }
}

/// Widths, tables and tiles.
pub(crate) fn head(program: &Program) -> String {
    let mut text = format!("jobs word {} accumulator {}\n", program.word, program.accumulator);
    for (number, function) in program.tables.iter().enumerate() {
        text += &table(number, function);
        text.push('\n');
    }
    text + &tile(program.tile)
}

/// The line of a storage.
pub(crate) fn storage(number: usize, storage: &Storage) -> String {
    let Storage { shape, strides, words, fraction, .. } = storage;
    let own = name(&storage.name, reserved);
    let axes = axes(&storage.axes);
    let role = match &storage.role {
        Role::Input => "input".to_owned(),
        Role::State => "state".to_owned(),
        Role::Parameter(words) => format!("parameter {words:?}"),
        Role::Temporary => "temporary".to_owned(),
        Role::Output => "output".to_owned(),
    };
    let piece = piece(storage.piece.as_ref(), reserved);
    format!("storage %{number} {own} {shape:?} on {axes} strides {strides:?} words {words} q {fraction} {role}{piece}")
}

/// `%3[4*k0 + 1]`
fn access(access: &Access) -> String {
    let strides = access.strides.iter().enumerate().filter(|(_, stride)| **stride != 0);
    format!("{}[{}]", access.storage, sum('k', access.offset, strides.map(|(level, &stride)| (level, stride))))
}

fn source(source: &Source) -> String {
    match source {
        Source::Word(word) => word.to_string(),
        Source::Access(word) => access(word),
    }
}

/// Lanes, if not all take part.
fn lanes(lanes: &Lanes) -> String {
    let bound = |&Bound { axis, low, high, level }: &Bound| {
        let axis = if axis == Axis::Grid { "pe".to_owned() } else { axis.to_string() };
        let level = level.map_or(String::new(), |level| format!(" at k{level}"));
        format!("{axis} {low}..{high}{level}")
    };
    let mut parts: Vec<String> = lanes.bounds.iter().map(bound).collect();
    parts.extend(lanes.pick_row.map(|level| format!("row k{level}")));
    parts.extend(lanes.pick_column.map(|level| format!("column k{level}")));
    if parts.is_empty() { String::new() } else { format!("  lanes {}", parts.join(", ")) }
}

/// Start, product and shift.
fn value(job: &Job) -> String {
    let start = match &job.c {
        None if job.align == 0 => String::new(),
        None => format!("none << {} ", job.align),
        Some(start) => format!("{} << {} ", source(start), job.align),
    };
    let combine = match job.combine {
        Combine::Add => "+",
        Combine::Subtract => "-",
        Combine::Maximum => "max",
        Combine::Minimum => "min",
    };
    let product = match &job.a {
        None => source(&job.b),
        Some(a) if job.square => format!("({} - {})^2", access(a), source(&job.b)),
        Some(a) => format!("{} * {}", access(a), source(&job.b)),
    };
    let finish = match job.finish {
        Finish::Round => String::new(),
        Finish::Negative => " negative".to_owned(),
        Finish::Positive(UNLIMITED) => " positive".to_owned(),
        Finish::Positive(limit) => format!(" limit {limit}"),
    };
    format!("{start}{combine} {product} >> {}{finish}", job.shift)
}

/// What a root does with its sum.
fn function(function: Option<&RootFunction>, tables: &[FunctionTable]) -> String {
    match function {
        None => String::new(),
        Some(RootFunction::Divide(Rounding::Nearest)) => " divide".to_owned(),
        Some(RootFunction::Divide(Rounding::Down)) => " divide down".to_owned(),
        // A verifier says which law is broken where there is no such table.
        Some(RootFunction::Table(usage)) => {
            let number = tables.iter().position(|table| table.usage == *usage).unwrap_or(tables.len());
            format!(" table {number}")
        }
    }
}

fn walk(walk: &Walk) -> String {
    match walk {
        Walk::Along { level, axis, stride } => format!("  walk along k{level} {axis} step {stride}"),
        Walk::ToRows { waves, columns, words, low, high } => {
            format!("  walk rows k{waves} columns k{columns} words {words} lanes {low}..{high}")
        }
        Walk::Inside { level, axis, to: Axis::Local, stride, low, high } => {
            format!("  walk inside k{level} {axis} {low}..{high} step {stride}")
        }
        Walk::Inside { level, axis, to, stride, low, high } => {
            format!("  walk inside k{level} {axis} {low}..{high} to {to} step {stride}")
        }
    }
}

/// The line of a job.
pub(crate) fn job(job: &Job, tables: &[FunctionTable]) -> String {
    let on = if job.on == Datapath::Scalar { "scalar" } else { "pes" };
    let loops = |word: &str, counts: &[u32]| {
        if counts.is_empty() { String::new() } else { format!(" {word} {}", list(counts, " ", u32::to_string)) }
    };
    let (free, summed) = job.loops.split_at(job.loops.len() - job.reduce);
    let every = if job.interval == 1 { String::new() } else { format!(" every {}", job.interval) };
    let value = value(job) + &lanes(&job.lanes);
    let what = match &job.sink {
        Sink::Pad(write) => format!("{} = {value}", access(write)),
        Sink::Output => format!("out = {value}"),
        Sink::Tree { unit, shift, function: applied, write, lanes: taken, walk: rounds } => {
            let (write, function) = (access(write), function(applied.as_ref(), tables));
            let rounds = rounds.as_ref().map_or(String::new(), walk);
            format!("{write} = {unit} root ( {value} ) >> {shift}{function}{}{rounds}", lanes(taken))
        }
    };
    let to = match job.copies {
        Copies::ENGINES => "",
        Copies { engines: true, scalar: true } => "  to pes scalar",
        Copies { engines: false, scalar: true } => "  to scalar",
        Copies { engines: false, scalar: false } => "  to none",
    };
    let counts = match &job.counts {
        Counts::Every => String::new(),
        Counts::Last => "  last tile".to_owned(),
        Counts::Over(parked) => format!("  over tiles {}", access(parked)),
    };
    let (free, summed, quoted) = (loops("for", free), loops("over", summed), &job.what);
    let origin = origin(&job.origin, reserved);
    format!("job {quoted:?} {on}{free}{summed}{every}: {what}{to}{counts}{origin}")
}
