//! Select: operations to jobs.
//!
//!     h += w[i] * x[i]    i on the grid      =>    alu  i/P: w * x ─▶ tree      root  round      move  h, all PEs
//!     g[i] = d * x[i]                        =>    alu  i/P: d * x ─▶ pad (last word masked)
//!
//! Inputs: a program and a placement that fits it. An element with a constant index of a spread tensor is first made a
//! tensor of its own, as a sum over one lane.

use super::job::{Access, Bound, Copies, Counts, Datapath, Job, Lanes, Sink, Source, StorageId};
use super::reshard::Walk;
use crate::fixed::{Kind, Operand, Operation, Program, Role, SumBound, Tensor};
use crate::placed::cost::{Route, local_words, route};
use crate::placed::place::{Axis, Placement};
use crate::placed::reshard::{Reshard, Turn, last_columns};
use crate::placed::tile::{self, Tile};
use crate::tensor::{Affine, IterId, Iterator, TensorId};
use arch::division::divide;
use arch::function::FunctionTable;
use arch::isa::{Combine, Finish, RootFunction};
use arch::machine::Machine;
use arch::number::{round_half_even, saturate};
use arch::timing::{self, Unit};

/// A tensor as it lies in the pads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Storage {
    pub(crate) name: String,
    pub(crate) shape: Vec<u32>,
    pub(crate) axes: Vec<Axis>,
    /// Words per local step of each dimension.
    pub(crate) strides: Vec<i64>,
    /// Words in each PE.
    pub(crate) words: u32,
    pub(crate) role: Role,
    pub(crate) fraction: i32,
}

impl Storage {
    fn new(tensor: &Tensor, axes: &[Axis], machine: &Machine) -> Storage {
        let mut strides = vec![0; axes.len()];
        let mut step = 1;
        for d in (0..axes.len()).rev() {
            strides[d] = step;
            step *= i64::from(tensor.shape[d].div_ceil(axes[d].lanes(machine)));
        }
        Storage {
            name: tensor.name.clone(),
            shape: tensor.shape.clone(),
            axes: axes.to_vec(),
            strides,
            words: local_words(&tensor.shape, axes, machine) as u32,
            role: tensor.role.clone(),
            fraction: tensor.fraction,
        }
    }
}

/// Storages and jobs of one step.
#[derive(Debug, Clone)]
pub(crate) struct Selection {
    pub(crate) storages: Vec<Storage>,
    pub(crate) jobs: Vec<Job>,
}

