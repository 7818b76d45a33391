//! The array against its hardware, under Verilator and in rust-hdl's simulator: both sides get the same calls, every answer is
//! compared in every cycle.
//!
//! Programs are random, within what docs/machine.md allows: results go to `model` and `t0`, the bus writes `t1`, and what
//! reaches a unit in one cycle comes from one instruction. At the end of each run every word of every pad is emitted.

mod modelled;

use arch::amounts::Amounts;
use arch::division::{Rounding, most_places};
use arch::isa::{
    Address, AluInstruction, Below, Combine, Factor, Finish, Instruction, LEVELS, LoadInstruction, Mask,
    MoveInstruction, NO_LEVEL, Pad, RootFunction, RootInstruction, Segments, Start, TableUse, Tiles, gradient_bits,
    pad_bits,
};
use arch::machine::{Machine, MachineSpec};
use arch::registers::{self, Region};
use arch::rtl::Rtl;
use arch::timing::{self, Unit};
use arch::tools::Toolbox;
use hdl::Leaves;
use modelled::Modelled;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};
use sim::array::Array;
use sim::grid::{Grid, Host, Lockstep, Stalls};
use sim::verilator::{GridDevice, Library, Options, lint};

/// What the roots of a program do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Through {
    Rounding,
    Tables,
    Dividers,
}

struct Random(ChaCha8Rng);

impl Random {
    fn below(&mut self, n: u32) -> u32 {
        self.0.next_u32() % n
    }

    fn range(&mut self, low: u32, high: u32) -> u32 {
        low + self.below(high - low + 1)
    }

    fn chance(&mut self, percent: u32) -> bool {
        self.below(100) < percent
    }

    /// A shift amount of a machine; where it does any, mostly between `low` and `high`.
    fn amount(&mut self, amounts: Amounts, low: u32, high: u32) -> u32 {
        match amounts.listed() {
            Some(list) => list[self.below(list.len() as u32) as usize],
            None if self.chance(80) => self.range(low, high).min(63),
            None => self.below(64),
        }
    }

    /// A word of `width` bits, often an extreme one.
    fn word(&mut self, width: u32) -> i64 {
        let raw = i64::from(self.0.next_u32() as i32) << 1 ^ i64::from(self.below(2));
        match self.below(8) {
            0 => (1 << (width - 1)) - 1,
            1 => -(1 << (width - 1)),
            2..4 => raw << (64 - width) >> (64 - width) >> (width / 2),
            _ => raw << (64 - width) >> (64 - width),
        }
    }
}

/// What the load, alu, root and move programs hold, and where routines begin.
struct Programs {
    alu: Vec<AluInstruction>,
    root: Vec<RootInstruction>,
    moves: Vec<MoveInstruction>,
    load: Vec<LoadInstruction>,
    entries: Vec<(u32, u32)>,
    model_beats: u64,
    step_beats: u64,
    step_words: u64,
    model_words: u64,
    step_length: u64,
}

struct Generator<'a> {
    machine: &'a Machine,
    random: Random,
}

fn beats(counts: &[u32; LEVELS]) -> u64 {
    counts.iter().map(|&n| u64::from(n)).product()
}

