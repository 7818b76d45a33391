//! The laws of an image ([`super`]), checked: its parts here, what they do by [`super::replay`].
//!
//! ```text
//! alu   step ── end   emit step ── end   emit model ── end      routines follow each other, each with an entry and one `end`
//! load  load model ── end   step load ── end                    one feed per instruction, and per tile where a batch has several
//! ```

use super::refuse;
use super::replay::replay;
use super::text;
use crate::laws::{Check, Entity, Fault, Laws, Report, Stage, ensure, law, stop_at};
use crate::text::table;
use arch::function::FunctionTable;
use arch::image::{Annotated, Feed, Image, StreamTensor};
use arch::isa::{Address, AluInstruction, Instruction, LEVELS, Pad, RootFunction, RootInstruction};
use arch::machine::Machine;
use std::ops::Range;

/// Elements of a tensor at most, and beats of an instruction.
const MOST: u64 = 1 << 28;

/// Check the laws of [`super`].
///
/// # Panics
/// When a law is broken: that is a bug of ours, never the user's.
pub fn verify(image: &Image) {
    stop_at(laws(image), String::new);
}

/// The laws that are broken.
///
/// # Errors
/// If there are any.
pub fn laws(image: &Image) -> Laws {
    let refused = |refusal: refuse::Refusal| Fault { law: 1, why: refusal.diagnostic().message.clone() };
    let mut report = Report::new(Stage::Image);
    let programs = refuse::check_programs(image).and_then(|()| refuse::check_shifts(image));
    report.of_program(programs.map_err(refused));
    verify_instructions(image, &mut report);
    for (number, table) in image.tables.iter().enumerate() {
        report.of(Entity::Table(number), || table::table(number, table), verify_table(image, table));
    }
    for (number, tensor) in image.tensors.iter().enumerate() {
        report.of(Entity::Tensor(number), || text::stream_tensor(number, tensor), verify_tensor(tensor));
    }
    report.of_program(verify_routines(image));
    report.of_program(verify_order(image));
    // A replay does what the parts say.
    if report.is_clean() {
        report.of_program(replay(image));
    }
    report.laws()
}

/// Law 2: the scalar unit's instructions among those of the PEs.
fn verify_order(image: &Image) -> Check {
    law!(2, image.follows.len() == image.scalar.len(), "each scalar instruction has a place in the program");
    law!(2, image.follows.is_sorted(), "each stream is in the order of the program");
    Ok(())
}

/// Law 1: what the fields of an instruction could say, and the grid does not do; law 2: tables that are used are there.
fn verify_instructions(image: &Image, report: &mut Report) {
    let inside = |pad, address: &Address, counts: &[u32; LEVELS]| inside(&image.machine, pad, address, counts);
    let alu = |alu: &AluInstruction| {
        law!(1, u32::from(alu.reduce) <= image.machine.loops(), "it has no {} loops", alu.reduce);
        beats(&alu.counts)?;
        for (pad, address) in Pad::ALL.into_iter().zip(&alu.reads) {
            inside(pad, address, &alu.counts)?;
        }
        alu.write.map_or(Ok(()), |pad| inside(pad, &alu.destination, &alu.counts))
    };
    let root = |root: &RootInstruction| {
        let Some(RootFunction::Table(usage)) = root.function else {
            let divides = root.function.is_some();
            return ensure(!divides || image.machine.divider(), 1, || "the machine has no dividers".to_owned());
        };
        ensure(image.tables.iter().any(|table| table.usage == usage), 2, || "there is no such table".to_owned())
    };
    each(image, report, "alu", &image.alu, alu);
    each(image, report, "scalar", &image.scalar, |scalar| alu(&scalar.alu));
    each(image, report, "move", &image.moves, |moves| {
        beats(&moves.counts)?;
        inside(moves.pad, &moves.destination, &moves.counts)
    });
    each(image, report, "load", &image.load, |load| {
        beats(&load.counts)?;
        if load.gradient { Ok(()) } else { inside(load.pad, &load.destination, &load.counts) }
    });
    each(image, report, "root", &image.root, root);
}

fn each<I: Instruction>(
    image: &Image,
    report: &mut Report,
    stream: &'static str,
    program: &[Annotated<I>],
    check: impl Fn(&I) -> Check,
) {
    for (number, at) in program.iter().enumerate() {
        let text = || text::instruction(&image.machine, stream, number, at);
        report.of(Entity::Instruction(stream, number), text, check(&at.instruction));
    }
}

/// Law 1 of loops.
fn beats(counts: &[u32; LEVELS]) -> Check {
    let beats = counts.iter().try_fold(1u64, |beats, &count| beats.checked_mul(u64::from(count)));
    ensure(beats.is_some_and(|beats| (1..=MOST).contains(&beats)), 1, || "it has too many beats".to_owned())
}

/// Law 1 of addresses: where a pad is no power of two deep, some lie beyond it.
fn inside(machine: &Machine, pad: Pad, address: &Address, counts: &[u32; LEVELS]) -> Check {
    let depth = i64::from(pad.depth(machine));
    let (mut low, mut high) = (i64::from(address.base), i64::from(address.base));
    for (&stride, &count) in address.strides.iter().zip(counts) {
        let most = i64::from(stride) * (i64::from(count) - 1);
        (low, high) = (low + most.min(0), high + most.max(0));
    }
    let is_inside = depth.count_ones() == 1 || (low >= 0 && high < depth);
    ensure(is_inside, 1, || format!("it goes from {low} to {high} of {depth} words of {pad}"))
}

