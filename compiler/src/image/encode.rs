//! Encode: scheduled jobs to the instructions of an image.

use crate::fixed::Role;
use crate::jobs::job::{Access, Counts, Datapath, Job, Sink, Source};
use crate::jobs::lanes::Lanes;
use crate::jobs::streams::{self, Load};
use crate::jobs::{Storage, StorageId};
use crate::optimisations::Disabled;
use crate::placed::{Piece, Tile};
use crate::scheduled::timetable::Cycles;
use crate::scheduled::{Home, Program};
use crate::tensor::{Affine, IterId};
use arch::Origin;
use arch::image::{Annotated, Entries, Feed, FeedDimension, Image, StreamTensor};
use arch::isa::{
    Address, AluInstruction, DELAY_BITS, Factor, Finish, Instruction, LEVELS, LoadInstruction, Mask, MoveInstruction,
    NO_LEVEL, Pad, RootInstruction, ScalarInstruction, Start, Tiles,
};
use arch::machine::Machine;
use arch::timing::Unit;

/// The loops of a job in the innermost levels of an instruction.
fn counts(loops: &[u32]) -> [u32; LEVELS] {
    let mut counts = [1; LEVELS];
    let base = LEVELS - loops.len();
    counts[base..].copy_from_slice(loops);
    counts
}

fn address(access: &Access, home: Home) -> Address {
    address_from(access, home.base)
}

fn address_from(access: &Access, from: u32) -> Address {
    let mut strides = [0; LEVELS];
    let base = LEVELS - access.strides.len();
    for (level, &stride) in access.strides.iter().enumerate() {
        strides[base + level] = stride as i32;
    }
    Address { base: from + access.offset as u32, strides }
}

/// The mask of lanes whose loops, so many, are the innermost levels of an instruction.
fn mask(lanes: &Lanes, loops: usize, machine: &Machine) -> Mask {
    let base = (LEVELS - loops) as u8;
    let mut mask = lanes.mask(machine);
    for level in [&mut mask.row_level, &mut mask.column_level, &mut mask.pick_row, &mut mask.pick_column] {
        if *level != NO_LEVEL {
            *level += base;
        }
    }
    mask
}

/// The alu instruction of a job, without its delay.
fn alu(job: &Job, homes: &[Home], machine: &Machine) -> AluInstruction {
    let mut reads = [Address::default(); Pad::COUNT];
    let mut read = |access: &Access| {
        let home = homes[access.storage.0];
        reads[home.pad as usize] = address(access, home);
        home.pad
    };
    // Without a product the start is multiplied by 0: it is a word that something wrote, and in a simulator 0 times an unknown word is unknown.
    let start = job.c.as_ref().and_then(Source::access);
    let a = job.a.as_ref().or(start).map_or(Pad::Model, &mut read);
    let (b, immediate_b) = match &job.b {
        Source::Word(word) => (Factor::Immediate, *word),
        Source::Access(access) => (Factor::Pad(read(access)), 0),
    };
    let (c, immediate_c) = match &job.c {
        None => (Start::Zero, 0),
        Some(Source::Word(word)) => (Start::Immediate, *word),
        Some(Source::Access(access)) => (Start::Pad(read(access)), 0),
    };
    let (write, destination) = match &job.sink {
        Sink::Pad(access) => {
            let home = homes[access.storage.0];
            (Some(home.pad), address(access, home))
        }
        Sink::Tree { .. } | Sink::Output => (None, Address::default()),
    };
    AluInstruction {
        delay: 0,
        interval: job.interval,
        counts: counts(&job.loops),
        reduce: job.reduce as u8,
        reads,
        a,
        b,
        square: job.square,
        c,
        combine: job.combine,
        align: job.align,
        shift: job.shift,
        finish: job.finish,
        immediate_b,
        immediate_c,
        write,
        destination,
        tree: !matches!(job.sink, Sink::Pad(_)),
        emit: job.sink == Sink::Output,
        mask: mask(&job.lanes, job.loops.len(), machine),
        tiles: match &job.counts {
            Counts::Every => Tiles::Every,
            Counts::Last => Tiles::Last,
            Counts::Over(access) => Tiles::Park(address_from(access, 0)),
        },
        end: false,
    }
}