impl Generator<'_> {
    fn counts(&mut self) -> [u32; LEVELS] {
        std::array::from_fn(|_| if self.random.chance(40) { self.random.range(1, 4) } else { 1 })
    }

    fn address(&mut self, pad: Pad, counts: &[u32; LEVELS]) -> Address {
        let stride = |count: u32, random: &mut Random| if count == 1 { 0 } else { random.below(7) as i32 - 3 };
        let strides = counts.map(|count| stride(count, &mut self.random));
        Address { base: self.random.below(1 << pad_bits(self.machine, pad)), strides }
    }

    fn mask(&mut self) -> Mask {
        let (rows, columns) = (self.machine.pus(), self.machine.pes_per_pu());
        if self.random.chance(30) {
            return Mask::all(rows, columns);
        }
        let random = &mut self.random;
        let level = |random: &mut Random, none: u32| {
            if random.chance(none) { NO_LEVEL } else { random.below(LEVELS as u32) as u8 }
        };
        Mask {
            flat: random.chance(50),
            row_low: random.range(0, rows / 2),
            column_low: random.range(0, columns / 2),
            row_high: random.range(rows / 2, rows),
            column_high: random.range(columns / 2, columns),
            row_level: level(random, 40),
            column_level: level(random, 40),
            pick_row: level(random, 80),
            pick_column: level(random, 80),
        }
    }

    /// What an instruction does in the tiles of a batch. Addresses may walk inside a sum here: a sum resumes what lies at its first
    /// beat's and is parked at its last beat's.
    fn tiles(&mut self, counts: &[u32; LEVELS]) -> Tiles {
        let bits = gradient_bits(self.machine);
        match self.random.below(if bits == 0 { 1 } else { 4 }) {
            0 => Tiles::Every,
            1 => Tiles::Last,
            _ => {
                let stride = |count: u32, random: &mut Random| if count == 1 { 0 } else { random.below(5) as i32 - 2 };
                let strides = counts.map(|count| stride(count, &mut self.random));
                Tiles::Park(Address { base: self.random.below(1 << bits), strides })
            }
        }
    }

    fn alu(&mut self) -> AluInstruction {
        let counts = self.counts();
        let word = self.machine.word();
        let pad = |random: &mut Random| Pad::ALL[random.below(4) as usize];
        let reads = Pad::ALL.map(|pad| self.address(pad, &counts));
        let write = [None, Some(Pad::Model), Some(Pad::T0)][self.random.below(3) as usize];
        let destination = self.address(write.unwrap_or(Pad::T0), &counts);
        let mask = self.mask();
        let tiles = self.tiles(&counts);
        let random = &mut self.random;
        let instruction = AluInstruction {
            delay: random.below(12),
            interval: if random.chance(70) { 1 } else { random.range(1, 4) },
            counts,
            reduce: random.below(5) as u8,
            reads,
            a: pad(random),
            b: if random.chance(25) { Factor::Immediate } else { Factor::Pad(pad(random)) },
            c: match random.below(4) {
                0 => Start::Zero,
                1 => Start::Immediate,
                _ => Start::Pad(pad(random)),
            },
            combine: match random.below(if self.machine.extremes() { 100 } else { 50 }) {
                0..35 => Combine::Add,
                35..50 => Combine::Subtract,
                50..75 => Combine::Maximum,
                _ => Combine::Minimum,
            },
            align: random.amount(self.machine.alignments(), 0, word - 1),
            shift: random.amount(self.machine.shifts(), word / 2, 2 * word),
            finish: if random.chance(85) { Finish::Round } else { Finish::Negative },
            immediate_b: random.word(word),
            immediate_c: random.word(word),
            write,
            destination,
            tree: random.chance(70),
            emit: false,
            mask,
            tiles,
            end: false,
        };
        if self.random.chance(10) { self.at_the_limit(instruction) } else { instruction }
    }

    /// Makes sums between the largest word and the next: rounding must not carry them over. They come about where `a` is an
    /// extreme word.
    fn at_the_limit(&self, instruction: AluInstruction) -> AluInstruction {
        let (word, machine) = (self.machine.word(), self.machine);
        let (largest, smallest) = ((1 << (word - 1)) - 1, -(1 << (word - 1)));
        // largest * 2^align + a * b, in units of 2^shift: largest + largest / 2^(word - 1), or largest / 2 + 2^(word - 2).
        let ways = [(word - 1, word - 1, 1), (word - 1, word, smallest)];
        let way = ways
            .into_iter()
            .find(|&(align, shift, _)| machine.alignments().contains(align) && machine.shifts().contains(shift));
        let Some((align, shift, immediate_b)) = way else { return instruction };
        AluInstruction {
            reduce: 0,
            b: Factor::Immediate,
            c: Start::Immediate,
            combine: Combine::Add,
            finish: Finish::Round,
            align,
            shift,
            immediate_b,
            immediate_c: largest,
            ..instruction
        }
    }

    fn root(&mut self, through: Through) -> RootInstruction {
        let (word, entries) = (self.machine.word(), self.machine.table_entries());
        let random = &mut self.random;
        let octave = random.chance(50);
        let log2 = random.range(1, 3);
        let segment_shift = if octave { word - 2 - log2 } else { random.range(0, word - log2) };
        let base = if entries > 0 { random.below(entries) } else { 0 };
        let segments = match random.below(3) {
            _ if !octave => Segments::Uniform,
            0 => Segments::Octave(Below::Lowest),
            1 => Segments::Octave(Below::Zero),
            _ => Segments::Octave(Below::Highest),
        };
        let mut root = RootInstruction {
            delay: random.below(12),
            interval: if random.chance(70) { 1 } else { random.range(1, 4) },
            count: random.range(1, 40),
            unit: if random.chance(50) { Unit::Row } else { Unit::Global },
            shift: random.amount(self.machine.root_shifts(), word / 2, 2 * word + 2),
            function: None,
            end: false,
        };
        match through {
            Through::Rounding => {}
            Through::Tables => {
                root.function = Some(RootFunction::Table(TableUse { base, log2, segment_shift, segments }));
            }
            Through::Dividers => {
                let rounding = if random.chance(50) { Rounding::Nearest } else { Rounding::Down };
                root.function = Some(RootFunction::Divide(rounding));
                root.shift = random.below(most_places(word) + 1);
                // One quotient at a time, in all instructions and from step to step.
                let busy = timing::division_interval(self.machine) as u32;
                root.count = root.count.min(8);
                root.interval = busy + random.below(3);
                root.delay += busy;
            }
        }
        root
    }

    fn moves(&mut self) -> MoveInstruction {
        let counts = self.counts();
        MoveInstruction {
            delay: self.random.below(12),
            interval: if self.random.chance(70) { 1 } else { self.random.range(1, 4) },
            counts,
            source: if self.random.chance(50) { Unit::Row } else { Unit::Global },
            pad: Pad::T1,
            destination: self.address(Pad::T1, &counts),
            mask: self.mask(),
            late: gradient_bits(self.machine) > 0 && self.random.chance(50),
            end: false,
        }
    }

    fn load(&mut self, pad: Pad) -> LoadInstruction {
        let counts = self.counts();
        let group = self.random.chance(40);
        LoadInstruction {
            counts,
            pad,
            destination: self.address(pad, &counts),
            scatter: self.random.chance(70),
            pick_group: if group { self.random.below(LEVELS as u32) as u8 } else { NO_LEVEL },
            mask: self.mask(),
            end: false,
        }
    }

    /// Emits every word of a pad, one PE after the other.
    fn dump(&mut self, pad: Pad) -> AluInstruction {
        let depth = 1 << pad_bits(self.machine, pad);
        let address = Address { base: 0, strides: [0, 0, 1, 0] };
        AluInstruction {
            delay: self.random.below(4),
            interval: self.random.range(1, 2),
            counts: [self.machine.pus(), self.machine.pes_per_pu(), depth, 1],
            reduce: 0,
            reads: [address; 4],
            a: pad,
            b: Factor::Immediate,
            c: Start::Zero,
            combine: Combine::Add,
            align: 0,
            shift: 0,
            finish: Finish::Round,
            immediate_b: 1,
            immediate_c: 0,
            write: None,
            destination: Address::default(),
            tree: true,
            emit: true,
            mask: Mask { pick_row: 0, pick_column: 1, ..Mask::all(self.machine.pus(), self.machine.pes_per_pu()) },
            tiles: Tiles::Every,
            end: false,
        }
    }

    /// Sums, and the root and move instructions that catch every one of them in flight.
    fn chain(&mut self, through: Through) -> (AluInstruction, RootInstruction, MoveInstruction) {
        let (mut alu, mut root, mut moves) = (self.alu(), self.root(through), self.moves());
        alu.tree = true;
        if through == Through::Dividers {
            alu.interval = root.interval;
            alu.delay += root.interval;
            alu.counts = alu.counts.map(|count| count.min(2));
        }
        let inner: u32 = alu.counts[LEVELS - alu.reduce as usize..].iter().product();
        let sums = beats(&alu.counts) as u32 / inner;
        let first = alu.delay + (inner - 1) * alu.interval;
        root.delay = first + timing::alu_to_root(self.machine, root.unit) as u32;
        (root.count, root.interval) = (sums, inner * alu.interval);
        moves.delay = root.delay + timing::root_result(self.machine, root.unit, root.function.as_ref()) as u32;
        (moves.counts, moves.interval, moves.source) = ([1, 1, 1, sums], root.interval, root.unit);
        moves.destination.strides = [0, 0, 0, i32::from(sums > 1)];
        moves.mask.row_level = NO_LEVEL;
        moves.mask.column_level = NO_LEVEL;
        (alu, root, moves)
    }

    fn programs(&mut self) -> Programs {
        // Results with and without a function may meet in an output register; which one counts is nobody's business.
        let through = match self.random.below(10) {
            0..=2 if self.machine.divider() => Through::Dividers,
            3..=7 if self.machine.table_entries() > 0 => Through::Tables,
            _ => Through::Rounding,
        };
        let (alu_count, root_count) = (self.random.range(1, 4) as usize, self.random.range(1, 3) as usize);
        let mut alu: Vec<_> = (0..alu_count).map(|_| self.alu()).collect();
        let mut root: Vec<_> = (0..root_count).map(|_| self.root(through)).collect();
        let mut moves: Vec<_> = (0..root_count).map(|_| self.moves()).collect();
        if self.random.chance(70) {
            (alu[0], root[0], moves[0]) = self.chain(through);
        }
        let mut load = vec![self.load(Pad::Model), self.load(Pad::Model)];
        let step_load = load.len();
        load.extend([self.load(Pad::Data), self.load(Pad::Data)]);
        alu[alu_count - 1].end = true;
        root[root_count - 1].end = true;
        moves[root_count - 1].end = true;
        load[step_load - 1].end = true;
        load[step_load + 1].end = true;
        let step_time = |delay: u32, beats: u64, interval: u32| u64::from(delay) + beats * u64::from(interval);
        let times = [
            alu.iter().map(|i| step_time(i.delay, beats(&i.counts), i.interval)).sum::<u64>(),
            root.iter().map(|i| step_time(i.delay, i.count.into(), i.interval)).sum(),
            moves.iter().map(|i| step_time(i.delay, beats(&i.counts), i.interval)).sum(),
        ];
        let step_length = times.into_iter().max().unwrap_or(0) + 1 + u64::from(self.random.below(30));

        let emit_step = alu.len() as u32;
        alu.push(AluInstruction { end: true, ..self.dump(Pad::T1) });
        let emit_model = alu.len() as u32;
        alu.extend(Pad::ALL.map(|pad| self.dump(pad)));
        alu.last_mut().expect("just filled").end = true;
        let enabled = |entry: u32| registers::ENTRY_ENABLE | entry;
        let mut entries = vec![
            (registers::ENTRY_STEP_ALU, enabled(0)),
            (registers::ENTRY_STEP_ROOT, enabled(0)),
            (registers::ENTRY_STEP_MOVE, enabled(0)),
            (registers::ENTRY_STEP_LOAD, enabled(step_load as u32)),
            (registers::ENTRY_LOAD_MODEL, enabled(0)),
            (registers::ENTRY_EMIT_MODEL, enabled(emit_model)),
        ];
        let emits = self.random.chance(40);
        entries.push((registers::ENTRY_EMIT_STEP, if emits { enabled(emit_step) } else { 0 }));
        let words = |i: &AluInstruction| beats(&i.counts);
        Programs {
            model_beats: load[..step_load].iter().map(|i| beats(&i.counts)).sum(),
            step_beats: load[step_load..].iter().map(|i| beats(&i.counts)).sum(),
            step_words: if emits { words(&alu[emit_step as usize]) } else { 0 },
            model_words: alu[emit_model as usize..].iter().map(words).sum(),
            alu,
            root,
            moves,
            load,
            entries,
            step_length,
        }
    }

    /// Loads every word of a pad, scattered.
    fn load_all(&self, pad: Pad) -> LoadInstruction {
        let groups = self.machine.pes() / self.machine.stream_words();
        LoadInstruction {
            counts: [1, 1 << pad_bits(self.machine, pad), groups, 1],
            pad,
            destination: Address { base: 0, strides: [0, 1, 0, 0] },
            scatter: true,
            pick_group: 2,
            mask: Mask::all(self.machine.pus(), self.machine.pes_per_pu()),
            end: true,
        }
    }

    /// A run of two steps that do nothing, to load random words everywhere.
    fn fill(&mut self, grid: &mut Lockstep<Array, impl Grid>) {
        let machine = self.machine;
        let load = [Pad::Model, Pad::Data].map(|pad| self.load_all(pad));
        write_program(grid, machine, Region::Load, &load);
        grid.control_write(registers::STEPS, 2);
        grid.control_write(registers::STEP_LENGTH, 1);
        grid.control_write(registers::ENTRY_LOAD_MODEL, registers::ENTRY_ENABLE);
        grid.control_write(registers::ENTRY_STEP_LOAD, registers::ENTRY_ENABLE | 1);
        grid.control_write(registers::CONTROL, registers::START | registers::START_LOAD_MODEL);
        let mut host = Host::new(Stalls::none());
        for _ in 0..beats(&load[0].counts) + 2 * beats(&load[1].counts) {
            host.send((0..machine.stream_words()).map(|_| self.random.word(machine.word())).collect());
        }
        host.finish(grid, 100_000).expect("a load ends");
        assert!(grid.mismatch().is_none(), "{machine}: {}", grid.mismatch().expect("just seen"));
    }

    /// Random function tables, which both grids keep.
    fn tables(&mut self, grid: &mut impl Grid) {
        let half = self.machine.word() + 2;
        for entry in 0..self.machine.table_entries() {
            let mask = (1u128 << half) - 1;
            let mut part = || (self.random.word(half.min(34)) as u128) & mask;
            let bits = part() << half | part();
            for chunk in 0..(2 * half).div_ceil(32) {
                let address = Region::Tables.base() + entry * registers::ENTRY_CHUNKS + chunk;
                grid.control_write(address, (bits >> (32 * chunk)) as u32);
            }
        }
    }
}

