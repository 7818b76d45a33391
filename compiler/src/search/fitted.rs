//! Fitted: a machine that is as large as its program needs.

use super::Compiled;
use super::limits::{Board, Limits, OnBoard};
use super::{Choice, Found, divided, search};
use crate::fixed::{Numbers, Program};
use crate::image::refuse::{
    Refusal, longest, needs_divider, needs_extremes, needs_limits, needs_rectifiers, needs_squares,
};
use crate::optimisations::Disabled;
use crate::placed::tile;
use crate::scheduled::Words;
use arch::isa::LEVELS;
use arch::machine::{Machine, MachineSpec};
use arch::registers::MOST_INSTRUCTIONS;
use arch::timing::Unit;
use arch::{Code, Diagnostic};

/// PEs of a grid that is not square from which buses of the columns are tried.
const CROSSED_PES: u32 = 256;

/// Depths of the gradient pads that are tried where the specification leaves them out: first as many bits as the data pads have. A
/// placement that is a little faster, but keeps the sums of a whole model in every PE, is not worth them.
fn gradient_depths(spec: &MachineSpec, machine: &Machine) -> Vec<u32> {
    let bits = 2 * machine.data_depth() * machine.word() / machine.accumulator();
    let first = (bits.next_power_of_two() / 2).max(16);
    spec.gradient_depth.map_or_else(|| vec![first, 4 * first, 1 << 16], |depth| vec![depth])
}

/// A specification that has room for the tables of a program where it says nothing about them.
pub fn with_tables(spec: &MachineSpec, program: &Program) -> MachineSpec {
    let default = Numbers::of_width(program.word).table_entries;
    let entries = program.tables.iter().map(|table| table.entries.len() as u32).sum::<u32>();
    MachineSpec { table_entries: spec.table_entries.or((entries > default).then_some(entries)), ..spec.clone() }
}

/// Compile for a machine whose scratchpad and program depths, tables, dividers, extremes, squares, scalar unit, buses of the columns and gradient pads, where the
/// specification leaves them out, are what the program needs.
///
/// # Errors
/// As [`super::compile`]; a specification that is not a machine is a diagnostic, too.
pub fn compile_fitted(program: &Program, spec: &MachineSpec) -> Result<Compiled, Refusal> {
    compile_fitted_without(program, spec, Disabled::NOTHING)
}

/// The same with fewer means.
///
/// # Errors
/// As [`compile_fitted`].
pub fn compile_fitted_without(program: &Program, spec: &MachineSpec, disabled: Disabled) -> Result<Compiled, Refusal> {
    compile_within(program, spec, None, disabled, &|limits| search(program, limits, Choice::Best))
}

/// The same for so many machines, each with some tiles of every batch: tiles of the size with which the slowest of them is done first.
///
/// # Errors
/// As [`compile_fitted`]; the batch cannot be cut into tiles.
pub fn compile_divided(program: &Program, spec: &MachineSpec, machines: u32) -> Result<Compiled, Refusal> {
    compile_within(program, spec, None, Disabled::NOTHING, &|limits| divided::search(program, limits, machines))
}

/// The same for a machine that a board is to hold. Placements and tiles that would need more memory than there is are not chosen, nor tiles whose input
/// comes more slowly than others take.
///
/// # Errors
/// As [`compile_fitted`]; nothing that is tried fits the board.
pub fn compile_on_board(program: &Program, spec: &MachineSpec, board: Board<'_>) -> Result<Compiled, Refusal> {
    compile_within(program, spec, Some(board), Disabled::NOTHING, &|limits| search(program, limits, Choice::Best))
}