/// Replace reads with a constant index along a spread dimension by reads of a new tensor that holds just that slice.
///
///     a = x[2] * r      x on the grid      =>    x.2 += x[k], k in 2..3;   a = x.2 * r
fn isolate_constants(program: &Program, placement: &Placement) -> (Program, Placement) {
    let mut result = Program { operations: Vec::new(), ..program.clone() };
    let mut placed = Placement { iterators: Vec::new(), ..placement.clone() };
    for (operation, axes) in program.operations.iter().zip(&placement.iterators) {
        let mut operation = operation.clone();
        let mut isolate = |operand: &mut Operand, operation_iterators: &[Iterator]| {
            let Operand::Read { tensor, index } = operand else { return };
            let spread = |d: usize| placed.tensors[tensor.0][d] != Axis::Local;
            if !index.iter().enumerate().any(|(d, a)| a.as_constant().is_some() && spread(d)) {
                return;
            }
            // Dimensions that stay, and the iterators that run over them.
            let mut slice_iterators: Vec<(IterId, Iterator, Axis)> = Vec::new();
            for affine in index.iter() {
                for &(iterator, _) in &affine.terms {
                    if slice_iterators.iter().all(|s| s.0 != iterator) {
                        let axis = axes[iterator.0];
                        slice_iterators.push((iterator, operation_iterators[iterator.0].clone(), axis));
                    }
                }
            }
            let source = &program_tensor(&result, *tensor);
            let shape: Vec<u32> = slice_iterators.iter().map(|s| s.1.high as u32).collect();
            let slice = TensorId(result.tensors.len());
            let name = format!("{}.{}", source.name, slice.0);
            let fraction = source.fraction;
            let span = source.span;
            result.tensors.push(Tensor { name, shape, role: Role::Temporary, fraction, span });
            placed.tensors.push(slice_iterators.iter().map(|s| s.2).collect());
            let free = slice_iterators.len();
            let position = |iterator: IterId| slice_iterators.iter().position(|s| s.0 == iterator).expect("collected");
            let mut iterators: Vec<Iterator> = slice_iterators.iter().map(|s| s.1.clone()).collect();
            let mut iterator_axes: Vec<Axis> = slice_iterators.iter().map(|s| s.2).collect();
            let mut slice_index = Vec::new();
            for (d, affine) in index.iter().enumerate() {
                match affine.as_constant() {
                    Some(at) if placed.tensors[tensor.0][d] != Axis::Local => {
                        slice_index.push(Affine::iterator(IterId(iterators.len())));
                        iterators.push(Iterator { name: format!("={at}"), low: at, high: at + 1 });
                        iterator_axes.push(placed.tensors[tensor.0][d]);
                    }
                    _ => {
                        let terms = affine.terms.iter().map(|&(i, c)| (IterId(position(i)), c)).collect();
                        slice_index.push(Affine { offset: affine.offset, terms });
                    }
                }
            }
            let one = Operand::Constant { word: 1, fraction: 0 };
            result.operations.push(Operation {
                iterators,
                free,
                out: slice,
                out_index: (0..free).map(|i| Affine::iterator(IterId(i))).collect(),
                kind: Kind::MultiplyAdd {
                    start: None,
                    align: 0,
                    scale: 0,
                    product: Some((Operand::Read { tensor: *tensor, index: slice_index }, one)),
                    combine: Combine::Add,
                    shift: 0,
                    finish: Finish::Round,
                    bound: SumBound::Formats,
                },
                origin: operation.origin.clone(),
            });
            placed.iterators.push(iterator_axes);
            let index = slice_iterators.iter().map(|s| Affine::iterator(s.0)).collect();
            *operand = Operand::Read { tensor: slice, index };
        };
        let iterators = operation.iterators.clone();
        match &mut operation.kind {
            Kind::MultiplyAdd { start, product, .. } => {
                if let Some(start) = start {
                    isolate(start, &iterators);
                }
                if let Some((a, b)) = product {
                    isolate(a, &iterators);
                    isolate(b, &iterators);
                }
            }
            Kind::Product { factor, .. } => isolate(factor, &iterators),
            Kind::Divide { dividend, divisor, .. } => {
                isolate(dividend, &iterators);
                isolate(divisor, &iterators);
            }
            Kind::Function { input, .. } => isolate(input, &iterators),
        }
        result.operations.push(operation);
        placed.iterators.push(axes.clone());
    }
    (result, placed)
}

/// Make one factor of a product of two constants a tensor: a product has a word from a pad. A divisor is such a factor, too.
///
///     a = x + 3 * 5      =>    3.9 = 3;   a = x + 3.9 * 5
///     a = x / 3          =>    3.9 = 3;   a = x / 3.9
fn spell_out_constants(program: &mut Program, placement: &mut Placement) {
    let mut number = 0;
    while number < program.operations.len() {
        let operation = &mut program.operations[number];
        let origin = operation.origin.clone();
        let whole = constant_result(operation, program.word, &program.tables).is_some();
        let constant = match &mut operation.kind {
            Kind::MultiplyAdd { product: Some((a @ Operand::Constant { .. }, Operand::Constant { .. })), .. } => {
                Some(a)
            }
            Kind::Divide { divisor: divisor @ Operand::Constant { .. }, .. } => Some(divisor),
            _ => None,
        };
        if let (Some(a), false) = (constant, whole) {
            let tensor = TensorId(program.tensors.len());
            let constant = std::mem::replace(a, Operand::Read { tensor, index: Vec::new() });
            let Operand::Constant { word, fraction } = constant else { unreachable!("just matched") };
            program.tensors.push(Tensor {
                name: format!("{word}.{}", tensor.0),
                shape: Vec::new(),
                role: Role::Temporary,
                fraction,
                span: origin.span(),
            });
            placement.tensors.push(Vec::new());
            program.operations.insert(
                number,
                Operation {
                    iterators: Vec::new(),
                    free: 0,
                    out: tensor,
                    out_index: Vec::new(),
                    kind: Kind::MultiplyAdd {
                        start: Some(Operand::Constant { word, fraction }),
                        align: 0,
                        scale: 0,
                        product: None,
                        combine: Combine::Add,
                        shift: 0,
                        finish: Finish::Round,
                        bound: SumBound::Formats,
                    },
                    origin,
                },
            );
            placement.iterators.insert(number, Vec::new());
        }
        number += 1;
    }
}