fn write_program<I: Instruction>(grid: &mut impl Grid, machine: &Machine, region: Region, program: &[I]) {
    for (number, instruction) in program.iter().enumerate() {
        let chunks = instruction.encode(machine).expect("the instruction fits");
        for (chunk, bits) in chunks.into_iter().enumerate() {
            let address = region.base() + number as u32 * registers::INSTRUCTION_CHUNKS + chunk as u32;
            grid.control_write(address, bits);
        }
    }
}

/// One run in lockstep; the words come back with the answer to every call.
fn run(grid: &mut Lockstep<Array, impl Grid>, machine: &Machine, generator: &mut Generator, seed: u64) {
    let programs = generator.programs();
    write_program(grid, machine, Region::Alu, &programs.alu);
    write_program(grid, machine, Region::Root, &programs.root);
    write_program(grid, machine, Region::Move, &programs.moves);
    write_program(grid, machine, Region::Load, &programs.load);
    let tiled = machine.gradient_depth() > 0;
    let steps = u64::from(generator.random.below(if tiled { 9 } else { 4 }));
    if tiled {
        // The last batch of a run may be cut off.
        grid.control_write(registers::TILES, generator.random.below(4));
    }
    grid.control_write(registers::STEPS, steps as u32);
    grid.control_write(registers::STEP_LENGTH, programs.step_length as u32);
    for &(register, value) in &programs.entries {
        grid.control_write(register, value);
    }
    let load_model = generator.random.chance(70);
    let flags =
        registers::START | if load_model { registers::START_LOAD_MODEL } else { 0 } | registers::START_EMIT_MODEL;
    grid.control_write(registers::CONTROL, flags);
    let stalls = if seed.is_multiple_of(3) { Stalls::none() } else { Stalls::seeded(seed, 30, 60) };
    let mut host = Host::new(stalls);
    let beats = if load_model { programs.model_beats } else { 0 } + steps * programs.step_beats;
    for _ in 0..beats {
        host.send((0..machine.stream_words()).map(|_| generator.random.word(machine.word())).collect());
    }
    let words = steps * programs.step_words + programs.model_words;
    let limit = 20_000 + 10 * (beats + words) + steps * programs.step_length;
    let end = host.exchange(grid, words as usize, limit).and_then(|()| host.finish(grid, limit));
    assert!(grid.mismatch().is_none(), "{machine}, seed {seed}: {}", grid.mismatch().expect("just seen"));
    end.unwrap_or_else(|stuck| panic!("{machine}, seed {seed}: {stuck}"));
    for register in
        [registers::CYCLES_LOW, registers::CYCLES_HIGH, registers::CONTROL, registers::STEPS, registers::GRID]
    {
        grid.control_read(register);
    }
    assert!(grid.mismatch().is_none(), "{machine}, seed {seed}: {}", grid.mismatch().expect("just seen"));
}