/// The instruction of a job on the scalar unit, without its delay.
fn scalar(job: &Job, homes: &[Home], machine: &Machine) -> ScalarInstruction {
    let instruction = alu(job, homes, machine);
    let write = instruction.write.filter(|_| job.copies.scalar);
    let destination = if write.is_some() { instruction.destination } else { Address::default() };
    ScalarInstruction::of(AluInstruction { write, destination, ..instruction }, job.sends())
}

/// The move instruction that takes the results of a job, without its delay.
fn moves(job: &Job, homes: &[Home], machine: &Machine) -> Option<MoveInstruction> {
    let (source, write, lanes) = match &job.sink {
        Sink::Tree { unit, write, lanes, walk: None, .. } => (*unit, write, lanes),
        Sink::Pad(write) if job.sends() => (Unit::Global, write, &job.lanes),
        _ => return None,
    };
    let home = homes[write.storage.0];
    assert!(Pad::TEMPORARY.contains(&home.pad), "a bus cannot write the pad of {}", job.what);
    // The summed loops, innermost, are one beat of the move stream; its other loops are the job's.
    let outer = &job.loops[..job.loops.len() - job.reduce];
    let mut written = write.clone();
    written.strides.truncate(outer.len());
    let taken = mask(lanes, outer.len(), machine);
    let nobody = Mask { row_low: 0, row_high: 0, ..Mask::all(machine.pus(), machine.pes_per_pu()) };
    Some(MoveInstruction {
        delay: 0,
        interval: job.interval * job.beats_per_result() as u32,
        counts: counts(outer),
        source,
        pad: home.pad,
        destination: address(&written, home),
        mask: if job.copies.engines { taken } else { nobody },
        late: job.counts != Counts::Every,
        // What the unit has computed itself is in its pads already.
        scalar: job.copies.scalar && job.on == Datapath::Engines,
        end: false,
    })
}

/// The root instruction that follows a job, without its delay.
fn root(job: &Job) -> Option<RootInstruction> {
    let Sink::Tree { unit, shift, function, walk: None, .. } = &job.sink else { return None };
    Some(RootInstruction {
        delay: 0,
        interval: job.interval * job.beats_per_result() as u32,
        count: (job.beats() / job.beats_per_result()) as u32,
        // Where its results go is for the moves to say.
        unit: if *unit == Unit::Across { Unit::Row } else { *unit },
        shift: *shift,
        positive: if let Finish::Positive(limit) = job.finish { Some(limit) } else { None },
        function: *function,
        end: false,
    })
}

/// An instruction of a job, which says what it is for.
fn of_job<I>(job: &Job, instruction: I) -> Annotated<I> {
    Annotated { instruction, what: job.what.clone(), origin: job.origin.clone() }
}

/// A stream under construction: instructions with delays that put their beats where the schedule wants them.
struct Track<I> {
    instructions: Vec<Annotated<I>>,
    next: u64,
}

impl<I> Track<I> {
    /// The delay that puts the next instruction's beats into this window.
    fn delay(&mut self, window: Cycles) -> u32 {
        let delay = window.first - self.next;
        assert!(delay < 1 << DELAY_BITS, "a delay of {delay} cycles is longer than an instruction can wait");
        self.next = window.last + 1;
        delay as u32
    }
}

/// The load instruction of a part of a tensor.
fn load(load: &Load, home: Home, scalar: bool, machine: &Machine) -> LoadInstruction {
    let base = LEVELS - load.loops.len();
    LoadInstruction {
        counts: counts(&load.loops),
        pad: home.pad,
        gradient: false,
        destination: address(&load.write, home),
        scatter: load.scatter,
        pick_group: load.group.map_or(NO_LEVEL, |level| (base + level) as u8),
        mask: mask(&load.lanes, load.loops.len(), machine),
        scalar,
        end: false,
    }
}

