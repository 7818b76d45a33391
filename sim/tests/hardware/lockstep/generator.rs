//! Random programs, within what docs/machine.md allows: results go to `model` and `t0`, the bus writes `t1`, and what
//! reaches a unit in one cycle comes from one instruction. At the end of each run every word of every pad is emitted.

use arch::amounts::Amounts;
use arch::division::{Rounding, most_places};
use arch::isa::{
    Address, AluInstruction, Below, Combine, Factor, Finish, Instruction, LEVELS, LoadInstruction, Mask,
    MoveInstruction, NO_LEVEL, Pad, RootFunction, RootInstruction, ScalarInstruction, Segments, Start, TableUse, Tiles,
    UNLIMITED, gradient_bits, innermost, pad_bits,
};
use arch::machine::Machine;
use arch::registers::{self, Region};
use arch::timing::{self, Unit};
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::Rng;
use sim::grid::{Grid, Host, Stalls};

/// What the roots of a program do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Through {
    Rounding,
    Tables,
    Dividers,
}

pub(crate) struct Random(pub(crate) ChaCha8Rng);

impl Random {
    pub(crate) fn below(&mut self, n: u32) -> u32 {
        self.0.next_u32() % n
    }

    pub(crate) fn range(&mut self, low: u32, high: u32) -> u32 {
        low + self.below(high - low + 1)
    }

    pub(crate) fn chance(&mut self, percent: u32) -> bool {
        self.below(100) < percent
    }

    /// A shift amount of a machine; where it does any, mostly between `low` and `high`.
    pub(crate) fn amount(&mut self, amounts: Amounts, low: u32, high: u32) -> u32 {
        match amounts.listed() {
            Some(list) => list[self.below(list.len() as u32) as usize],
            None if self.chance(80) => self.range(low, high).min(63),
            None => self.below(64),
        }
    }

    /// A word of `width` bits, often an extreme one.
    pub(crate) fn word(&mut self, width: u32) -> i64 {
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
pub(crate) struct Programs {
    pub(crate) alu: Vec<AluInstruction>,
    pub(crate) root: Vec<RootInstruction>,
    pub(crate) moves: Vec<MoveInstruction>,
    pub(crate) load: Vec<LoadInstruction>,
    pub(crate) scalar: Vec<ScalarInstruction>,
    pub(crate) entries: Vec<(u32, u32)>,
    pub(crate) model_beats: u64,
    pub(crate) step_beats: u64,
    pub(crate) step_words: u64,
    pub(crate) model_words: u64,
    pub(crate) step_length: u64,
    pub(crate) tile_end: u32,
}

pub(crate) struct Generator<'a> {
    pub(crate) machine: &'a Machine,
    pub(crate) random: Random,
    /// Innermost loops are long, and rows follow each other.
    pub(crate) long: bool,
}

pub(crate) fn beats(counts: &[u32; LEVELS]) -> u64 {
    counts.iter().map(|&n| u64::from(n)).product()
}

/// When the first sum of an instruction that comes first is complete, how many there are, and how far they are apart.
pub(crate) fn sums(alu: &AluInstruction) -> (u32, u32, u32) {
    let inner: u32 = alu.counts[LEVELS - alu.reduce as usize..].iter().product();
    (alu.delay + (inner - 1) * alu.interval, beats(&alu.counts) as u32 / inner, inner * alu.interval)
}

impl Generator<'_> {
    pub(crate) fn counts(&mut self) -> [u32; LEVELS] {
        let percent = if self.long { 15 } else { 35 };
        let more = |level| level >= LEVELS - self.machine.loops() as usize && self.random.chance(percent);
        let mut counts = std::array::from_fn(more).map(|more| if more { self.random.range(1, 4) } else { 1 });
        if self.long && self.random.chance(50) {
            counts = innermost(1, [1]);
        }
        counts
    }

    /// Counts of an instruction whose innermost loop may be long.
    fn long_counts(&mut self) -> [u32; LEVELS] {
        let mut counts = self.counts();
        if self.long && self.random.chance(80) {
            counts[LEVELS - 1] = self.random.range(5, 24);
        }
        counts
    }

    pub(crate) fn address(&mut self, pad: Pad, counts: &[u32; LEVELS]) -> Address {
        let most = if self.long { 1 } else { 3 };
        let stride = |count: u32, random: &mut Random| {
            if count == 1 { 0 } else { random.below(2 * most + 1) as i32 - most as i32 }
        };
        let strides = counts.map(|count| stride(count, &mut self.random));
        let depth = pad.depth(self.machine);
        if depth.is_power_of_two() {
            return Address { base: self.random.below(depth), strides };
        }
        // What lies beyond such a pad is not there.
        let ends = || strides.iter().zip(counts).map(|(&stride, &count)| stride * (count as i32 - 1));
        let (low, high): (i32, i32) = (ends().map(|end| end.min(0)).sum(), ends().map(|end| end.max(0)).sum());
        match (high - low < depth as i32).then(|| self.random.below(depth - (high - low) as u32)) {
            Some(base) => Address { base: base + low.unsigned_abs(), strides },
            None => Address { base: self.random.below(depth), strides: [0; LEVELS] },
        }
    }