fn check(spec: MachineSpec, seeds: std::ops::Range<u64>) {
    let machine = Machine::try_from(spec).expect("a valid grid");
    check_rtl(&machine, &hdl::elaborate(&machine), seeds);
}

fn check_rtl(machine: &Machine, rtl: &Rtl, seeds: std::ops::Range<u64>) {
    let library = Library::build(rtl, &Options::default()).expect("the grid compiles");
    for seed in seeds {
        compare(machine, GridDevice::new(&library, machine), seed);
    }
}

/// Three runs; pads keep what the run before left.
fn compare(machine: &Machine, hardware: impl Grid, seed: u64) {
    let mut grid = Lockstep::new(Array::new(machine), hardware);
    let mut generator = Generator { machine, random: Random(ChaCha8Rng::seed_from_u64(seed)) };
    generator.tables(&mut grid);
    generator.fill(&mut grid);
    for _ in 0..3 {
        run(&mut grid, machine, &mut generator, seed);
    }
}

fn grid(pus: u32, pes_per_pu: u32, word: u32) -> MachineSpec {
    MachineSpec {
        pus: Some(pus),
        pes_per_pu: Some(pes_per_pu),
        word: Some(word),
        model_depth: Some(16),
        data_depth: Some(8),
        temporary_depth: Some(8),
        program_depth: Some(16),
        table_entries: Some(64),
        output_fifo: Some(8),
        divider: Some(true),
        ..MachineSpec::default()
    }
}

