//! Select: operations to jobs.
//!
//!     h += w[i] * x[i]    i on the grid      =>    alu  i/P: w * x ─▶ tree      root  round      move  h, all PEs
//!     g[i] = d * x[i]                        =>    alu  i/P: d * x ─▶ pad (last word masked)

use super::crossing::parts;
use super::job::{Access, Copies, Counts, Datapath, Job, Sink, Source, Walk};
use super::lanes::{Bound, Lanes};
use super::{Program, Storage, StorageId};
use crate::fixed::{self, Kind, Operand, Operation};
use crate::placed::cost::{Route, local_count, route};
use crate::placed::legal::{constants, legal};
use crate::placed::reshard::{Reshard, Turn, crossing, last_columns};
use crate::placed::tile::{self, When};
use crate::placed::{self, Axis, padding};
use crate::tensor::{Affine, IterId, TensorId};
use arch::division::Rounding;
use arch::isa::{Combine, Finish, RootFunction};
use arch::machine::Machine;
use arch::timing::{self, Unit};

/// One operation while it becomes jobs.
struct Context<'a> {
    machine: &'a Machine,
    storages: &'a [Storage],
    operation: &'a Operation,
    axes: &'a [Axis],
    /// The loop of each iterator.
    loop_of: Vec<usize>,
    loops: Vec<u32>,
    column_loop: Option<usize>,
    /// Loops over the lanes of what goes from the rows to the columns, and of what goes back.
    swap_loops: Option<[usize; 2]>,
    reshard: Option<Reshard>,
}