    pub(crate) fn mask(&mut self) -> Mask {
        let (rows, columns) = (self.machine.pus(), self.machine.pes_per_pu());
        if self.random.chance(if self.long { 70 } else { 30 }) {
            return Mask::all(rows, columns);
        }
        let (random, loops) = (&mut self.random, self.machine.loops());
        let level = |random: &mut Random, none: u32| {
            if random.chance(none) { NO_LEVEL } else { NO_LEVEL - random.range(1, loops) as u8 }
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
    pub(crate) fn tiles(&mut self, counts: &[u32; LEVELS]) -> Tiles {
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

    pub(crate) fn alu(&mut self) -> AluInstruction {
        let counts = self.long_counts();
        let word = self.machine.word();
        let pad = |random: &mut Random| Pad::ALL[random.below(Pad::COUNT as u32) as usize];
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
            reduce: random.below(self.machine.loops() + 1) as u8,
            reads,
            a: pad(random),
            b: if random.chance(25) { Factor::Immediate } else { Factor::Pad(pad(random)) },
            square: self.machine.squares() && random.chance(30),
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
            finish: match random.below(100) {
                0..15 => Finish::Negative,
                15..50 if self.machine.rectifiers() => Finish::Positive(limit(self.machine, random)),
                _ => Finish::Round,
            },
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
        if self.random.chance(10) { self.at_the_limit(&instruction) } else { instruction }
    }

    /// Makes sums between the largest word and the next: rounding must not carry them over. They come about where `a` is an
    /// extreme word.
    pub(crate) fn at_the_limit(&self, instruction: &AluInstruction) -> AluInstruction {
        let (word, machine) = (self.machine.word(), self.machine);
        let (largest, smallest) = ((1 << (word - 1)) - 1, -(1 << (word - 1)));
        // largest * 2^align + a * b, in units of 2^shift: largest + largest / 2^(word - 1), or largest / 2 + 2^(word - 2).
        let ways = [(word - 1, word - 1, 1), (word - 1, word, smallest)];
        let way = ways
            .into_iter()
            .find(|&(align, shift, _)| machine.alignments().contains(align) && machine.shifts().contains(shift));
        let Some((align, shift, immediate_b)) = way else { return *instruction };
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
            ..*instruction
        }
    }

    pub(crate) fn root(&mut self, through: Through) -> RootInstruction {
        let (word, entries) = (self.machine.word(), self.machine.table_entries());
        let most = if self.long { 2 } else { 40 };
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
            count: random.range(1, most),
            unit: if random.chance(50) { Unit::Row } else { Unit::Global },
            shift: random.amount(self.machine.root_shifts(), word / 2, 2 * word + 2),
            positive: (self.machine.rectifiers() && random.chance(40)).then(|| limit(self.machine, random)),
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

    /// Whether the scalar unit takes a word, too.
    pub(crate) fn for_scalar(&mut self) -> bool {
        self.machine.scalar() && self.random.chance(50)
    }

    pub(crate) fn scalar(&mut self) -> ScalarInstruction {
        let send = self.random.chance(60);
        let long = std::mem::take(&mut self.long);
        let mut alu = self.alu();
        self.long = long;
        alu.reads[Pad::Model as usize] = Address::default();
        alu.write = alu.write.filter(|pad| *pad != Pad::Model);
        alu.destination.base %= 1 << pad_bits(self.machine, Pad::T0);
        ScalarInstruction::of(alu, send)
    }

    /// Results that the scalar unit sends, and the move that takes every one of them.
    pub(crate) fn sent(&mut self) -> (ScalarInstruction, MoveInstruction) {
        let (mut scalar, mut moves) = (self.scalar(), self.moves());
        scalar.send = true;
        let alu = &scalar.alu;
        let (first, sums, interval) = sums(alu);
        moves.delay = first + timing::SCALAR_TO_MOVE as u32;
        (moves.counts, moves.interval, moves.source) = (innermost(1, [sums]), interval, Unit::Global);
        moves.destination.strides = innermost(0, [i32::from(sums > 1)]);
        (scalar, moves)
    }

    pub(crate) fn moves(&mut self) -> MoveInstruction {
        let counts = self.counts();
        MoveInstruction {
            delay: self.random.below(12),
            interval: if self.random.chance(70) { 1 } else { self.random.range(1, 4) },
            counts,
            source: self.source(),
            pad: Pad::T1,
            destination: self.address(Pad::T1, &counts),
            mask: self.mask(),
            late: gradient_bits(self.machine) > 0 && self.random.chance(50),
            scalar: self.for_scalar(),
            end: false,
        }
    }

    fn source(&mut self) -> Unit {
        let rows = self.random.chance(50);
        match rows {
            true if self.machine.column_buses() && self.random.chance(50) => Unit::Across,
            true => Unit::Row,
            false => Unit::Global,
        }
    }

    pub(crate) fn load(&mut self, pad: Pad) -> LoadInstruction {
        let counts = self.counts();
        let group = self.random.chance(40);
        LoadInstruction {
            counts,
            pad,
            gradient: false,
            destination: self.address(pad, &counts),
            scatter: self.random.chance(70),
            pick_group: if group { NO_LEVEL - self.random.range(1, self.machine.loops()) as u8 } else { NO_LEVEL },
            mask: self.mask(),
            scalar: self.for_scalar(),
            end: false,
        }
    }

    /// Emits every word of a pad, one PE after the other; where a beat has several lanes, also all rows at once, or all PEs. Where it may leave in several
    /// transfers, it leaves in as many as there are, or in fewer.
    pub(crate) fn dump(&mut self, pad: Pad) -> AluInstruction {
        let depth = pad.depth(self.machine);
        let address = Address { base: 0, strides: innermost(0, [0, 0, 1, 0]) };
        let at_once = self.machine.lanes() > 1 && self.random.chance(70);
        let (rows, pick_row) = if at_once { (1, NO_LEVEL) } else { (self.machine.pus(), NO_LEVEL - 4) };
        let all = at_once && self.machine.lane_for_each();
        let (columns, pick_column) = if all { (1, NO_LEVEL) } else { (self.machine.pes_per_pu(), NO_LEVEL - 3) };
        let most = self.machine.most_transfers();
        let transfers = if most > 1 && self.random.chance(40) { self.random.range(1, most) } else { most };
        let dump = AluInstruction {
            delay: self.random.below(4),
            interval: self.random.range(1, 2),
            counts: innermost(1, [rows, columns, depth, 1]),
            reads: [address; Pad::COUNT],
            a: pad,
            immediate_b: 1,
            tree: true,
            emit: true,
            mask: Mask { pick_row, pick_column, ..Mask::all(self.machine.pus(), self.machine.pes_per_pu()) },
            ..AluInstruction::plain(self.machine)
        };
        dump.with_transfers(transfers, self.machine)
    }

    /// Sums, and the root and move instructions that catch every one of them in flight.
    pub(crate) fn chain(&mut self, through: Through) -> (AluInstruction, RootInstruction, MoveInstruction) {
        let (mut alu, mut root, mut moves) = (self.alu(), self.root(through), self.moves());
        alu.tree = true;
        if through == Through::Dividers {
            alu.interval = root.interval;
            alu.delay += root.interval;
            alu.counts = alu.counts.map(|count| count.min(2));
        }
        let (first, sums, interval) = sums(&alu);
        root.delay = first + timing::alu_to_root(self.machine, root.unit) as u32;
        (root.count, root.interval) = (sums, interval);
        moves.delay = root.delay + timing::root_result(self.machine, root.unit, root.function.as_ref()) as u32;
        (moves.counts, moves.interval, moves.source) = (innermost(1, [sums]), root.interval, root.unit);
        moves.destination.strides = innermost(0, [i32::from(sums > 1)]);
        moves.mask.row_level = NO_LEVEL;
        moves.mask.column_level = NO_LEVEL;
        (alu, root, moves)
    }

    #[expect(clippy::too_many_lines, reason = "streams of one program: the random numbers are drawn in this order")]
    pub(crate) fn programs(&mut self) -> Programs {
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
        let mut scalar = Vec::new();
        if self.machine.scalar() {
            scalar = (0..self.random.range(1, 4)).map(|_| self.scalar()).collect();
            if self.random.chance(60) {
                (scalar[0], moves[0]) = self.sent();
            }
            scalar.last_mut().expect("there is one at least").alu.end = true;
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
            scalar.iter().map(|i| step_time(i.alu.delay, beats(&i.alu.counts), i.alu.interval)).sum(),
        ];
        let step_length = times.into_iter().max().unwrap_or(0) + 1 + u64::from(self.random.below(30));

        // A quotient that is still divided when the next tile begins one is not defined.
        let ends = through != Through::Dividers && step_length > 4 && self.random.chance(60);
        let tile_end = if ends { self.random.range(3, step_length as u32 - 1) } else { 0 };

        let emit_step = alu.len() as u32;
        alu.push(AluInstruction { end: true, ..self.dump(Pad::T1) });
        let emit_model = alu.len() as u32;
        alu.extend(Pad::ALL.map(|pad| self.dump(pad)));
        alu.last_mut().expect("just filled").end = true;
        let enabled = |entry: u32| registers::ENTRY_ENABLE | (entry + first(self.machine));
        let mut entries = vec![
            (registers::ENTRY_STEP_ALU, enabled(0)),
            (registers::ENTRY_STEP_ROOT, enabled(0)),
            (registers::ENTRY_STEP_MOVE, enabled(0)),
            (registers::ENTRY_STEP_LOAD, enabled(step_load as u32)),
            (registers::ENTRY_LOAD_MODEL, enabled(0)),
            (registers::ENTRY_EMIT_MODEL, enabled(emit_model)),
        ];
        if self.machine.scalar() {
            entries.push((registers::ENTRY_STEP_SCALAR, enabled(0)));
        }
        let emits = self.random.chance(40);
        entries.push((registers::ENTRY_EMIT_STEP, if emits { enabled(emit_step) } else { 0 }));
        let words =
            |i: &AluInstruction| beats(&i.counts) * u64::from(i.transfers(self.machine) * self.machine.output_words());
        Programs {
            model_beats: load[..step_load].iter().map(|i| beats(&i.counts)).sum(),
            step_beats: load[step_load..].iter().map(|i| beats(&i.counts)).sum(),
            step_words: if emits { words(&alu[emit_step as usize]) } else { 0 },
            model_words: alu[emit_model as usize..].iter().map(words).sum(),
            alu,
            root,
            moves,
            load,
            scalar,
            entries,
            step_length,
            tile_end,
        }
    }

    /// Loads every word of a pad, scattered.
    pub(crate) fn load_all(&self, pad: Pad) -> LoadInstruction {
        let groups = self.machine.pes() / self.machine.stream_words();
        LoadInstruction {
            counts: innermost(1, [1, pad.depth(self.machine), groups, 1]),
            pad,
            gradient: false,
            destination: Address { base: 0, strides: innermost(0, [0, 1, 0, 0]) },
            scatter: true,
            pick_group: NO_LEVEL - 2,
            mask: Mask::all(self.machine.pus(), self.machine.pes_per_pu()),
            scalar: self.machine.scalar(),
            end: true,
        }
    }

    /// A run of two steps that do nothing, to load random words everywhere.
    pub(crate) fn fill(&mut self, grid: &mut impl Grid) {
        let machine = self.machine;
        let load = [Pad::Model, Pad::Data].map(|pad| self.load_all(pad));
        write_program(grid, machine, Region::Load, &load);
        grid.control_write(registers::STEPS, 2);
        grid.control_write(registers::STEP_LENGTH, 1);
        let entry = registers::ENTRY_ENABLE | first(machine);
        grid.control_write(registers::ENTRY_LOAD_MODEL, entry);
        grid.control_write(registers::ENTRY_STEP_LOAD, entry + 1);
        grid.control_write(registers::CONTROL, registers::START | registers::START_LOAD_MODEL);
        let mut host = Host::new(Stalls::none());
        for _ in 0..beats(&load[0].counts) + 2 * beats(&load[1].counts) {
            host.send((0..machine.stream_words()).map(|_| self.random.word(machine.word())).collect());
        }
        host.finish(grid, 100_000).expect("a load ends");
    }

    /// Random function tables, which both grids keep.
    pub(crate) fn tables(&mut self, grid: &mut impl Grid) {
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

impl Programs {
    pub(crate) fn write(&self, grid: &mut impl Grid, machine: &Machine) {
        write_program(grid, machine, Region::Alu, &self.alu);
        write_program(grid, machine, Region::Root, &self.root);
        write_program(grid, machine, Region::Move, &self.moves);
        write_program(grid, machine, Region::Load, &self.load);
        write_program(grid, machine, Region::Scalar, &self.scalar);
    }
}

pub(crate) fn write_program<I: Instruction>(grid: &mut impl Grid, machine: &Machine, region: Region, program: &[I]) {
    for (number, instruction) in program.iter().enumerate() {
        let chunks = instruction.encode(machine).expect("the instruction fits");
        for (chunk, bits) in chunks.into_iter().enumerate() {
            let address = region.instruction(first(machine) + number as u32) + chunk as u32;
            grid.control_write(address, bits);
        }
    }
}

/// Where programs begin: long ones pass from one region of the control port to the other.
pub(crate) fn first(machine: &Machine) -> u32 {
    if machine.program_depth() > registers::REGION_INSTRUCTIONS { registers::REGION_INSTRUCTIONS - 2 } else { 0 }
}

/// What positive results are at most.
fn limit(machine: &Machine, random: &mut Random) -> i32 {
    let largest = (1u32 << (machine.word() - 1)) - 1;
    if machine.limits() && random.chance(80) {
        (random.below(largest) >> random.below(machine.word())) as i32
    } else {
        UNLIMITED
    }
}