/// A grid that also takes the largest or smallest.
fn comparing(spec: &MachineSpec) -> MachineSpec {
    MachineSpec { extremes: Some(true), ..spec.clone() }
}

#[test]
fn one_pe() {
    check(comparing(&MachineSpec { accumulator: Some(96), gradient_depth: Some(2), ..grid(1, 1, 8) }), 0..200);
}

#[test]
fn one_row_of_wide_words() {
    check(grid(1, 2, 24), 0..200);
}

#[test]
fn two_rows() {
    check(grid(2, 4, 16), 0..200);
}

#[test]
fn odd_numbers() {
    check(comparing(&MachineSpec { gradient_depth: Some(8), ..grid(3, 5, 16) }), 0..200);
}

#[test]
fn widest_words() {
    check(comparing(&MachineSpec { stream_words: Some(6), ..grid(2, 3, 32) }), 0..200);
}

#[test]
fn no_functions_and_smallest_memories() {
    let spec = MachineSpec {
        table_entries: Some(0),
        divider: None,
        model_depth: Some(2),
        data_depth: Some(2),
        temporary_depth: Some(2),
        output_fifo: Some(4),
        accumulator: Some(18),
        ..grid(4, 1, 9)
    };
    check(spec, 0..200);
}

/// Shifters that do a few amounts only.
fn few_amounts() -> [MachineSpec; 3] {
    let few = |spec: MachineSpec, alignments: &[u32], shifts: &[u32], root_shifts: &[u32]| MachineSpec {
        alignments: Amounts::of(alignments.iter().copied()),
        shifts: Amounts::of(shifts.iter().copied()),
        root_shifts: Amounts::of(root_shifts.iter().copied()),
        ..spec
    };
    [
        few(
            MachineSpec { accumulator: Some(40), gradient_depth: Some(4), ..grid(2, 4, 16) },
            &[0, 5, 15, 33],
            &[0, 3, 16, 30],
            &[14, 16],
        ),
        few(grid(1, 2, 9), &[8], &[7], &[9]),
        few(grid(1, 3, 24), &[0, 23, 63], &[0, 1, 12, 23, 24, 40, 46, 63], &[0, 1, 2, 30, 50]),
    ]
}