/// How an image is looked for on a machine that has room.
type Finds<'a> = &'a dyn Fn(Limits<'_>) -> Result<Found, Refusal>;

fn compile_within(
    program: &Program,
    spec: &MachineSpec,
    board: Option<Board<'_>>,
    disabled: Disabled,
    finds: Finds<'_>,
) -> Result<Compiled, Refusal> {
    let machine = |spec: MachineSpec| {
        Machine::try_from(spec).map_err(|e| Refusal::unsupported(Diagnostic::global(Code::Config, e.to_string())))
    };
    let spec = &with_tables(spec, program);
    let given = machine(spec.clone())?;
    let column_buses = given.pus() == given.pes_per_pu() || given.lines_divide() && given.pes() >= CROSSED_PES;
    let largest = MachineSpec {
        model_depth: spec.model_depth.or(Some(1 << 16)),
        data_depth: spec.data_depth.or(Some(1 << 15)),
        temporary_depth: spec.temporary_depth.or(Some(1 << 16)),
        program_depth: spec.program_depth.or(Some(MOST_INSTRUCTIONS)),
        divider: spec.divider.or(Some(needs_divider(program))),
        extremes: spec.extremes.or(Some(needs_extremes(program))),
        squares: spec.squares.or(Some(needs_squares(program))),
        rectifiers: spec.rectifiers.or(Some(needs_rectifiers(program))),
        limits: spec.limits.or(Some(spec.rectifiers != Some(false) && needs_limits(program))),
        scalar: spec.scalar.or(Some(true)),
        column_buses: spec.column_buses.or(Some(column_buses)),
        loops: spec.loops.or(Some(LEVELS as u32)),
        ..spec.clone()
    };
    let mut tried: Option<Result<(Found, Machine), Refusal>> = None;
    let depths = gradient_depths(spec, &machine(largest.clone())?);
    // Only sums of a batch wait there.
    let depths = if tile::batch(program).is_some() { &depths[..] } else { &depths[..1] };
    for &gradient_depth in depths {
        let roomy = machine(MachineSpec { gradient_depth: Some(gradient_depth), ..largest.clone() })?;
        let limits = Limits { machine: &roomy, board: board.map(|board| OnBoard { spec, board }), disabled };
        match finds(limits) {
            Err(refusal @ Refusal::DoesNotFit { .. }) => tried = Some(Err(refusal)),
            other => {
                tried = Some(other.map(|found| (found, roomy)));
                break;
            }
        }
    }
    let (mut found, roomy) = tried.expect("one depth at least is tried")?;
    // With fewer loops what leaves may take more instructions.
    let loops = spec.loops.or(Some(found.image(&roomy)?.loops()));
    let image = found.image(&machine(MachineSpec { loops, ..MachineSpec::from(roomy.clone()) })?)?;
    let mut used = found.words();
    if image.tiles > 1 {
        // Also where no sum waits: tiles are counted only where there are pads for them.
        used.gradient = used.gradient.max(1);
    }
    let longest = longest(&image) + found.instructions_behind();
    let across = image.moves.iter().any(|moves| moves.instruction.source == Unit::Across);
    let fitted =
        MachineSpec { loops, ..fitted(spec, &roomy, used, longest as u32, [!image.scalar.is_empty(), across]) };
    // Nothing differs but depths, and a scalar unit and buses that are not used: what was found is what would be found.
    let image = found.image(&machine(fitted)?)?;
    if longest as u32 > image.machine.program_depth() {
        found.built.conclusion = None;
    }
    let input = board.and_then(|board| board.input).map_or(0, |input| input(&image));
    let cycles_on_board = found.built.cycles_with_input(input);
    Ok(Compiled { cycles_on_board, ..found.compiled(image) })
}

/// What is given of a machine, with memories for so many words and instructions: at least a few, so that small programs share a grid; with the
/// scalar unit and with buses of the columns where they are used.
pub(crate) fn fitted(
    spec: &MachineSpec,
    roomy: &Machine,
    used: Words,
    instructions: u32,
    [scalar, column_buses]: [bool; 2],
) -> MachineSpec {
    MachineSpec {
        model_depth: spec.model_depth.or(Some(used.model.max(16))),
        data_depth: spec.data_depth.or(Some(used.data.max(16))),
        temporary_depth: spec.temporary_depth.or(Some(used.temporary.max(16))),
        program_depth: spec.program_depth.or(Some(instructions.max(16))),
        divider: spec.divider.or(Some(roomy.divider())),
        extremes: spec.extremes.or(Some(roomy.extremes())),
        squares: spec.squares.or(Some(roomy.squares())),
        rectifiers: spec.rectifiers.or(Some(roomy.rectifiers())),
        limits: spec.limits.or(Some(roomy.limits())),
        scalar: spec.scalar.or(Some(scalar)),
        column_buses: spec.column_buses.or(Some(column_buses)),
        gradient_depth: spec.gradient_depth.or(Some(if used.gradient == 0 { 0 } else { used.gradient.max(16) })),
        ..spec.clone()
    }
}