impl Context<'_> {
    fn lanes_of(&self, iterator: IterId) -> i64 {
        i64::from(self.axes[iterator.0].lanes(self.machine))
    }

    /// Where the result goes; a reshard's part of it is that of its walk.
    fn write_access(&self) -> Access {
        let (out, index) = (self.operation.out, &self.operation.out_index);
        let Some(reshard) = self.reshard.filter(|reshard| !matches!(reshard.turn, Turn::Across | Turn::Swap(_))) else {
            return self.access(out, index);
        };
        let mut index = index.clone();
        index[reshard.dimension] = Affine::constant(0);
        let mut access = self.access(out, &index);
        let stride = self.storages[out.0].strides[reshard.dimension];
        if let (Turn::Rows, Some(column)) = (reshard.turn, self.column_loop) {
            access.strides[self.loop_of[reshard.iterator]] += stride * i64::from(self.machine.pes_per_pu());
            access.strides[column] += stride;
        }
        access
    }

    /// How the results change over to where they go.
    fn walk(&self) -> Option<Walk> {
        let reshard = self.reshard?;
        let level = self.loop_of[reshard.iterator];
        let range = &self.operation.iterators[reshard.iterator];
        let rows = i64::from(self.machine.pus());
        let stride = |dimension: usize| self.storages[self.operation.out.0].strides[dimension];
        Some(match reshard.turn {
            Turn::Across | Turn::Swap(_) => return None,
            Turn::Tall => Walk::Along { level, axis: Axis::Column, stride: stride(reshard.dimension) },
            Turn::Spread(axis) => Walk::Along { level, axis, stride: stride(reshard.dimension) },
            Turn::Inside | Turn::Lanes(_) => Walk::Inside {
                level,
                axis: self.axes[reshard.iterator],
                to: reshard.turn.one_by_one().unwrap_or(Axis::Local),
                stride: stride(reshard.dimension),
                low: range.low as u32,
                high: range.high as u32,
            },
            Turn::Rows => Walk::ToRows {
                waves: level,
                columns: self.column_loop.expect("columns leave one after the other"),
                words: local_count(range, Axis::Row, self.machine) as u32,
                low: range.low.rem_euclid(rows) as u32,
                high: (range.high - 1).rem_euclid(rows) as u32 + 1,
            },
        })
    }

    fn access(&self, tensor: TensorId, index: &[Affine]) -> Access {
        let storage = &self.storages[tensor.0];
        let mut access = Access { storage: StorageId(tensor.0), offset: 0, strides: vec![0; self.loops.len()] };
        for ((affine, axis), stride) in index.iter().zip(&storage.axes).zip(&storage.strides) {
            let lanes = i64::from(axis.lanes(self.machine));
            if *axis == Axis::Local {
                access.offset += stride * affine.offset;
                for &(iterator, coefficient) in &affine.terms {
                    debug_assert_eq!(self.axes[iterator.0], Axis::Local, "a local index comes from local iterators");
                    access.offset += stride * coefficient * self.operation.iterators[iterator.0].low;
                    access.strides[self.loop_of[iterator.0]] += stride * coefficient;
                }
            } else if let Some(iterator) = affine.as_iterator() {
                let across = self.axes[iterator.0] != *axis && (self.goes_across(iterator.0) || self.swaps(iterator.0));
                debug_assert!(across || self.axes[iterator.0] == *axis, "index and iterator are placed together");
                if across && crossing(self.machine).is_some() {
                    // Each part has words of its own ([`parts`]).
                    continue;
                }
                access.offset += stride * self.operation.iterators[iterator.0].low.div_euclid(lanes);
                access.strides[self.loop_of[iterator.0]] += stride;
            } else {
                let at = affine.as_constant().expect("a spread dimension has a plain index");
                access.offset += stride * at.div_euclid(lanes);
            }
        }
        access
    }

    /// Whether an iterator is on the rows, and what it counts of the result on the columns. There are as many of both.
    fn goes_across(&self, iterator: usize) -> bool {
        self.reshard.and_then(|reshard| reshard.across()) == Some(iterator)
    }

    /// Whether an iterator is on the rows or the columns, and what it counts of the result on the others.
    fn swaps(&self, iterator: usize) -> bool {
        let turn = self.reshard.map(|reshard| (reshard.iterator, reshard.turn));
        turn.is_some_and(|(own, turn)| matches!(turn, Turn::Swap(_)) && own == iterator || turn == Turn::Swap(iterator))
    }

    /// A job whose results go from the rows to the columns, as one for each part of them.
    fn sent_to_columns(&self, job: Job) -> Vec<Job> {
        let across = self.reshard.and_then(|reshard| reshard.across());
        let Some((crossing, iterator)) = crossing(self.machine).zip(across) else { return vec![job] };
        let dimension = self.operation.out_index.iter().position(|form| form.as_iterator() == Some(IterId(iterator)));
        let stride = dimension.map_or(0, |dimension| self.storages[self.operation.out.0].strides[dimension]);
        let range = &self.operation.iterators[iterator];
        parts(&job, self.loop_of[iterator], (range.low as u32, range.high as u32), stride, crossing)
    }

    fn source(&self, operand: &Operand) -> Source {
        match operand {
            Operand::Constant { word, .. } => Source::Word(*word),
            Operand::Read { tensor, index } => Source::Access(self.access(*tensor, index)),
        }
    }

    /// The lanes of an iterator that take part.
    fn bound(&self, iterator: usize) -> Option<Bound> {
        let axis = self.axes[iterator];
        let lanes = self.lanes_of(IterId(iterator));
        let it = &self.operation.iterators[iterator];
        let (low, high) = (it.low.rem_euclid(lanes) as u32, (it.high - 1).rem_euclid(lanes) as u32 + 1);
        let level = Some(self.loop_of[iterator]);
        if axis == Axis::Tall {
            // Whole columns; where that is not enough it does not matter, or the placement is not chosen.
            let high = last_columns(it.high, self.machine);
            return (high < self.machine.pes_per_pu()).then_some(Bound { axis: Axis::Column, low: 0, high, level });
        }
        let all = low == 0 && i64::from(high) == lanes;
        (axis != Axis::Local && !all).then_some(Bound { axis, low, high, level })
    }

    /// Zeros behind the end of a result that changes over from rows to tall ([`padding`]).
    fn padding(&self, program: &fixed::Program) -> Option<Job> {
        let reshard = self.reshard?;
        let last = padding::last_before(program, self.operation, reshard, self.machine)?;
        let mut index = self.operation.out_index.clone();
        index[reshard.dimension] = Affine::constant(last);
        let free = self.operation.free;
        let mut loops = self.loops[..free].to_vec();
        loops[self.loop_of[reshard.iterator]] = 1;
        let mut write = self.access(self.operation.out, &index);
        write.strides.truncate(free);
        let rows = self.machine.pus();
        let lane = last.rem_euclid(i64::from(self.machine.pes())) as u32;
        let (row, column) = (lane % rows + 1, lane / rows);
        let one_column = Bound { axis: Axis::Column, low: column, high: column + 1, level: None };
        let bounds = vec![Bound { axis: Axis::Row, low: row, high: rows, level: None }, one_column];
        let name = &self.storages[self.operation.out.0].name;
        let lanes = Lanes { bounds, ..Lanes::default() };
        let (origin, what) = (self.operation.origin.clone(), format!("{name} padding"));
        let copy = Job::copy(origin, what, loops, write.clone(), Sink::Pad(write));
        Some(Job { a: None, b: Source::Word(0), c: Some(Source::Word(0)), lanes, ..copy })
    }

    /// Where results are written: bounds of the free iterators and constant indices of the result.
    fn write_lanes(&self) -> Lanes {
        if let Some([from_rows, from_columns]) = self.swap_loops {
            return Lanes { pick_row: Some(from_columns), pick_column: Some(from_rows), ..Lanes::default() };
        }
        let of_turn = |is: &dyn Fn(Turn) -> bool| Some(self.reshard.filter(|reshard| is(reshard.turn))?.iterator);
        let (to_rows, inside) = (of_turn(&|turn| turn == Turn::Rows), of_turn(&|turn| turn.one_by_one().is_some()));
        // Back on the rows, all columns take a result.
        let pick_column = self.column_loop.filter(|_| to_rows.is_none());
        let mut lanes = Lanes { pick_column, ..Lanes::default() };
        // Which lanes take what leaves one after the other is said by its walk.
        let in_parts = |i: usize| crossing(self.machine).is_some() && self.goes_across(i);
        let bounded = (0..self.operation.free).filter(|&i| to_rows != Some(i) && inside != Some(i) && !in_parts(i));
        let taken = |i: usize| {
            let bound = self.bound(i)?;
            Some(if self.goes_across(i) { Bound { axis: Axis::Column, ..bound } } else { bound })
        };
        lanes.bounds.extend(bounded.filter_map(taken));
        let axes = &self.storages[self.operation.out.0].axes;
        for (affine, &axis) in self.operation.out_index.iter().zip(axes) {
            if let (Some(at), Axis::Tall) = (affine.as_constant(), axis) {
                let (rows, at) = (self.machine.pus(), at.rem_euclid(i64::from(axis.lanes(self.machine))) as u32);
                for (axis, low) in [(Axis::Row, at % rows), (Axis::Column, at / rows)] {
                    lanes.bounds.push(Bound { axis, low, high: low + 1, level: None });
                }
            } else if let (Some(at), true) = (affine.as_constant(), axis != Axis::Local) {
                let low = at.rem_euclid(i64::from(axis.lanes(self.machine))) as u32;
                lanes.bounds.push(Bound { axis, low, high: low + 1, level: None });
            }
        }
        lanes
    }

    /// PEs that feed the tree: each value exactly once.
    fn tree_lanes(&self, unit: Unit) -> Lanes {
        if let Some([from_rows, from_columns]) = self.swap_loops {
            return Lanes { pick_row: Some(from_rows), pick_column: Some(from_columns), ..Lanes::default() };
        }
        let free = self.operation.free;
        let mut lanes = Lanes { pick_column: self.column_loop, ..Lanes::default() };
        lanes.bounds.extend((free..self.operation.iterators.len()).filter_map(|i| self.bound(i)));
        let summed = |axis| self.axes[free..].contains(&axis);
        // Copies of the same value beside each other: only the first counts.
        let over_all = summed(Axis::Grid) || summed(Axis::Tall);
        // What is carried comes from one lane after the other.
        let carried = self.reshard.filter(|reshard| reshard.turn.one_by_one().is_some());
        let from = |axis| carried.is_some_and(|reshard| [axis, Axis::Grid].contains(&self.axes[reshard.iterator]));
        if self.column_loop.is_none() && !summed(Axis::Column) && !over_all && !from(Axis::Column) {
            lanes.bounds.push(Bound { axis: Axis::Column, low: 0, high: 1, level: None });
        }
        if unit == Unit::Global && !summed(Axis::Row) && !over_all && !from(Axis::Row) {
            lanes.bounds.push(Bound { axis: Axis::Row, low: 0, high: 1, level: None });
        }
        lanes
    }
}

