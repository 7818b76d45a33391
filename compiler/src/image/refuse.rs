//! Diagnostics for programs that exceed a machine.

use super::encode;
use crate::fixed::{Finish, Kind, Operation, Program};
use crate::scheduled::allocate::Words;
use arch::amounts::Amounts;
use arch::image::{Annotated, Image};
use arch::isa::{AluInstruction, RootInstruction, ScalarInstruction};
use arch::machine::Machine;
use arch::number::word_max;
use arch::registers::MOST_INSTRUCTIONS;
use arch::{Code, Diagnostic, Origin};

/// Why there is no image.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Refusal {
    /// The program is too large for the machine.
    DoesNotFit {
        /// The message.
        diagnostic: Box<Diagnostic>,
        /// Words per PE that would do on this grid.
        needed: Words,
    },
    /// The machine cannot do this at all.
    Unsupported(Box<Diagnostic>),
}

impl Refusal {
    pub(crate) fn unsupported(diagnostic: Diagnostic) -> Refusal {
        Refusal::Unsupported(Box::new(diagnostic))
    }

    pub(crate) fn too_large(diagnostic: Diagnostic, needed: Words) -> Refusal {
        Refusal::DoesNotFit { diagnostic: Box::new(diagnostic), needed }
    }

    /// The message.
    pub fn diagnostic(&self) -> &Diagnostic {
        match self {
            Refusal::DoesNotFit { diagnostic, .. } | Refusal::Unsupported(diagnostic) => diagnostic,
        }
    }
}

/// Whether the machine can compute at all what a program asks for.
pub(crate) fn check_program(program: &Program, machine: &Machine) -> Result<(), Refusal> {
    let needed = program.narrowest_accumulator();
    if program.word != machine.word() || needed > machine.accumulator() {
        let message = format!(
            "the program needs words of {} and accumulators of {} bits, the machine has {} and {}",
            program.word,
            needed,
            machine.word(),
            machine.accumulator()
        );
        return Err(Refusal::unsupported(Diagnostic::global(Code::Backend, message)));
    }
    if let Some(division) = program.operations.iter().find(|operation| matches!(operation.kind, Kind::Divide { .. }))
        && !machine.divider()
    {
        let message =
            format!("`{}` is a quotient, and the machine has no dividers", program.tensors[division.out.0].name);
        let diagnostic = Diagnostic::new(Code::Backend, division.origin.span(), message).with_label("divided here");
        return Err(Refusal::unsupported(diagnostic.with_help("`divider = true` in the [machine] table adds them")));
    }
    if let Some(extreme) = program.operations.iter().find(|operation| compares(operation))
        && !machine.extremes()
    {
        let name = &program.tensors[extreme.out.0].name;
        let message = format!("`{name}` is the largest or smallest of several values, and the machine only adds");
        let diagnostic = Diagnostic::new(Code::Backend, extreme.origin.span(), message).with_label("compared here");
        let help = "`extremes = true` in the [machine] table lets accumulators and trees compare";
        return Err(Refusal::unsupported(diagnostic.with_help(help)));
    }
    if let Some(sum) = program.operations.iter().find(|operation| squares(operation))
        && !machine.squares()
    {
        let name = &program.tensors[sum.out.0].name;
        let message =
            format!("`{name}` is made of squared differences, and the machine multiplies only what is in its pads");
        let diagnostic = Diagnostic::new(Code::Backend, sum.origin.span(), message).with_label("squared here");
        let help = "`squares = true` in the [machine] table lets engines square differences; a program that is compiled for this machine does without";
        return Err(Refusal::unsupported(diagnostic.with_help(help)));
    }
    Ok(())
}

/// Words of a pad at most, in all banks.
const MOST_WORDS: u32 = 1 << 16;

pub(crate) fn too_large(machine: &Machine, available: Words, needed: Words) -> Refusal {
    let pads = [
        ("model", needed.model, available.model),
        ("data", needed.data, available.data),
        ("temporary", needed.temporary, available.temporary),
        ("gradient", needed.gradient, available.gradient),
    ];
    let short = || pads.into_iter().filter(|&(_, need, have)| need > have);
    let list = |each: &dyn Fn((&str, u32, u32)) -> String| short().map(each).collect::<Vec<_>>().join(", ");
    let message = format!(
        "the program does not fit {machine}: per PE it needs {}",
        list(&|(pad, need, have)| format!("{need} words of {pad} scratchpad where the machine has {have}"))
    );
    let keys = list(&|(pad, need, _)| format!("{pad}_depth = {}", arch::machine::words_of_pad(need)));
    let possible = short().all(|(pad, need, _)| need <= if pad == "data" { MOST_WORDS / 2 } else { MOST_WORDS });
    let depths = if possible {
        format!("{keys} would do on this grid; so would more PEs")
    } else {
        format!("no pad has more than {MOST_WORDS} words; more PEs would do")
    };
    Refusal::too_large(Diagnostic::global(Code::Backend, message).with_help(depths), needed)
}