/// Law 1: tables lie in their memory.
fn verify_table(image: &Image, table: &FunctionTable) -> Check {
    let end = table.usage.base as usize + table.entries.len();
    ensure(end <= image.machine.table_entries() as usize, 1, || format!("it ends at {end}, beyond the memory"))
}

/// Law 2: the streams carry tensors that are there.
fn verify_tensor(tensor: &StreamTensor) -> Check {
    let elements = tensor.shape.iter().try_fold(1u64, |elements, &extent| elements.checked_mul(u64::from(extent)));
    let elements = elements.filter(|&elements| elements <= MOST);
    law!(2, elements.is_some(), "it has too many elements");
    let words = tensor.constant.as_ref().map(|words| words.len() as u64);
    law!(2, words.is_none_or(|words| Some(words) == elements), "it has other words than elements");
    Ok(())
}

/// Law 2: routines, and what their instructions carry.
fn verify_routines(image: &Image) -> Check {
    let entries = &image.entries;
    let alu = [("step", entries.step_alu), ("emit step", entries.emit_step), ("emit model", entries.emit_model)];
    let [step, emit_step, emit_model] = routines("alu", &image.alu, |alu| alu.end, alu)?;
    for (number, alu) in image.alu.iter().enumerate() {
        law!(2, alu.emit != step.contains(&number), "alu %{number} is in a routine of another kind");
    }
    routines("root", &image.root, |root| root.end, [("step", entries.step_root)])?;
    routines("move", &image.moves, |moves| moves.end, [("step", entries.step_move)])?;
    routines("scalar", &image.scalar, |scalar| scalar.alu.end, [("step", entries.step_scalar)])?;
    let load = [("load model", entries.load_model), ("step load", entries.step_load)];
    let [load_model, step_load] = routines("load", &image.load, |load| load.end, load)?;
    let most = if image.machine.gradient_depth() > 0 { u32::MAX } else { 1 };
    law!(2, (1..=most).contains(&image.tiles), "{} tiles on a machine without gradient pads", image.tiles);
    let loops = |routine: Range<usize>| image.load[routine].iter().map(|load| (load.counts, 1)).collect::<Vec<_>>();
    feeds(image, "model in", &image.model_in, &loops(load_model), 1)?;
    feeds(image, "step in", &image.step_in, &loops(step_load), image.tiles)?;
    let sent = |alu: &Annotated<AluInstruction>| (alu.counts, alu.transfers(&image.machine));
    let loops = |routine: Range<usize>| image.alu[routine].iter().map(sent).collect::<Vec<_>>();
    feeds(image, "step out", &image.step_out, &loops(emit_step), image.tiles)?;
    feeds(image, "model out", &image.model_out, &loops(emit_model), 1)
}

/// The routines of a stream, one after the other.
fn routines<I, const COUNT: usize>(
    stream: &str,
    program: &[Annotated<I>],
    is_end: impl Fn(&I) -> bool,
    entries: [(&str, Option<u32>); COUNT],
) -> Result<[Range<usize>; COUNT], Fault> {
    let mut at = 0;
    let mut ranges = [const { 0..0 }; COUNT];
    for ((name, entry), range) in entries.into_iter().zip(&mut ranges) {
        let Some(entry) = entry else { continue };
        law!(2, entry as usize == at, "{name} of the {stream} stream begins at %{entry}, and should at %{at}");
        let length = program[at..].iter().position(|at| is_end(&at.instruction));
        let Some(length) = length else {
            return Err(Fault { law: 2, why: format!("{name} of the {stream} stream has no end") });
        };
        *range = at..at + length + 1;
        at = range.end;
    }
    law!(2, at == program.len(), "no routine has {stream} %{at}");
    Ok(ranges)
}

/// What the instructions of a routine carry, each with so many transfers for each of its beats.
fn feeds(image: &Image, name: &str, feeds: &[Feed], loops: &[([u32; LEVELS], u32)], tiles: u32) -> Check {
    let (given, needed) = (feeds.len(), loops.len() * tiles as usize);
    law!(2, given == needed, "`{name}` says {given} times what is carried, and should {needed} times");
    for (feed, (counts, transfers)) in feeds.iter().zip(loops.iter().cycle()) {
        law!(2, feed.tensor < image.tensors.len(), "`{name}` carries tensor %{}, which is not there", feed.tensor);
        let tensor = &image.tensors[feed.tensor];
        law!(2, feed.dimensions.len() == tensor.shape.len(), "`{name}` has other dimensions than {}", tensor.name);
        let inside = behind(feed.counts, *counts, *transfers);
        law!(2, inside, "`{name}` of {} has other loops than its instruction", tensor.name);
    }
    Ok(())
}

/// Whether loops are those of an instruction, and inside them some over so many transfers.
fn behind(loops: [u32; LEVELS], counts: [u32; LEVELS], transfers: u32) -> bool {
    let product = |counts: &[u32]| counts.iter().map(|&count| u64::from(count)).product::<u64>();
    (0..LEVELS).any(|inside| {
        let (outer, inner) = loops.split_at(LEVELS - inside);
        let (ones, own) = counts.split_at(inside);
        product(ones) == 1 && outer == own && product(inner) == u64::from(transfers)
    })
}