/// Turn a placed program into jobs. It is made legal first ([`legal()`]).
///
/// Where a step is a tile, each sum over the batch gets words of the gradient pad.
pub(crate) fn select(placed: &placed::Program, machine: &Machine) -> Program {
    let placed = legal(placed, machine);
    let program = &placed.fixed;
    let tensors = program.tensors.iter().zip(&placed.tensors).zip(&placed.pieces);
    let storages: Vec<Storage> =
        tensors.map(|((tensor, axes), piece)| Storage::new(tensor, axes, piece.as_ref(), machine)).collect();
    let tiles = if placed.tile.is_some() {
        tile::tiles(program).unwrap_or_else(|whole| panic!("{} in a program that has been cut", whole.why))
    } else {
        vec![When::Every; program.operations.len()]
    };
    let mut parked = 0;
    let mut jobs = Vec::new();
    for ((operation, axes), tile) in program.operations.iter().zip(&placed.iterators).zip(tiles) {
        if operation.iterators.iter().any(|i| i.high <= i.low) {
            continue;
        }
        let reshard = Reshard::of(operation, axes, &storages[operation.out.0].axes, machine)
            .expect("placements that cannot be are not tried");
        let route = route(operation, axes, reshard);
        let count = |i: usize| local_count(&operation.iterators[i], axes[i], machine) as u32;
        let mut loops: Vec<u32> = (0..operation.free).map(count).collect();
        let mut column_loop = None;
        if let Route::Tree { by_column: true, .. } = route {
            column_loop = Some(loops.len());
            loops.push(machine.pes_per_pu());
        }
        let mut swap_loops = None;
        if let Some(Reshard { iterator, turn: Turn::Swap(back), .. }) = reshard {
            swap_loops = Some([loops.len(), loops.len() + 1]);
            loops
                .extend([iterator, back].map(|i| operation.iterators[i].extent().min(u64::from(machine.pus())) as u32));
        }
        let inner = loops.len();
        loops.extend((operation.free..operation.iterators.len()).map(count));
        let loop_of = (0..operation.iterators.len())
            .map(|i| if i < operation.free { i } else { inner + i - operation.free })
            .collect();
        let context =
            Context { machine, storages: &storages, operation, axes, loop_of, loops, column_loop, swap_loops, reshard };
        let first = jobs.len();
        jobs.extend(Selection::of(&context, route, program).jobs());
        for job in &mut jobs[first..] {
            job.counts = match tile {
                When::Every => Counts::Every,
                When::Last => Counts::Last,
                When::Over => Counts::Over(parked_words(job, operation.out, &mut parked)),
            };
        }
        let counts = if tile == When::Every { Counts::Every } else { Counts::Last };
        jobs.extend(context.padding(program).map(|job| Job { counts, ..job }));
    }
    let fixed::Program { word, accumulator, tables, .. } = program.clone();
    Program { word, accumulator, tables, tile: placed.tile, storages, jobs }
}