/// Make an image of the step alone: nothing is loaded, nothing sent.
pub(crate) fn step(program: &Program, machine: &Machine) -> Image {
    let homes = &program.homes;
    let mut alu_track = Track { instructions: Vec::new(), next: 0 };
    let mut root_track = Track { instructions: Vec::new(), next: 0 };
    let mut move_track = Track { instructions: Vec::new(), next: 0 };
    let mut scalar_track = Track { instructions: Vec::new(), next: 0 };
    let mut moved = Vec::new();
    for (job, slot) in program.jobs().iter().zip(program.slots(machine)) {
        if job.on == Datapath::Scalar {
            let mut instruction = scalar(job, homes, machine);
            instruction.alu.delay = scalar_track.delay(slot.issue);
            scalar_track.instructions.push(of_job(job, instruction));
        } else {
            let mut instruction = alu(job, homes, machine);
            instruction.delay = alu_track.delay(slot.issue);
            alu_track.instructions.push(of_job(job, instruction));
        }
        if let Some(mut root) = root(job) {
            root.delay = root_track.delay(slot.root.expect("scheduled"));
            root_track.instructions.push(of_job(job, root));
        }
        let moves = moves(job, homes, machine).map(|moves| of_job(job, moves));
        moved.extend(moves.map(|moves| (slot.moves.expect("scheduled"), moves)));
    }
    // What the scalar unit sends goes between results of roots.
    moved.sort_by_key(|(window, _)| window.first);
    for (window, mut moves) in moved {
        moves.delay = move_track.delay(window);
        move_track.instructions.push(moves);
    }
    let mut image = Image {
        machine: machine.clone(),
        alu: alu_track.instructions,
        root: root_track.instructions,
        moves: move_track.instructions,
        load: Vec::new(),
        scalar: scalar_track.instructions,
        follows: program.follows(),
        tables: program.step.tables.clone(),
        entries: Entries::default(),
        step_length: program.length as u32,
        tile_length: program.tile_length as u32,
        tiles: program.step.tile.map_or(1, |tile| tile.count),
        model_in: Vec::new(),
        step_in: Vec::new(),
        step_out: Vec::new(),
        model_out: Vec::new(),
        tensors: Vec::new(),
    };
    mark_ends(&mut image);
    image
}

/// The last instruction of each stream ends the step, which begins with the first.
fn mark_ends(image: &mut Image) {
    if let Some(last) = image.alu.last_mut() {
        last.end = true;
        image.entries.step_alu = Some(0);
    }
    if let Some(last) = image.root.last_mut() {
        last.end = true;
        image.entries.step_root = Some(0);
    }
    if let Some(last) = image.moves.last_mut() {
        last.end = true;
        image.entries.step_move = Some(0);
    }
    if let Some(last) = image.scalar.last_mut() {
        last.alu.end = true;
        image.entries.step_scalar = Some(0);
    }
}

/// Make the image.
pub(crate) fn encode(program: &Program, machine: &Machine, disabled: Disabled) -> Image {
    let mut image = step(program, machine);
    let streamed = |wanted: &dyn Fn(&Role) -> bool| -> Vec<StorageId> {
        let wanted = program.storages().iter().enumerate().filter(|(_, storage)| wanted(&storage.role));
        wanted.map(|(number, _)| StorageId(number)).collect()
    };
    let model = streamed(&|role| matches!(role, Role::State | Role::Parameter(_)));
    let inputs = streamed(&|role| *role == Role::Input);
    let outputs = streamed(&|role| *role == Role::Output);
    let states = streamed(&|role| *role == Role::State);
    (image.entries.load_model, image.model_in) = load_routine(&mut image, program, &model, None, disabled);
    let tile = program.step.tile;
    (image.entries.step_load, image.step_in) = load_routine(&mut image, program, &inputs, tile, disabled);
    // Emission waits until the last results of the step have landed.
    let wait = program.lands_late(machine) as u32;
    (image.entries.emit_step, image.step_out) = emit_routine(&mut image, program, &outputs, wait, tile);
    (image.entries.emit_model, image.model_out) = emit_routine(&mut image, program, &states, wait, None);
    image
}

/// What an instruction carries, and the dimension of samples in it.
type Carried = (Feed, Option<usize>);

/// What the same instructions carry for each tile of a batch.
fn tile_by_tile(feeds: &[Carried], tile: Option<Tile>) -> Vec<Feed> {
    let Tile { samples, count } = tile.unwrap_or(Tile { samples: 0, count: 1 });
    let of_tile = |number: u32| {
        feeds.iter().map(move |(feed, dimension)| {
            let mut feed = feed.clone();
            if let Some(dimension) = *dimension {
                feed.dimensions[dimension].offset += i64::from(number * samples);
            }
            feed
        })
    };
    (0..count).flat_map(of_tile).collect()
}