#[test]
fn a_few_shift_amounts() {
    for spec in few_amounts() {
        check(spec, 0..100);
    }
}

/// The same sums from a multiplier block that is named, by a model of what its manual says; then with `right` made `wrong`.
fn check_cells(leaves: Leaves, cell: &str, model: &str, (right, wrong): (&str, &str)) {
    let machine = Machine::try_from(few_amounts()[0].clone()).expect("a valid grid");
    let mut rtl = hdl::elaborate_with(&machine, leaves);
    assert!(rtl.verilog.contains(cell));
    rtl.verilog += model;
    check_rtl(&machine, &rtl, 0..100);
    assert!(rtl.verilog.contains(right), "the text has changed");
    rtl.verilog = rtl.verilog.replace(right, wrong);
    let found = std::panic::catch_unwind(|| check_rtl(&machine, &rtl, 0..100));
    assert!(found.is_err(), "PEs outside the mask added something and nobody noticed");
}

#[test]
fn cells_of_ultrascale() {
    let model = include_str!("lockstep/dsp48e2.v");
    check_cells(Leaves::UltraScalePlus, "DSP48E2", model, (".RSTA(~admitted)", ".RSTA(1'b0)"));
}

/// The model is the one that netlists are simulated with.
#[test]
fn cells_of_ecp5() {
    let model = include_str!("../../fpga/src/cells/ecp5.v");
    check_cells(Leaves::Ecp5, "MULT18X18D", model, (".RST0(~admitted)", ".RST0(1'b0)"));
}

