//! One machine for several programs: what its specification leaves open, decided once.
//!
//! ```text
//! programs, specification ──▶ accumulator, tables ──▶ depths, units ──▶ images for that grid ──▶ shift amounts ──▶ Machine
//!                                of all programs       of each alone                              on a board
//! ```
//!
//! | left out | it is |
//! |---|---|
//! | `accumulator` | on a board, as wide as the widest sum of the programs; otherwise the default of the word |
//! | `table_entries` | all tables of the program that has most; none where nothing is looked up or divided |
//! | depths of pads and programs | those of the program that needs most |
//! | `divider`, `extremes`, `squares`, `rectifiers` | there if a program needs them |
//! | `scalar`, `column_buses` | there if it makes a step shorter; never on a board, whose size does not follow from the specification then |
//! | `pad_register` | on a board whose block memories are late, if pads are made of them |
//! | `pads_in_rows`, `block_depth` | the same, or on a board that has room for the pads only so |
//! | `alignments`, `shifts`, `root_shifts` | on a board, those that the images use; otherwise any |
//!
//! On a board, placements and tiles are those whose memories the board holds, program after program, whatever these are made of ([`Room::suited`]).
//! Where none do, the machine is as large as the programs want it, and whoever makes hardware of it refuses. Where it is known how fast samples come
//! to the board, tiles that wait for them count as long as they wait.
//!
//! The programs stay as they were lowered: a machine whose accumulators are narrower than those they were lowered for runs them
//! as long as every final sum fits ([`Program::narrowest_accumulator`]).

use super::room::Room;
use arch::amounts::Amounts;
use arch::image::Image;
use arch::machine::MachineSpec;
use arch::{Code, Diagnostic, Machine};
use compiler::fixed::segments::{Cycles, Segment, cut};
use compiler::fixed::{Operation, Program, Role};
use compiler::image::{Refusal, needs_divider};
use compiler::optimisations::Disabled;
use compiler::scheduled::Words;
use compiler::search::{self, Board, Compiled};

/// Cycles in which the input of a batch comes to an image on a machine.
pub type Input<'a> = &'a dyn Fn(&Image, &Machine) -> u64;

/// What is given of a machine.
#[derive(Clone)]
pub struct FitRequest<'a> {
    /// Its specification; what is left out is fitted.
    pub spec: MachineSpec,
    /// The board that it is to fit: as little hardware as the programs need, and no more than there is.
    pub board: Option<Room>,
    /// Optimisations that are disabled; on a board none is.
    pub disabled: Disabled,
    /// The batches of the first program are divided over so many machines, each with some of their tiles.
    pub machines: Option<u32>,
    /// How the input of the first program comes, where that is known.
    pub input: Option<Input<'a>>,
}

/// A machine, and the image of each program for it.
pub struct Fitted {
    /// The grid.
    pub machine: Machine,
    /// In the order of the programs.
    pub compiled: Vec<Compiled>,
}

/// Why there is no machine.
#[derive(Debug)]
pub struct Unfit {
    /// Number of the program that has no image.
    pub program: usize,
    /// Why.
    pub refusal: Refusal,
}

/// Fit a machine to programs, and compile them for it.
///
/// # Errors
/// A program needs more than the specification gives, or something the machine cannot do.
pub fn fit(programs: &[&Program], request: &FitRequest<'_>) -> Result<Fitted, Unfit> {
    let fitted = as_asked(programs, request)?;
    let holds = |room: &Room| room.beyond(&fitted.machine) == 0;
    if request.input.is_none() || request.board.as_ref().is_none_or(holds) {
        return Ok(fitted);
    }
    // A first program whose input comes faster may leave the others too little.
    as_asked(programs, &FitRequest { input: None, ..request.clone() })
}