/// What a piece of a tensor carries, as elements of the whole tensor.
fn of_whole(mut feed: Feed, piece: &Piece) -> Feed {
    let own = std::mem::take(&mut feed.dimensions);
    let dimension = |form: &Affine| {
        let mut whole = FeedDimension { offset: form.offset, ..FeedDimension::default() };
        for &(IterId(dimension), coefficient) in &form.terms {
            let FeedDimension { offset, levels, lane, row } = own[dimension];
            whole.offset += coefficient * offset;
            whole.lane += coefficient * lane;
            whole.row += coefficient * row;
            for (sum, stride) in whole.levels.iter_mut().zip(levels) {
                *sum += coefficient * stride;
            }
        }
        whole
    };
    Feed { dimensions: piece.index.iter().map(dimension).collect(), ..feed }
}

/// The tensor of the whole program that a storage is a piece of, in the list of those that are streamed; made when first needed.
fn stream_tensor(image: &mut Image, storage: &Storage) -> (usize, Piece) {
    let piece = storage.piece.clone().expect("what is streamed is a piece of something");
    if let Some(known) = image.tensors.iter().position(|t| t.name == piece.name) {
        return (known, piece);
    }
    let constant = match &storage.role {
        Role::Parameter(words) => Some(words.to_vec()),
        _ => None,
    };
    image.tensors.push(StreamTensor {
        name: piece.name.clone(),
        shape: piece.shape.clone(),
        fraction: storage.fraction,
        constant,
    });
    (image.tensors.len() - 1, piece)
}

/// Append the instructions that load these storages: where they start, and what they carry.
fn load_routine(
    image: &mut Image,
    program: &Program,
    wanted: &[StorageId],
    tile: Option<Tile>,
    disabled: Disabled,
) -> (Option<u32>, Vec<Feed>) {
    let entry = image.load.len() as u32;
    let machine = image.machine.clone();
    let mut feeds = Vec::new();
    for &id in wanted {
        let storage = &program.storages()[id.0];
        let (carried, piece) = stream_tensor(image, storage);
        let mut in_unit = program.jobs().iter().filter(|job| job.on == Datapath::Scalar).flat_map(Job::reads);
        let scalar = in_unit.any(|access| access.storage == id);
        for (part, feed) in streams::load(storage, id, carried, &machine, disabled) {
            let (instruction, what) =
                (load(&part, program.homes[id.0], scalar, &machine), format!("{} load", storage.name));
            image.load.push(Annotated { instruction, what, origin: Origin::default() });
            feeds.push((of_whole(feed, &piece), piece.samples));
        }
    }
    match image.load.last_mut() {
        Some(last) if !feeds.is_empty() => {
            last.end = true;
            (Some(entry), tile_by_tile(&feeds, tile))
        }
        _ => (None, Vec::new()),
    }
}

/// Append the instructions that send these storages, the first after some cycles: where they start, and what they carry.
fn emit_routine(
    image: &mut Image,
    program: &Program,
    wanted: &[StorageId],
    wait: u32,
    tile: Option<Tile>,
) -> (Option<u32>, Vec<Feed>) {
    let entry = image.alu.len() as u32;
    let machine = image.machine.clone();
    let mut feeds = Vec::new();
    for &id in wanted {
        let storage = &program.storages()[id.0];
        let (carried, piece) = stream_tensor(image, storage);
        for (job, feed) in streams::emit(storage, id, carried, &machine) {
            let transfers = (feed.beats() / job.beats()) as u32;
            let instruction = alu(&job, &program.homes, &machine).with_transfers(transfers, &machine);
            image.alu.push(of_job(&job, instruction));
            feeds.push((of_whole(feed, &piece), piece.samples));
        }
    }
    if let Some(first) = image.alu.get_mut(entry as usize) {
        first.delay = wait;
    }
    match image.alu.last_mut() {
        Some(last) if !feeds.is_empty() => {
            last.end = true;
            (Some(entry), tile_by_tile(&feeds, tile))
        }
        _ => (None, Vec::new()),
    }
}

/// Whether every instruction fits its fields on this machine.
pub(crate) fn check_fields(image: &Image) -> Result<(), arch::isa::Fits> {
    let machine = &image.machine;
    image.alu.iter().try_for_each(|i| i.encode(machine).map(|_| ()))?;
    image.root.iter().try_for_each(|i| i.encode(machine).map(|_| ()))?;
    image.moves.iter().try_for_each(|i| i.encode(machine).map(|_| ()))?;
    image.load.iter().try_for_each(|i| i.encode(machine).map(|_| ()))?;
    image.scalar.iter().try_for_each(|i| i.encode(machine).map(|_| ()))
}