fn program_tensor(program: &Program, tensor: TensorId) -> Tensor {
    program.tensors[tensor.0].clone()
}

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
    reshard: Option<Reshard>,
}

impl Context<'_> {
    fn lanes_of(&self, iterator: IterId) -> i64 {
        i64::from(self.axes[iterator.0].lanes(self.machine))
    }

    /// Where the result goes; a reshard's part of it is that of its walk.
    fn write_access(&self) -> Access {
        let (out, index) = (self.operation.out, &self.operation.out_index);
        let Some(reshard) = self.reshard else { return self.access(out, index) };
        let mut index = index.clone();
        index[reshard.dimension] = Affine::constant(0);
        let mut access = self.access(out, &index);
        let stride = self.storages[out.0].strides[reshard.dimension];
        if let (Turn::ToRows, Some(column)) = (reshard.turn, self.column_loop) {
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
        Some(match reshard.turn {
            Turn::ToTall => {
                Walk::ToTall { level, stride: self.storages[self.operation.out.0].strides[reshard.dimension] }
            }
            Turn::ToRows => Walk::ToRows {
                waves: level,
                columns: self.column_loop.expect("columns leave one after the other"),
                words: crate::placed::cost::local_count(range, Axis::Row, self.machine) as u32,
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
                debug_assert_eq!(self.axes[iterator.0], *axis, "index and iterator are placed together");
                access.offset += stride * self.operation.iterators[iterator.0].low.div_euclid(lanes);
                access.strides[self.loop_of[iterator.0]] += stride;
            } else {
                let at = affine.as_constant().expect("a spread dimension has a plain index");
                access.offset += stride * at.div_euclid(lanes);
            }
        }
        access
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

    /// Where results are written: bounds of the free iterators and constant indices of the result.
    fn write_lanes(&self) -> Lanes {
        let to_rows = self.reshard.filter(|reshard| reshard.turn == Turn::ToRows).map(|reshard| reshard.iterator);
        // Back on the rows, all columns take a result.
        let pick_column = self.column_loop.filter(|_| to_rows.is_none());
        let mut lanes = Lanes { pick_column, ..Lanes::default() };
        let bounded = (0..self.operation.free).filter(|&i| to_rows != Some(i));
        lanes.bounds.extend(bounded.filter_map(|i| self.bound(i)));
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
        let free = self.operation.free;
        let mut lanes = Lanes { pick_column: self.column_loop, ..Lanes::default() };
        lanes.bounds.extend((free..self.operation.iterators.len()).filter_map(|i| self.bound(i)));
        let summed = |axis| self.axes[free..].contains(&axis);
        // Copies of the same value beside each other: only the first counts.
        let over_all = summed(Axis::Grid) || summed(Axis::Tall);
        if self.column_loop.is_none() && !summed(Axis::Column) && !over_all {
            lanes.bounds.push(Bound { axis: Axis::Column, low: 0, high: 1, level: None });
        }
        if unit == Unit::Global && !summed(Axis::Row) && !over_all {
            lanes.bounds.push(Bound { axis: Axis::Row, low: 0, high: 1, level: None });
        }
        lanes
    }
}

/// Turn a placed program into jobs.
///
/// Where steps are `tiled`, each sum over a batch gets words of the gradient pad.
pub(crate) fn select(program: &Program, placement: &Placement, machine: &Machine, tiled: bool) -> Selection {
    let (mut program, mut placement) = isolate_constants(program, placement);
    spell_out_constants(&mut program, &mut placement);
    crate::placed::write_back::results(&mut program, &mut placement, machine);
    let storages: Vec<Storage> =
        program.tensors.iter().zip(&placement.tensors).map(|(t, axes)| Storage::new(t, axes, machine)).collect();
    let tiles = if tiled {
        tile::tiles(&program).unwrap_or_else(|whole| panic!("{} in a program that has been cut", whole.why))
    } else {
        vec![Tile::Every; program.operations.len()]
    };
    let mut parked = 0;
    let mut jobs = Vec::new();
    for ((operation, axes), tile) in program.operations.iter().zip(&placement.iterators).zip(tiles) {
        if operation.iterators.iter().any(|i| i.high <= i.low) {
            continue;
        }
        let reshard = Reshard::of(operation, axes, &storages[operation.out.0].axes, machine)
            .expect("placements that cannot be are not tried");
        let route = route(operation, axes, reshard);
        let count = |i: usize| crate::placed::cost::local_count(&operation.iterators[i], axes[i], machine) as u32;
        let mut loops: Vec<u32> = (0..operation.free).map(count).collect();
        let mut column_loop = None;
        if let Route::Tree { by_column: true, .. } = route {
            column_loop = Some(loops.len());
            loops.push(machine.pes_per_pu());
        }
        let inner = loops.len();
        loops.extend((operation.free..operation.iterators.len()).map(count));
        let loop_of = (0..operation.iterators.len())
            .map(|i| if i < operation.free { i } else { inner + i - operation.free })
            .collect();
        let context = Context { machine, storages: &storages, operation, axes, loop_of, loops, column_loop, reshard };
        let first = jobs.len();
        select_one(&context, route, &program, &mut jobs);
        for job in &mut jobs[first..] {
            job.counts = match tile {
                Tile::Every => Counts::Every,
                Tile::Last => Counts::Last,
                Tile::Over => Counts::Over(parked_words(job, operation.out, &mut parked)),
            };
        }
    }
    Selection { storages, jobs }
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

fn select_one(context: &Context<'_>, route: Route, program: &Program, jobs: &mut Vec<Job>) {
    let operation = context.operation;
    let name = &context.storages[operation.out.0].name;
    let write = context.write_access();
    let reduce = operation.iterators.len() - operation.free;
    let base = Job {
        span: operation.origin.span(),
        what: name.clone(),
        on: Datapath::Engines,
        copies: Copies::ENGINES,
        loops: context.loops.clone(),
        reduce,
        interval: 1,
        a: None,
        b: Source::Word(0),
        c: None,
        combine: Combine::Add,
        align: 0,
        shift: 0,
        finish: Finish::Round,
        lanes: context.write_lanes(),
        counts: Counts::Every,
        sink: Sink::Pad(write.clone()),
    };
    let through_tree = |job: Job, unit: Unit, shift: u32, function| {
        let (lanes, write_lanes) = (context.tree_lanes(unit), context.write_lanes());
        let sink = Sink::Tree { unit, shift, function, write: write.clone(), lanes: write_lanes, walk: context.walk() };
        Job { lanes, sink, ..job }
    };
    if let Some(word) = constant_result(operation, program.word, &program.tables) {
        let strides = write.strides[..operation.free].to_vec();
        jobs.push(Job {
            what: format!("{name} constant"),
            loops: context.loops[..operation.free].to_vec(),
            reduce: 0,
            c: Some(Source::Word(word)),
            sink: Sink::Pad(Access { strides, ..write }),
            ..base
        });
        return;
    }
    match &operation.kind {
        // `scale` moves binary points only: `align` and `shift` have taken it up.
        Kind::MultiplyAdd { start, align, product, combine, shift, finish, scale: _, bound: _ } => {
            let mut job = Job { align: *align, shift: *shift, finish: *finish, combine: *combine, ..base };
            job.c = start.as_ref().map(|s| context.source(s));
            let what = match combine {
                Combine::Maximum => "maximum",
                Combine::Minimum => "minimum",
                _ if product.is_some() => "multiply-add",
                _ => "copy",
            };
            job.what = format!("{name} {what}");
            if let Some((a, b)) = product {
                match (context.source(a), context.source(b)) {
                    (Source::Access(a), b) => (job.a, job.b) = (Some(a), b),
                    (Source::Word(word), Source::Access(a)) => (job.a, job.b) = (Some(a), Source::Word(word)),
                    (Source::Word(_), Source::Word(_)) => panic!("constant results are taken care of above"),
                }
            }
            jobs.push(match route {
                Route::Inside => job,
                Route::Tree { unit, .. } => through_tree(job, unit, *shift, None),
            });
        }
        Kind::Product { factor, shift, one } => {
            let free = operation.free;
            let mut start = base.clone();
            start.loops.truncate(free);
            start.reduce = 0;
            start.c = Some(Source::Word(*one));
            start.what = format!("{name} product, start");
            let mut first_write = write.clone();
            first_write.strides.truncate(free);
            start.sink = Sink::Pad(first_write);
            jobs.push(start);
            // The chained loops go outside, and every step waits for the one before it.
            let mut chain = Job { reduce: 0, shift: *shift, what: format!("{name} product"), ..base };
            chain.a = Some(write.clone());
            chain.b = context.source(factor);
            let order: Vec<usize> = (free..chain.loops.len()).chain(0..free).collect();
            chain.reorder(&order);
            let results: u64 = operation_results(&chain, reduce);
            chain.interval = timing::ALU_TO_ALU.div_ceil(results.max(1)) as u32;
            jobs.push(chain);
        }
        Kind::Divide { dividend, divisor, places, rounding } => {
            // One sum carries both: dividend * 2^W + divisor.
            let mut job = Job { what: format!("{name} division"), align: program.word, ..base };
            let Source::Access(divisor) = context.source(divisor) else {
                panic!("constant divisors have been spelled out")
            };
            (job.a, job.b, job.c) = (Some(divisor), Source::Word(1), Some(context.source(dividend)));
            job.interval = timing::division_interval(context.machine) as u32;
            jobs.push(through_tree(job, Unit::Row, *places, Some(RootFunction::Divide(*rounding))));
        }
        Kind::Function { table, input } => {
            let mut job = Job { what: format!("{name} {:?}", program.tables[*table].function).to_lowercase(), ..base };
            let Source::Access(input) = context.source(input) else {
                panic!("constant results are taken care of above")
            };
            (job.a, job.b) = (Some(input), Source::Word(1));
            jobs.push(through_tree(job, Unit::Row, 0, Some(RootFunction::Table(program.tables[*table].usage))));
        }
    }
}

/// Results computed side by side in each step of a chain.
fn operation_results(chain: &Job, reduce: usize) -> u64 {
    chain.loops[reduce..].iter().map(|&n| u64::from(n)).product()
}

/// The word of an operation that reads no tensor.
fn constant_result(operation: &Operation, word_bits: u32, tables: &[FunctionTable]) -> Option<i64> {
    let word = |operand: &Operand| match operand {
        Operand::Constant { word, .. } => Some(i128::from(*word)),
        Operand::Read { .. } => None,
    };
    let points: i128 = operation.iterators[operation.free..].iter().map(|i| i128::from(i.extent())).product();
    match &operation.kind {
        Kind::MultiplyAdd { start, align, product, combine, shift, finish, .. } => {
            let start = match start {
                Some(start) => Some(word(start)? << align),
                None => None,
            };
            let product = match product {
                Some((a, b)) => Some(word(a)? * word(b)?),
                None => None,
            };
            let sum = match combine {
                Combine::Add => start.unwrap_or(0) + product.unwrap_or(0) * points,
                Combine::Subtract => start.unwrap_or(0) - product.unwrap_or(0) * points,
                Combine::Maximum | Combine::Minimum => {
                    start.into_iter().chain(product).reduce(|one, other| combine.join(one, other))?
                }
            };
            Some(match finish {
                Finish::Negative => i64::from(sum < 0),
                Finish::Round => saturate(round_half_even(sum, *shift), word_bits).0,
            })
        }
        Kind::Product { factor, shift, one } => {
            let factor = word(factor)?;
            let step = |result: i64| saturate(round_half_even(i128::from(result) * factor, *shift), word_bits).0;
            Some((0..points).fold(*one, |result, _| step(result)))
        }
        Kind::Divide { dividend, divisor, places, rounding } => {
            Some(divide(word(dividend)? as i64, word(divisor)? as i64, *places, *rounding, word_bits).0)
        }
        Kind::Function { table, input } => Some(tables[*table].evaluate(word(input)? as i64).0),
    }
}