/// Words of the gradient pad for the results of a job, one each; `used` words are taken.
fn parked_words(job: &Job, out: TensorId, used: &mut i64) -> Access {
    let mut strides = vec![0; job.loops.len()];
    let mut step = 1;
    for level in (0..job.loops.len() - job.reduce).rev() {
        strides[level] = step;
        step *= i64::from(job.loops[level]);
    }
    let offset = *used;
    *used += step;
    Access { storage: StorageId(out.0), offset, strides }
}

/// An operation on its way to jobs.
struct Selection<'a> {
    context: &'a Context<'a>,
    route: Route,
    program: &'a fixed::Program,
    /// A job over the operation's loops that writes its result: the rest is for its kind to say.
    base: Job,
}

impl<'a> Selection<'a> {
    fn of(context: &'a Context<'a>, route: Route, program: &'a fixed::Program) -> Selection<'a> {
        let operation = context.operation;
        let base = Job {
            origin: operation.origin.clone(),
            what: context.storages[operation.out.0].name.clone(),
            on: Datapath::Engines,
            copies: Copies::ENGINES,
            loops: context.loops.clone(),
            reduce: operation.iterators.len() - operation.free,
            interval: 1,
            a: None,
            b: Source::Word(0),
            square: false,
            c: None,
            combine: Combine::Add,
            align: 0,
            shift: 0,
            finish: Finish::Round,
            lanes: context.write_lanes(),
            counts: Counts::Every,
            sink: Sink::Pad(context.write_access()),
        };
        Selection { context, route, program, base }
    }

    fn jobs(&self) -> Vec<Job> {
        let operation = self.context.operation;
        if let Some(word) = constants::result(operation, self.program.word, &self.program.tables) {
            return vec![self.constant(word)];
        }
        match &operation.kind {
            Kind::MultiplyAdd { .. } => self.multiply_add(),
            Kind::Product { factor, shift, one } => self.product(factor, *shift, *one).to_vec(),
            Kind::Divide { dividend, divisor, places, rounding } => {
                vec![self.division(dividend, divisor, *places, *rounding)]
            }
            Kind::Function { table, input } => vec![self.function(*table, input)],
        }
    }

    fn through_tree(&self, job: Job, unit: Unit, shift: u32, function: Option<RootFunction>) -> Job {
        let context = self.context;
        let (write, lanes, walk) = (context.write_access(), context.write_lanes(), context.walk());
        Job { lanes: context.tree_lanes(unit), sink: Sink::Tree { unit, shift, function, write, lanes, walk }, ..job }
    }

    fn constant(&self, word: i64) -> Job {
        let (free, write) = (self.context.operation.free, self.context.write_access());
        let strides = write.strides[..free].to_vec();
        Job {
            what: format!("{} constant", self.base.what),
            loops: self.base.loops[..free].to_vec(),
            reduce: 0,
            c: Some(Source::Word(word)),
            sink: Sink::Pad(Access { strides, ..write }),
            ..self.base.clone()
        }
    }

    fn multiply_add(&self) -> Vec<Job> {
        let Kind::MultiplyAdd { start, align, product, square, combine, shift, finish, scale: _, bound: _ } =
            &self.context.operation.kind
        else {
            unreachable!("asked for sums only")
        };
        // `scale` moves binary points only: `align` and `shift` have taken it up.
        let mut job = Job {
            align: *align,
            shift: *shift,
            finish: finish.alu(),
            combine: *combine,
            square: *square,
            ..self.base.clone()
        };
        job.c = start.as_ref().map(|s| self.context.source(s));
        let what = match combine {
            Combine::Maximum => "maximum",
            Combine::Minimum => "minimum",
            _ if *square => "squared difference",
            _ if product.is_some() => "multiply-add",
            _ => "copy",
        };
        job.what = format!("{} {what}", self.base.what);
        if let Some((a, b)) = product {
            match (self.context.source(a), self.context.source(b)) {
                (Source::Access(a), b) => (job.a, job.b) = (Some(a), b),
                // A difference may have either sign where it is squared.
                (Source::Word(word), Source::Access(a)) => (job.a, job.b) = (Some(a), Source::Word(word)),
                (Source::Word(_), Source::Word(_)) => panic!("constant results are taken care of above"),
            }
        }
        let job = match self.route {
            Route::Inside => job,
            Route::Tree { unit, .. } => self.through_tree(job, unit, *shift, None),
        };
        self.context.sent_to_columns(job)
    }

    /// The start of each product, and the steps of all.
    fn product(&self, factor: &Operand, shift: u32, one: i64) -> [Job; 2] {
        let free = self.context.operation.free;
        let mut start = self.base.clone();
        start.loops.truncate(free);
        start.reduce = 0;
        start.c = Some(Source::Word(one));
        start.what = format!("{} product, start", self.base.what);
        let write = self.context.write_access();
        let mut first_write = write.clone();
        first_write.strides.truncate(free);
        start.sink = Sink::Pad(first_write);
        // The chained loops go outside, and every step waits for the one before it.
        let mut chain = Job { reduce: 0, shift, what: format!("{} product", self.base.what), ..self.base.clone() };
        chain.a = Some(write);
        chain.b = self.context.source(factor);
        let order: Vec<usize> = (free..chain.loops.len()).chain(0..free).collect();
        chain.reorder(&order);
        let results: u64 = chain.loops[self.base.reduce..].iter().map(|&n| u64::from(n)).product();
        chain.interval = timing::alu_to_alu(self.context.machine).div_ceil(results.max(1)) as u32;
        [start, chain]
    }

    fn division(&self, dividend: &Operand, divisor: &Operand, places: u32, rounding: Rounding) -> Job {
        // One sum carries both: dividend * 2^W + divisor.
        let mut job =
            Job { what: format!("{} division", self.base.what), align: self.program.word, ..self.base.clone() };
        let Source::Access(divisor) = self.context.source(divisor) else {
            panic!("constant divisors have been spelled out")
        };
        (job.a, job.b, job.c) = (Some(divisor), Source::Word(1), Some(self.context.source(dividend)));
        job.interval = timing::division_interval(self.context.machine) as u32;
        self.through_tree(job, Unit::Row, places, Some(RootFunction::Divide(rounding)))
    }

    fn function(&self, table: usize, input: &Operand) -> Job {
        let table = &self.program.tables[table];
        let what = format!("{} {:?}", self.base.what, table.function).to_lowercase();
        let mut job = Job { what, ..self.base.clone() };
        let Source::Access(input) = self.context.source(input) else {
            panic!("constant results are taken care of above")
        };
        (job.a, job.b) = (Some(input), Source::Word(1));
        self.through_tree(job, Unit::Row, 0, Some(RootFunction::Table(table.usage)))
    }
}
