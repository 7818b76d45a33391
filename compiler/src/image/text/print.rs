//! An image to text.

use super::{carried, reserved, routines};
use crate::text::forms::sum;
use crate::text::table;
use crate::text::write::{list, name, origin};
use arch::Machine;
use arch::image::{Annotated, Feed, FeedDimension, Image, StreamTensor};
use arch::isa::{Address, Instruction, LEVELS, Value};
use arch::machine::MachineSpec;

/// All of it.
pub(super) fn image(image: &Image) -> String {
    let mut lines = vec!["image".to_owned(), machine(&image.machine)];
    let tile =
        if image.tile_length < image.step_length { format!(", tile {}", image.tile_length) } else { String::new() };
    lines.push(format!("step {} cycles, {} tiles{tile}", image.step_length, image.tiles));
    let mut entries = image.entries;
    for ([first, second], entry) in routines(&mut entries) {
        lines.extend(entry.map(|entry| format!("entry {first} {second} %{entry}")));
    }
    lines.extend((0..).zip(&image.tables).map(|(number, each)| table::table(number, each)));
    lines.extend(in_order(image));
    lines.extend(stream(&image.machine, "root", &image.root));
    lines.extend(stream(&image.machine, "move", &image.moves));
    lines.extend(stream(&image.machine, "load", &image.load));
    lines.extend((0..).zip(&image.tensors).map(|(number, tensor)| stream_tensor(number, tensor)));
    for ([first, second], feeds) in carried(&mut image.clone()) {
        lines.extend(feeds.iter().map(|feed| format!("{first} {second}: {}", of_feed(feed))));
    }
    lines.push(String::new());
    lines.join("\n")
}

/// `machine pus = 2, pes_per_pu = 4`: the keys without which it would be another machine.
fn machine(machine: &Machine) -> String {
    let mut given = MachineSpec::from(machine.clone()).given();
    for number in (0..given.len()).rev() {
        let left_out = given.remove(number);
        let mut spec = MachineSpec::default();
        let same = |spec: MachineSpec| Machine::try_from(spec).is_ok_and(|other| other == *machine);
        let set = given.iter().all(|(key, value)| spec.set(key, value.trim_matches(['[', ']'])).is_ok());
        if !set || !same(spec) {
            given.insert(number, left_out);
        }
    }
    format!("machine {}", list(given, ", ", |(key, value)| format!("{key} = {value}"))).trim_end().to_owned()
}

/// The instructions of PEs and scalar unit in the order of the program.
fn in_order(image: &Image) -> Vec<String> {
    let alu = stream(&image.machine, "alu", &image.alu);
    let mut scalar = image.follows.iter().zip(stream(&image.machine, "scalar", &image.scalar)).peekable();
    let mut lines = Vec::new();
    for (number, line) in (0..).zip(alu) {
        while let Some((_, line)) = scalar.next_if(|(follows, _)| **follows <= number) {
            lines.push(line);
        }
        lines.push(line);
    }
    lines.extend(scalar.map(|(_, line)| line));
    lines
}

fn stream<I: Instruction>(machine: &Machine, name: &str, program: &[Annotated<I>]) -> Vec<String> {
    program.iter().enumerate().map(|(number, at)| instruction(machine, name, number, at)).collect()
}

/// The line of an instruction.
pub(crate) fn instruction<I: Instruction>(machine: &Machine, name: &str, number: usize, at: &Annotated<I>) -> String {
    let plain = I::plain(machine).values(machine);
    let others = at.instruction.values(machine).into_iter().zip(&plain).filter(|(value, plain)| value != *plain);
    let fields: Vec<String> = others.flat_map(|((name, value), _)| field(&name, &value)).collect();
    let space = if fields.is_empty() { "" } else { " " };
    format!("{name} %{number} {:?}:{space}{}{}", at.what, fields.join(", "), origin(&at.origin, reserved))
}

/// A field that is not as usual.
fn field(name: &str, value: &Value) -> Vec<String> {
    match value {
        Value::Flag(_) => vec![name.to_owned()],
        Value::Number(number) => vec![format!("{name} {number}")],
        Value::Choice(words, number) => {
            let word = words.get(*number as usize).map_or_else(|| number.to_string(), |&word| word.to_owned());
            vec![format!("{name} {word}")]
        }
        Value::Counts(counts) => loops(counts),
        Value::Address(Address { base, strides }) => {
            let terms = strides.iter().enumerate().filter(|(_, stride)| **stride != 0);
            let terms = terms.map(|(level, &stride)| (level, i64::from(stride)));
            vec![format!("{name}[{}]", sum('k', i64::from(*base), terms))]
        }
    }
}

/// `k2<3`, for each loop that does not run once.
fn loops(counts: &[u32; LEVELS]) -> Vec<String> {
    let several = counts.iter().enumerate().filter(|(_, count)| **count != 1);
    several.map(|(level, count)| format!("k{level}<{count}")).collect()
}

/// The line of a tensor.
pub(crate) fn stream_tensor(number: usize, tensor: &StreamTensor) -> String {
    let StreamTensor { name: own, shape, fraction, constant } = tensor;
    let words = constant.as_ref().map_or_else(String::new, |words| format!(" = {words:?}"));
    format!("stream %{number} {} {shape:?} q {fraction}{words}", name(own, reserved))
}

/// `%2[2*k2][k3 + 4 lane 1] k2<2 k3<3`, `%2[k2 row 1][k3 lane 1] width 8 k2<2 k3<3`
fn of_feed(feed: &Feed) -> String {
    let index = |FeedDimension { offset, levels, lane, row }: &FeedDimension| {
        let terms = levels.iter().copied().enumerate().filter(|(_, stride)| *stride != 0);
        let lane = if *lane == 0 { String::new() } else { format!(" lane {lane}") };
        let row = if *row == 0 { String::new() } else { format!(" row {row}") };
        format!("[{}{lane}{row}]", sum('k', *offset, terms))
    };
    let element = format!("%{}{}", feed.tensor, list(&feed.dimensions, "", index));
    let width = (feed.width > 0).then(|| format!("width {}", feed.width));
    list([vec![element], width.into_iter().collect(), loops(&feed.counts)].concat(), " ", |part| part)
}