fn as_asked(programs: &[&Program], request: &FitRequest<'_>) -> Result<Fitted, Unfit> {
    let about = |program: usize| move |refusal: Refusal| Unfit { program, refusal };
    let spec = with_widths(programs, request);
    let machine = |spec: MachineSpec| Machine::try_from(spec).expect("each program has a machine like this");
    let mut machines: Vec<Machine> = Vec::new();
    let mut compiled: Vec<Compiled> = Vec::new();
    for (number, program) in programs.iter().enumerate() {
        let alone = alone(program, &spec, &machines, request, number).map_err(about(number))?;
        machines.push(alone.image.machine.clone());
        compiled.push(alone);
    }
    let common = machine(spec.covering(&machines));
    for (number, program) in programs.iter().enumerate() {
        if machines[number] != common {
            let spec = MachineSpec::from(common.clone());
            compiled[number] = alone(program, &spec, &[], request, number).map_err(about(number))?;
        }
    }
    if request.board.is_none() {
        return Ok(Fitted { machine: common, compiled });
    }
    let images: Vec<&Image> = compiled.iter().map(|compiled| &compiled.image).collect();
    let machine = machine(with_shifters(&request.spec, common, &images));
    let machine = request.board.as_ref().map_or_else(
        || machine.clone(),
        |room| {
            // Rows that a program was compiled for stay.
            let pads_in_rows = spec.pads_in_rows.or(machine.pads_in_rows().then_some(true));
            room.suited(&machine, &MachineSpec { pads_in_rows, ..spec.clone() })
        },
    );
    let compiled = compiled.into_iter().map(|compiled| compiled.on(&machine)).collect();
    Ok(Fitted { machine, compiled })
}

/// A program in segments, each with its image, on one machine: where all of it does not fit, or the board does not hold what that takes.
///
/// # Errors
/// An operation alone does not fit, or the machine cannot do it.
///
/// # Panics
/// When the program passes a state from record to record.
pub fn fit_segments(program: &Program, request: &FitRequest) -> Result<(Machine, Vec<(Segment, Compiled)>), Refusal> {
    let spec = with_widths(&[program], request);
    let mut known: Vec<(Program, Result<Compiled, Refusal>)> = Vec::new();
    let mut fits = |done: &[(Segment, Machine)], segment: &Segment| {
        let program = &segment.program;
        may_fit(program, &spec)?;
        let number = known.iter().position(|(other, _)| other == program).unwrap_or_else(|| {
            let found = match &request.board {
                Some(room) => on_board(program, &spec, &[], request, 0).ok_or_else(|| unheld(room)),
                None => search::compile_fitted(program, &spec),
            };
            known.push((program.clone(), found));
            known.len() - 1
        });
        let compiled = known[number].1.as_ref().map_err(Refusal::clone)?;
        let machine = compiled.image.machine.clone();
        let all: Vec<Machine> = done.iter().map(|(_, machine)| machine.clone()).chain([machine.clone()]).collect();
        let holds = |room: &Room| {
            let covering = Machine::try_from(spec.covering(&all));
            covering.is_ok_and(|machine| room.beyond(&room.suited(&machine, &spec)) == 0)
        };
        match &request.board {
            Some(room) if !holds(room) => Err(unheld(room)),
            _ => Ok((machine, cycles(program, compiled))),
        }
    };
    let segments: Vec<Segment> = cut(program, &mut fits)?.into_iter().map(|(segment, _)| segment).collect();
    // Segments that are the same but for where they read have one image.
    let mut programs: Vec<&Program> = Vec::new();
    let number =
        |segment: &'_ Segment, programs: &[&Program]| programs.iter().position(|other| **other == segment.program);
    for segment in &segments {
        if number(segment, &programs).is_none() {
            programs.push(&segment.program);
        }
    }
    let Fitted { machine, compiled } = fit(&programs, request).map_err(|unfit| unfit.refusal)?;
    if let Some(room) = request.board.as_ref().filter(|room| room.beyond(&machine) > 0) {
        return Err(unheld(room));
    }
    let images: Vec<Compiled> = segments
        .iter()
        .map(|segment| compiled[number(segment, &programs).expect("all programs are there")].clone())
        .collect();
    Ok((machine, segments.into_iter().zip(images).collect()))
}