/// The Rust side of every block, which rust-hdl's simulator runs.
#[test]
fn blocks_simulate_as_their_text_does() {
    let [.., few] = few_amounts();
    let tiled = MachineSpec { gradient_depth: Some(4), ..grid(2, 3, 16) };
    for (spec, seeds) in [(grid(1, 2, 9), 0..6), (comparing(&tiled), 0..5), (few, 0..2)] {
        let machine = Machine::try_from(spec).expect("a valid grid");
        for seed in seeds {
            compare(&machine, Modelled::new(&machine), seed);
        }
    }
}

/// A reset in mid-run, then a run that depends on nothing from before it.
#[test]
fn reset_in_the_middle_of_a_run() {
    let machine = MachineSpec { gradient_depth: Some(4), ..grid(2, 4, 16) };
    let machine = Machine::try_from(machine).expect("a valid grid");
    let library = Library::build(&hdl::elaborate(&machine), &Options::default()).expect("the grid compiles");
    for seed in 0..20 {
        let mut device = GridDevice::new(&library, &machine);
        let mut generator = Generator { machine: &machine, random: Random(ChaCha8Rng::seed_from_u64(seed)) };
        // Like a run of `compare`, broken off somewhere.
        let programs = generator.programs();
        write_program(&mut device, &machine, Region::Alu, &programs.alu);
        write_program(&mut device, &machine, Region::Load, &programs.load);
        device.control_write(registers::STEPS, 3);
        device.control_write(registers::TILES, 2);
        for &(register, value) in &programs.entries {
            device.control_write(register, value);
        }
        device.control_write(registers::CONTROL, registers::START | registers::START_LOAD_MODEL);
        let beat = vec![1; machine.stream_words() as usize];
        for _ in 0..generator.random.range(1, 200) {
            device.cycle(Some(&beat), generator.random.chance(50));
        }
        device.reset();

        let load = generator.load_all(Pad::Model);
        let dump = AluInstruction { end: true, ..generator.dump(Pad::Model) };
        let mut grid = Lockstep::new(Array::new(&machine), device);
        for _ in 0..8 {
            assert!(!grid.cycle(Some(&beat), true).input_taken, "seed {seed}: takes input before it is told to");
        }
        write_program(&mut grid, &machine, Region::Load, &[load]);
        write_program(&mut grid, &machine, Region::Alu, &[dump]);
        grid.control_write(registers::ENTRY_LOAD_MODEL, registers::ENTRY_ENABLE);
        grid.control_write(registers::ENTRY_EMIT_MODEL, registers::ENTRY_ENABLE);
        let flags = registers::START | registers::START_LOAD_MODEL | registers::START_EMIT_MODEL;
        grid.control_write(registers::CONTROL, flags);
        let mut host = Host::new(Stalls::none());
        for _ in 0..beats(&load.counts) {
            host.send((0..machine.stream_words()).map(|_| generator.random.word(16)).collect());
        }
        let words = beats(&dump.counts) as usize;
        let end = host.exchange(&mut grid, words, 10_000).and_then(|()| host.finish(&mut grid, 10_000));
        assert!(grid.mismatch().is_none(), "seed {seed}: {}", grid.mismatch().expect("just seen"));
        end.unwrap_or_else(|stuck| panic!("seed {seed}: {stuck}"));
    }
}