/// Instructions of each stream, with those that let sums out and back where batches are divided.
fn lengths(image: &Image) -> [(&'static str, usize); 5] {
    let [out, back] = if image.tiles > 1 { arch::image::sums::instructions(&image.machine) } else { [0, 0] };
    [
        ("alu", image.alu.len() + out as usize),
        ("root", image.root.len()),
        ("move", image.moves.len()),
        ("load", image.load.len() + back as usize),
        ("scalar", image.scalar.len()),
    ]
}

/// Instructions of the longest program.
pub(crate) fn longest(image: &Image) -> usize {
    lengths(image).into_iter().map(|(_, length)| length).max().unwrap_or(0)
}

/// The error that a stream has more instructions than its memory has room for.
pub(crate) fn too_long(name: &str, instructions: usize, depth: u32) -> Refusal {
    let message = format!("the {name} program has {instructions} instructions, the machine has room for {depth}");
    let wanted = instructions.next_power_of_two();
    let help = if wanted <= MOST_INSTRUCTIONS as usize {
        format!("program_depth = {wanted} would do")
    } else {
        format!("no program memory has more than {MOST_INSTRUCTIONS}; another shape of the grid may take fewer")
    };
    Refusal::too_large(Diagnostic::global(Code::Backend, message).with_help(help), Words::default())
}

/// Instructions must fit program memories and fields, tables their memory.
pub(crate) fn check_programs(image: &Image) -> Result<(), Refusal> {
    let depth = image.machine.program_depth();
    for (name, instructions) in lengths(image) {
        if instructions > depth as usize {
            return Err(too_long(name, instructions, depth));
        }
    }
    let entries: usize = image.tables.iter().map(|t| t.entries.len()).sum();
    if entries > image.machine.table_entries() as usize {
        let message = format!(
            "the function tables need {entries} entries, the machine has room for {}",
            image.machine.table_entries()
        );
        return Err(Refusal::too_large(Diagnostic::global(Code::Backend, message), Words::default()));
    }
    encode::check_fields(image).map_err(|error| {
        let message = format!("an instruction does not fit its microcode word: {error}");
        Refusal::unsupported(Diagnostic::global(Code::Backend, message))
    })
}

/// Every shift must be one that the machine does.
pub(crate) fn check_shifts(image: &Image) -> Result<(), Refusal> {
    let machine = &image.machine;
    let mut alignments = uses(&image.alu, AluInstruction::needed_alignment);
    alignments.extend(uses(&image.scalar, |unit: &ScalarInstruction| unit.alu.needed_alignment()));
    let mut shifts = uses(&image.alu, AluInstruction::needed_shift);
    shifts.extend(uses(&image.scalar, ScalarInstruction::needed_shift));
    let kinds = [
        ("alignments", machine.alignments(), image.alignments(), alignments),
        ("shifts", machine.shifts(), image.shifts(), shifts),
        ("root_shifts", machine.root_shifts(), image.root_shifts(), uses(&image.root, RootInstruction::needed_shift)),
    ];
    for (key, has, needed, uses) in kinds {
        if let Some((amount, what, origin)) = uses.into_iter().find(|&(amount, ..)| !has.contains(amount)) {
            let message = format!("`{what}` shifts by {amount}, which the machine does not do: its {key} are {has}");
            let list: Vec<String> =
                needed.into_iter().flat_map(Amounts::iter).map(|amount| amount.to_string()).collect();
            let help = format!(
                "`{key} = [{}]` in the [machine] table would do; left out, a grid for a board gets what its program needs",
                list.join(", ")
            );
            let diagnostic = match origin.spans().first() {
                Some(&span) => Diagnostic::new(Code::Backend, span, message).with_label("computed here"),
                None => Diagnostic::global(Code::Backend, message),
            };
            return Err(Refusal::unsupported(diagnostic.with_help(help)));
        }
    }
    Ok(())
}

/// By how much each instruction of a stream shifts, what it does, and where it comes from.
fn uses<I>(stream: &[Annotated<I>], needed: fn(&I) -> Option<u32>) -> Vec<(u32, &str, &Origin)> {
    stream.iter().filter_map(|at| Some((needed(&at.instruction)?, at.what.as_str(), &at.origin))).collect()
}

/// Whether a program divides by what is not constant, or rounds to whole numbers.
pub fn needs_divider(program: &Program) -> bool {
    program.operations.iter().any(|operation| matches!(operation.kind, Kind::Divide { .. }))
}

fn compares(operation: &Operation) -> bool {
    matches!(operation.kind, Kind::MultiplyAdd { combine, .. } if combine.compares())
}

/// Whether a program has maxima or minima of several values.
pub fn needs_extremes(program: &Program) -> bool {
    program.operations.iter().any(compares)
}

fn squares(operation: &Operation) -> bool {
    matches!(operation.kind, Kind::MultiplyAdd { square: true, .. })
}

/// Whether a program has rectifiers.
pub fn needs_rectifiers(program: &Program) -> bool {
    program.operations.iter().any(|operation| limit(operation).is_some())
}

/// Whether these have limits.
pub fn needs_limits(program: &Program) -> bool {
    program
        .operations
        .iter()
        .any(|operation| limit(operation).is_some_and(|limit| i128::from(limit) < word_max(program.word)))
}

/// What a positive result is at most.
fn limit(operation: &Operation) -> Option<i32> {
    match operation.kind {
        Kind::MultiplyAdd { finish: Finish::Positive(limit), .. } => Some(limit),
        _ => None,
    }
}

/// Whether a program has squared differences that are no words of their own.
pub fn needs_squares(program: &Program) -> bool {
    program.operations.iter().any(squares)
}