/// Cycles of a segment, and those that it takes at least.
fn cycles(program: &Program, compiled: &Compiled) -> Cycles {
    let machine = &compiled.image.machine;
    let points: u64 = program.operations.iter().map(Operation::points).sum();
    let least = [
        points / u64::from(machine.pes()),
        program.words(|role| *role == Role::Input) / u64::from(machine.stream_words()),
        program.words(|role| *role == Role::Output) / u64::from(machine.output_words()),
    ];
    Cycles { taken: compiled.cycles, least: least.into_iter().fold(0, u64::max) }
}

fn beyond(message: String, needed: Words) -> Refusal {
    Refusal::DoesNotFit { diagnostic: Box::new(Diagnostic::global(Code::Backend, message)), needed }
}

fn unheld(room: &Room) -> Refusal {
    beyond(format!("{} does not hold this grid even with one operation at a time", room.title()), Words::default())
}

/// Refuse what cannot fit pads whose depths are given, wherever it lies.
fn may_fit(program: &Program, spec: &MachineSpec) -> Result<(), Refusal> {
    let Ok(machine) = Machine::try_from(spec.clone()) else { return Ok(()) };
    let pes = machine.pes();
    let data = program.words(|role| *role == Role::Input).div_ceil(u64::from(pes)) as u32;
    let needed = Words { model: program.least_kept(pes), data, ..Words::default() };
    let over = |needed: u32, given: Option<u32>| given.is_some_and(|given| needed > given);
    if over(needed.model, spec.model_depth) || over(needed.data, spec.data_depth) {
        let message = format!("per PE it needs {} words of weights and {} of inputs", needed.model, needed.data);
        return Err(beyond(message, needed));
    }
    Ok(())
}

/// The image of one program on a machine that also has what others need: one that the board holds, if there is one.
fn alone(
    program: &Program,
    spec: &MachineSpec,
    others: &[Machine],
    request: &FitRequest<'_>,
    number: usize,
) -> Result<Compiled, Refusal> {
    if let (Some(machines), 0) = (request.machines, number) {
        return search::compile_divided(program, spec, machines);
    }
    on_board(program, spec, others, request, number)
        .map_or_else(|| search::compile_fitted_without(program, spec, request.disabled), Ok)
}

/// The same, if there is a board, and it holds one.
fn on_board(
    program: &Program,
    spec: &MachineSpec,
    others: &[Machine],
    request: &FitRequest<'_>,
    number: usize,
) -> Option<Compiled> {
    let room = request.board.as_ref().filter(|room| room.may_hold(&[program], spec))?;
    let found = |spec: &MachineSpec, given: &MachineSpec| {
        let covering = |machine: &Machine| {
            let all: Vec<Machine> = others.iter().cloned().chain([machine.clone()]).collect();
            Machine::try_from(spec.covering(&all)).ok().map(|machine| room.suited(&machine, given))
        };
        let beyond = |machine: &Machine| covering(machine).map_or(0, |machine| room.beyond(&machine));
        let input = request.input.filter(|_| number == 0).map(|input| {
            move |image: &Image| {
                let machine = covering(&image.machine);
                let machine = machine.map(|machine| with_shifters(&request.spec, machine, &[image]));
                machine.and_then(|spec| Machine::try_from(spec).ok()).map_or(0, |machine| input(image, &machine))
            }
        });
        let input = input.as_ref().map(|input| input as &dyn Fn(&Image) -> u64);
        search::compile_on_board(program, spec, Board { beyond: &beyond, input }).ok()
    };
    let held = |given: &MachineSpec| {
        let compiled = found(spec, given)?;
        if !room.has_late_pads(&room.suited(&compiled.image.machine, given)) {
            return Some(compiled);
        }
        // Half as many block memories, the rest of which lie nearer to their PEs; and none of them on the way to a multiplier.
        let rows = MachineSpec { pads_in_rows: spec.pads_in_rows.or(Some(true)), ..spec.clone() };
        let rows = if Machine::try_from(rows.clone()).is_ok() { rows } else { spec.clone() };
        let early = MachineSpec { pad_register: spec.pad_register.or(Some(true)), ..rows };
        if early == *spec { Some(compiled) } else { found(&early, &early).or(Some(compiled)) }
    };
    let apart = held(&MachineSpec { pads_in_rows: spec.pads_in_rows.or(Some(false)), ..spec.clone() });
    if apart.as_ref().is_some_and(|apart| !apart.squeezed && apart.cycles_on_board == apart.cycles) {
        return apart;
    }
    apart.into_iter().chain(held(spec)).min_by_key(|compiled| compiled.cycles_on_board)
}