#[test]
fn generated_text_has_no_warnings() {
    let sizes = [(1, 1, 8), (1, 2, 24), (3, 5, 16), (2, 3, 32), (8, 8, 16), (16, 32, 16)];
    let specs = sizes.map(|(pus, pes_per_pu, word)| MachineSpec {
        pus: Some(pus),
        pes_per_pu: Some(pes_per_pu),
        word: Some(word),
        ..MachineSpec::default()
    });
    let smallest = MachineSpec { table_entries: Some(0), divider: None, program_depth: Some(4), ..grid(1, 1, 8) };
    let tiled = MachineSpec { gradient_depth: Some(16), ..grid(2, 3, 24) };
    let dividing = [grid(1, 1, 8), comparing(&tiled), comparing(&grid(1, 1, 9)), comparing(&grid(5, 1, 16))];
    for spec in specs.into_iter().chain([smallest]).chain(dividing).chain(few_amounts()) {
        let machine = Machine::try_from(spec).expect("a valid grid");
        let rtl = hdl::elaborate(&machine);
        lint(&rtl, hdl::lint_waivers(), &Toolbox::default()).unwrap_or_else(|error| panic!("{machine}: {error}"));
    }
}

#[test]
fn a_fault_in_the_hardware_is_found() {
    let machine = Machine::try_from(grid(2, 4, 16)).expect("a valid grid");
    let mut rtl = hdl::elaborate(&machine);
    let (right, wrong) = ("shifted_half & (shifted_sticky | shifted_floor[0])", "shifted_half");
    assert!(rtl.verilog.contains(right), "the text has changed");
    rtl.verilog = rtl.verilog.replace(right, wrong);
    let found = std::panic::catch_unwind(|| check_rtl(&machine, &rtl, 0..200));
    assert!(found.is_err(), "ties were rounded up and nobody noticed");
}