/// Accumulators and tables, which follow from the programs alone.
fn with_widths(programs: &[&Program], request: &FitRequest<'_>) -> MachineSpec {
    let mut spec = request.spec.clone();
    if request.board.is_some() {
        let needed = programs.iter().map(|program| program.narrowest_accumulator()).max();
        spec.accumulator = spec.accumulator.or(needed);
        // What does not follow from its specification alone might not fit the board.
        spec.scalar = spec.scalar.or(Some(false));
        spec.column_buses = spec.column_buses.or(Some(false));
    }
    if spec.table_entries.is_none() {
        // Without functions the grid has no function units; with some, at least the smallest memory.
        let entries = |program: &&Program| program.tables.iter().map(|table| table.entries.len()).sum::<usize>();
        let most = programs.iter().map(entries).max().unwrap_or(0) as u32;
        let divides = spec.divider == Some(true) || programs.iter().any(|program| needs_divider(program));
        spec.table_entries = Some(if most == 0 && !divides { 0 } else { most.max(64) });
    }
    spec
}

/// The shifters that the images use, where the specification does not list them.
fn with_shifters(given: &MachineSpec, machine: Machine, images: &[&Image]) -> MachineSpec {
    let union = |amounts: fn(&Image) -> Option<Amounts>| {
        images.iter().filter_map(|image| amounts(image)).reduce(Amounts::or).unwrap_or(Amounts::NONE)
    };
    MachineSpec {
        alignments: given.alignments.or_else(|| Some(union(Image::alignments))),
        shifts: given.shifts.or_else(|| Some(union(Image::shifts))),
        root_shifts: given.root_shifts.or_else(|| Some(union(Image::root_shifts))),
        ..MachineSpec::from(machine)
    }
}

#[cfg(test)]
mod tests {
    use crate::config::Microcode;
    use crate::{Choices, Data, Design, Project, resources};
    use arch::Machine;
    use arch::amounts::Amounts;
    use arch::machine::MachineSpec;
    use compiler::fixed::Role;

    const LINE: &str = "mu = 0.1; model_input x[2]; model_output y; model w[2]; gradient g[2] -> w; iterator i[0:2];
                        h = sum[i](w[i] * x[i]); d = h - y; g[i] = d * x[i];";

    fn design(config: &str) -> Design {
        let table = "[train]\nprediction = 'h'\nloss = 'squared'\n";
        let project = Project::in_memory("line.t", LINE, Some(table), Some(config)).unwrap();
        Design::new(&project, &Data::default(), &Choices::default(), &()).unwrap()
    }

    #[test]
    fn a_board_gets_what_the_programs_need() {
        let Design { images, lowered, .. } =
            design("[machine]\npus = 1\npes_per_pu = 2\n[board]\nname = 'icebreaker'\n");
        let (full, predict) = (images.full.unwrap(), images.predict);
        let programs = [lowered.full.as_ref().unwrap(), &lowered.predict];
        // Two products of two words of 16 bits are below 2^31: 32 bits and the sign.
        let needed = programs.iter().map(|program| program.narrowest_accumulator()).max().unwrap();
        assert!((33..48).contains(&needed), "{needed}");
        assert_eq!(images.machine.accumulator(), needed);
        assert!(programs.iter().all(|program| program.accumulator == 48), "programs stay as they were lowered");
        assert!(full.image.machine == images.machine && predict.image.machine == images.machine);
        let used = [&full.image, &predict.image].map(|image| image.shifts().unwrap_or(Amounts::NONE));
        assert_eq!(images.machine.shifts(), used[0].or(used[1]));
        assert_eq!((images.machine.table_entries(), images.machine.scalar()), (0, false));
    }

    /// Its 56 block memories of 18 kbit hold 64,512 words of 16 bits, its look-up tables some 12,000.
    #[test]
    fn weights_that_a_board_has_no_memory_for_are_not_placed() {
        let config = "[machine]\npus = 1\npes_per_pu = 2\n[board]\nname = 'ulx3s-25f'\n";
        let project = Project::in_memory("line.t", LINE, None, Some(config)).unwrap();
        let (room, mut program) = (project.fit_request().board.unwrap(), design(config).lowered.predict);
        assert!(room.may_hold(&[&program], &project.spec()));
        let weights = program.tensors.iter_mut().find(|tensor| tensor.role == Role::State).unwrap();
        weights.shape = vec![80_000];
        assert!(!room.may_hold(&[&program], &project.spec()));
        let given = MachineSpec { model_depth: Some(16), ..project.spec() };
        assert!(room.may_hold(&[&program], &given), "what is given is checked elsewhere");
    }

    #[test]
    fn without_a_board_accumulators_and_shifters_do_everything() {
        let machine = design("[machine]\npus = 1\npes_per_pu = 2\n").images.machine;
        assert_eq!((machine.accumulator(), machine.shifts()), (48, Amounts::ANY));
        // Nor does a board want block memories that tables would take.
        let spares =
            |config: &str| Project::in_memory("line.t", LINE, None, Some(config)).unwrap().numbers().spares_steps;
        assert!(spares("[machine]\npus = 1\n") && !spares("[machine]\npus = 1\n[board]\nname = 'icebreaker'\n"));
    }

    /// Where block memories are late; look-up tables are not, and what was refused stays refused.
    #[test]
    fn pads_of_block_memories_have_registers_and_lie_in_rows() {
        let early = |board: &str, keys: &str| {
            let config = format!("[machine]\npus = 1\npes_per_pu = 2\n{keys}\n[board]\nname = '{board}'\n");
            let machine = design(&config).images.machine;
            (machine.pad_register(), machine.pads_in_rows())
        };
        assert_eq!(early("ulx3s-85f", "data_depth = 256"), (true, true));
        assert_eq!(early("ulx3s-85f", ""), (false, false));
        assert_eq!(early("ulx3s-85f", "data_depth = 256\npad_register = false"), (false, true));
        assert_eq!(early("ulx3s-85f", "data_depth = 256\npads_in_rows = false"), (true, false));
        assert_eq!(early("icebreaker", "data_depth = 256"), (false, false));
    }

    /// By hand: 16 bits of 64 words are 16 groups of tables, so model pad, data pad of 2 x 16 words and two of temporaries 56 in each PE; 896 in 16 PEs.
    #[test]
    fn block_memories_take_what_tables_have_no_room_for() {
        let fitted = |keys: &str| {
            let config = format!(
                "[machine]\npus = 2\npes_per_pu = 8\ntemporary_depth = 64\nmodel_depth = 64\n{keys}\n[board]\nname = 'tangnano20k'\n"
            );
            let machine = design(&config).images.machine;
            (machine.block_depth(), lacks(&machine))
        };
        let (depth, lacking) = fitted("");
        assert_eq!((depth, lacking.as_slice()), (17, [].as_slice()));
        assert!(fitted("block_depth = 0").1[0].contains("LUTRAM of 648"));
    }

    /// What a Tang Nano 20K has too little of.
    fn lacks(machine: &Machine) -> Vec<String> {
        let board =
            toml::from_str::<fpga::board::Board>(include_str!("../../../fpga/boards/tangnano20k.toml")).unwrap();
        resources::lacks(machine, board.device.family(), &board.resources, Microcode::Ram)
    }

    #[test]
    fn what_is_specified_stays() {
        let machine =
            design("[machine]\npus = 1\npes_per_pu = 2\naccumulator = 40\ndata_depth = 64\ntable_entries = 128\n")
                .images
                .machine;
        assert_eq!((machine.accumulator(), machine.data_depth(), machine.table_entries()), (40, 64, 128));
    }
}
