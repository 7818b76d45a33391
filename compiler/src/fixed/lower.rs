//! Tensor IR in primitive form to fixed-point IR.

use super::copies::{self, Copies};
use super::formats::{Formats, Points, is_one};
use super::masks;
use super::numbers::{NumberReport, Numbers, TensorNumbers};
use super::refine::{Refinement, refine};
use super::tables::{self, Choice, Use};
use super::{
    Finish, Kind, Operand, Operation, Program, Role, SumBound, Tensor, quotients, reach, squares, updates, verify,
};
use super::{channels, columns};
use crate::canonical::primitive::{Atom, Primitive};
use crate::optimisations::Optimisation;
use crate::ranges::Ranges;
use crate::tensor::{self, Affine, Aggregate, Nest, Node, Start, TensorId, Unary};
use arch::division::Rounding;
use arch::function::FunctionTable;
use arch::isa::Combine;
use arch::isa::UNLIMITED;
use arch::number::quantise;
use arch::{Code, Diagnostic};
use std::collections::BTreeMap;

/// Decide every rounding: a binary point for each tensor, shifts for each operation.
///
///     h = sum[i](w[i] * x[i])      w in -4..4, x in -1..1, h in -9..9; 16-bit words
///     =>  h:q11 = round(sum[i](w[i]:q13 * x[i]:q15) >> 17)
///
/// `program` is what [`crate::canonical::canonicalise`] made. Next values of states are written in place where every reader of
/// the old value comes before; elsewhere they go through a temporary that is copied at the end.
pub fn lower(
    program: &tensor::Program,
    ranges: &Ranges,
    numbers: &Numbers,
) -> Result<(Program, NumberReport), Vec<Diagnostic>> {
    let finite = reach::within_reach(program, ranges);
    if finite.is_some() {
        reach::check_comparisons(program, ranges)?;
    }
    let (program, ranges) = finite.as_ref().map_or((program, ranges), |(program, ranges)| (program, ranges));
    let near = masks::bounded(program, ranges, numbers.word);
    let (program, ranges) = near.as_ref().map_or((program, ranges), |(program, ranges)| (program, ranges));
    let given = |name: &str| numbers.fractions.contains_key(name);
    let even = channels::scaled(program, ranges, given);
    let (program, ranges) = even.as_ref().map_or((program, ranges), |(program, ranges, _)| (program, ranges));
    let scaled = columns::scaled(program, ranges, given);
    let (program, ranges) = scaled.as_ref().map_or((program, ranges), |(program, ranges, _)| (program, ranges));
    let (mut lowered, report) = with_tables(program, ranges, numbers)?;
    let mut columns = even.map(|(_, _, columns)| columns).unwrap_or_default();
    columns::merge(&mut columns, scaled.map(|(_, _, columns)| columns).unwrap_or_default());
    for tensor in &mut lowered.tensors {
        tensor.columns = columns.remove(&tensor.name);
    }
    Ok((lowered, report))
}

/// [`lower`] of a program the formats of which are all that is left to decide; with more table entries where that makes functions as accurate
/// as their formats.
fn with_tables(
    program: &tensor::Program,
    ranges: &Ranges,
    numbers: &Numbers,
) -> Result<(Program, NumberReport), Vec<Diagnostic>> {
    let lowered = quotiented(program, ranges, numbers)?;
    let inaccurate = lowered.1.inaccurate > 0;
    if inaccurate || (numbers.spares_steps && lowered.1.crowded) {
        let sizes = std::iter::successors(Some(2 * numbers.table_entries), |entries| Some(2 * entries));
        // Twice nothing is no more: a machine without tables has none, whatever it costs.
        for table_entries in
            sizes.take_while(|&entries| entries > numbers.table_entries && entries <= numbers.most_table_entries)
        {
            let more = quotiented(program, ranges, &Numbers { table_entries, ..numbers.clone() })?;
            if more.1.inaccurate == 0 && (inaccurate || !more.1.crowded) {
                return Ok(more);
            }
        }
    }
    Ok(lowered)
}

/// [`lower`] with the table memory that is given, of a program in which nothing stands for an infinity.
fn quotiented(
    program: &tensor::Program,
    ranges: &Ranges,
    numbers: &Numbers,
) -> Result<(Program, NumberReport), Vec<Diagnostic>> {
    // Where products have no room quotients have.
    let products =
        numbers.disabled.uses(Optimisation::Quotients).then(|| quotients::as_products(program, ranges, numbers));
    let products = products.flatten().and_then(|(program, ranges)| squared(&program, &ranges, numbers).ok());
    products.map_or_else(|| squared(program, ranges, numbers), Ok)
}

/// [`lower`] of a program the quotients of which are what they are to be.
fn squared(
    program: &tensor::Program,
    ranges: &Ranges,
    numbers: &Numbers,
) -> Result<(Program, NumberReport), Vec<Diagnostic>> {
    let lower = |program: &tensor::Program, ranges: &Ranges| lower_as_it_is(program, ranges, numbers);
    let lowered = lower(program, ranges)?;
    let one_beat = numbers.squares && numbers.disabled.uses(Optimisation::Squares);
    let squared = one_beat.then(|| squares::in_one_beat(program, ranges, numbers, &lowered, lower));
    Ok(squared.flatten().unwrap_or(lowered))
}

/// [`lower`] of a program the quotients and squares of which are what they are to be.
fn lower_as_it_is(
    program: &tensor::Program,
    ranges: &Ranges,
    numbers: &Numbers,
) -> Result<(Program, NumberReport), Vec<Diagnostic>> {
    // Refined functions share the table memory: smaller tables where larger ones do not fit together.
    let mut share = numbers.table_entries;
    loop {
        match lower_with(
            program,
            ranges,
            numbers,
            &Copies::from(program.tensors.len()),
            &Refinement::sharing(share, numbers.table_entries),
        )? {
            Some(lowered) => return Ok(lowered),
            None => share /= 2,
        }
    }
}

/// [`lower`], where some operands have been copied; `None` if the tables do not fit together.
#[allow(clippy::type_complexity, reason = "what `lower` gives, if there is something")]
fn lower_with(
    program: &tensor::Program,
    ranges: &Ranges,
    numbers: &Numbers,
    copies: &Copies,
    refinement: &Refinement,
) -> Result<Option<(Program, NumberReport)>, Vec<Diagnostic>> {
    let nests = primitives(program)?;
    let mut formats = Formats::new(program, ranges, numbers, &nests, copies);
    if let Err(change) = formats.settle(&nests) {
        let (program, ranges, copies) = copies::rewritten(program, ranges, copies, &change);
        return lower_with(&program, &ranges, numbers, &copies, refinement);
    }
    if !formats.errors.is_empty() {
        return Err(formats.errors);
    }
    let (tables, inaccurate) = match tables::choose(&mut formats, &nests, refinement) {
        Choice::Tables(tables, inaccurate) => (tables, inaccurate),
        Choice::TooLarge => return Ok(None),
        Choice::Refine(function, crowded) => {
            let mut refined = refine(program, ranges, function, refinement, numbers.word);
            refined.refinement.crowded |= crowded;
            let mut numbers = numbers.clone();
            numbers.fractions.extend(refined.fractions);
            let copies = copies.but_from(refined.program.tensors.len());
            return lower_with(&refined.program, &refined.ranges, &numbers, &copies, &refined.refinement);
        }
    };

    let in_place: Vec<bool> = program.updates.iter().map(|update| can_update_in_place(program, *update)).collect();
    let Layout { tensors, number, report } = Layout::of(program, &formats, numbers.word, &in_place);
    let mut report = NumberReport { tensors: report, ..NumberReport::default() };
    let mut lowering = Lowering { numbers, number, chosen: tables, tables: Vec::new() };
    let mut operations = Vec::new();
    for (nest, primitive) in &nests {
        let operation = lowering.operation(&mut formats, nest, primitive);
        operations.push(operation);
    }
    for (update, _) in program.updates.iter().zip(&in_place).filter(|(_, in_place)| !**in_place) {
        for nest in program.nests.iter().filter(|nest| nest.out == update.next) {
            operations.push(lowering.copy(nest, update.state));
        }
    }
    let names = program.names.iter().map(|(name, id)| (name.clone(), lowering.number[id.0])).collect();
    let updates: Vec<_> = program
        .updates
        .iter()
        .map(|update| (lowering.number[update.state.0], lowering.number[update.next.0]))
        .collect();
    let mut result = Program {
        word: numbers.word,
        accumulator: numbers.accumulator,
        tensors,
        operations,
        tables: lowering.tables,
        names,
    };
    report.notes = formats.notes;
    report.inaccurate = inaccurate;
    report.crowded = refinement.crowded;
    updates::round(&mut result, &mut report, &updates, numbers.rounding);
    verify(&result);
    Ok(Some((result, report)))
}

/// Tensors of the fixed-point program.
struct Layout {
    tensors: Vec<Tensor>,
    /// The one that holds each tensor's words.
    number: Vec<TensorId>,
    report: Vec<TensorNumbers>,
}

impl Layout {
    /// What is updated `in_place` has no tensor of its own for its next value.
    fn of(program: &tensor::Program, formats: &Formats, word: u32, in_place: &[bool]) -> Layout {
        let mut number: Vec<Option<TensorId>> = vec![None; program.tensors.len()];
        let mut report = Vec::new();
        let mut tensors = Vec::new();
        for (id, tensor) in program.tensors.iter().enumerate() {
            let moved = program.updates.iter().zip(in_place).any(|(update, &in_place)| in_place && update.next.0 == id);
            if moved {
                continue;
            }
            let fraction = formats.fraction(TensorId(id));
            let named = program.names.iter().any(|(_, t)| t.0 == id);
            let role = match &tensor.role {
                tensor::Role::Input | tensor::Role::Label | tensor::Role::InOut => Role::Input,
                tensor::Role::State => Role::State,
                tensor::Role::Parameter(values) => {
                    Role::Parameter(values.iter().map(|&v| quantise(v, fraction, word).0).collect())
                }
                _ if named => Role::Output,
                _ => Role::Temporary,
            };
            number[id] = Some(TensorId(tensors.len()));
            tensors.push(Tensor {
                name: tensor.name.clone(),
                shape: tensor.shape.clone(),
                role,
                fraction,
                columns: None,
                span: tensor.span,
            });
            report.push(TensorNumbers {
                name: tensor.name.clone(),
                range: formats.range(TensorId(id)),
                fraction,
                decided: formats.decided[formats.same_as[id].0].clone(),
            });
        }
        for (update, &in_place) in program.updates.iter().zip(in_place) {
            if in_place {
                number[update.next.0] = number[update.state.0];
            }
        }
        let number = number.into_iter().map(|n| n.expect("every tensor has a place")).collect();
        Layout { tensors, number, report }
    }
}

/// Each nest with the operation it is; everything else is a diagnostic.
fn primitives(program: &tensor::Program) -> Result<Vec<(Nest, Primitive)>, Vec<Diagnostic>> {
    let mut errors = Vec::new();
    for tensor in &program.tensors {
        assert_ne!(tensor.role, tensor::Role::InOut, "canonical programs have no contents that are results, too");
    }
    let mut nests = Vec::new();
    for nest in &program.nests {
        assert!(nest.guards.is_empty(), "canonical programs have no conditions on iterators");
        match Primitive::of(nest) {
            Some(Primitive::Function(function, _)) if !function.has_table() => {
                errors.push(refuse(program, nest, &format!("the function `{function}`")));
            }
            Some(primitive) => nests.push((nest.clone(), primitive)),
            None => errors.push(refuse(program, nest, &culprit(nest))),
        }
    }
    if errors.is_empty() { Ok(nests) } else { Err(errors) }
}

fn refuse(program: &tensor::Program, nest: &Nest, what: &str) -> Diagnostic {
    let name = &program.tensors[nest.out.0].name;
    let message = format!("{what}, needed for `{name}`, is not something the array can compute");
    Diagnostic::new(Code::Backend, nest.origin.span(), message).with_label("computed here").with_help(
        "evaluate with the golden engine (`--engine golden`), or compute this value on the host and make it an input",
    )
}

/// What keeps a nest from being an operation.
fn culprit(nest: &Nest) -> String {
    match nest.aggregate {
        Aggregate::Min => return "the smallest of no values".into(),
        Aggregate::Max => return "the largest of no values".into(),
        _ => {}
    }
    nest.body
        .nodes
        .iter()
        .rev()
        .find_map(|node| match node {
            Node::Call(function, _) => Some(format!("the function `{function}`")),
            Node::Cast(..) => Some("a conversion".to_string()),
            Node::Binary(operation, ..) => match operation {
                tensor::Binary::Div | tensor::Binary::DivFloor | tensor::Binary::DivControlled => {
                    Some("a division by a value that is not constant".to_string())
                }
                tensor::Binary::RemFloor => Some("a remainder".to_string()),
                _ => None,
            },
            Node::Unary(Unary::Not, _) => Some("a logical operation".to_string()),
            _ => None,
        })
        .unwrap_or_else(|| "this expression".to_string())
}

/// Whether the nests that write the next value may write the state itself: it is no result besides, there is no later reader of the old value, and each
/// nest reads only the element that it writes.
fn can_update_in_place(program: &tensor::Program, update: tensor::Update) -> bool {
    let tensor::Update { state, next } = update;
    let writers: Vec<usize> = (0..program.nests.len()).filter(|&n| program.nests[n].out == next).collect();
    let Some(&first) = writers.first() else { return true };
    let reads = |nest: &Nest, tensor: TensorId| {
        let mut found: Vec<Vec<Affine>> = Vec::new();
        for node in &nest.body.nodes {
            if let Node::Read { tensor: t, index } = node
                && *t == tensor
            {
                found.push(index.clone());
            }
        }
        if let Start::Element { tensor: t, index } = &nest.start
            && *t == tensor
        {
            found.push(index.clone());
        }
        found
    };
    let shared = program.updates.iter().filter(|other| other.next == next || other.state == state).count() > 1;
    let only_own_element = writers.iter().all(|&n| {
        let nest = &program.nests[n];
        let each_once = (0..nest.free).all(|i| {
            let shown = |form: &Affine| matches!(form.terms.as_slice(), [(iterator, _)] if iterator.0 == i);
            nest.iterators[i].extent() == 1 || nest.out_index.iter().any(shown)
        });
        each_once && reads(nest, state).iter().all(|index| *index == nest.out_index)
    });
    let others_come_before = program.nests.iter().enumerate().all(|(n, nest)| {
        reads(nest, next).is_empty() && (n < first || writers.contains(&n) || reads(nest, state).is_empty())
    });
    let disjoint = writers.iter().enumerate().all(|(k, &a)| {
        writers[k + 1..].iter().all(|&b| {
            let (a, b) = (&program.nests[a], &program.nests[b]);
            a.out_index.iter().zip(&b.out_index).any(|(one, other)| {
                let (one, other) = (one.range(&a.iterators), other.range(&b.iterators));
                one.1 < other.0 || other.1 < one.0
            })
        })
    });
    let is_result = program.names.iter().any(|(_, named)| *named == next);
    !is_result && !shared && only_own_element && others_come_before && disjoint
}

struct Lowering<'a> {
    numbers: &'a Numbers,
    number: Vec<TensorId>,
    /// The table of each use.
    chosen: BTreeMap<Use, FunctionTable>,
    tables: Vec<FunctionTable>,
}

impl Lowering<'_> {
    fn operand(&self, atom: &Atom, fraction: i32) -> Operand {
        match atom {
            Atom::Read(tensor, index) => Operand::Read { tensor: self.number[tensor.0], index: index.clone() },
            Atom::Constant(value) => {
                Operand::Constant { word: quantise(*value, fraction, self.numbers.word).0, fraction }
            }
        }
    }

    fn operation(&mut self, formats: &mut Formats, nest: &Nest, primitive: &Primitive) -> Operation {
        let kind = match primitive {
            Primitive::MultiplyAdd { start, product, square, scale, combine, negative, whole } => {
                let (start, product, moved) = (start.as_ref(), product.as_ref(), (*square, *scale));
                let points = formats.points(nest.out, start, product, moved, *negative);
                let (_, proved) = formats.covered(nest, start, product, moved, *negative);
                let bound = self.bound(formats, nest, proved);
                let finish = match (negative, whole) {
                    (true, _) => Finish::Negative,
                    (_, true) => Finish::Whole(Rounding::Nearest),
                    _ => Finish::Round,
                };
                self.multiply_add(formats, nest, (start, product), &points, (moved, *combine, finish), bound)
            }
            Primitive::Positive(value, limit) => self.positive(formats, nest.out, value, *limit),
            Primitive::Product(factor) => {
                let fraction = match factor {
                    Atom::Read(tensor, _) => formats.fraction(*tensor),
                    Atom::Constant(value) => {
                        super::formats::best_fraction(*value, *value, self.numbers.word).clamp(0, 63)
                    }
                };
                Kind::Product {
                    factor: self.operand(factor, fraction),
                    shift: fraction as u32,
                    one: 1 << formats.fraction(nest.out),
                }
            }
            Primitive::Divide { dividend: dividend @ Atom::Read(tensor, _), divisor, down: true }
                if is_one(divisor) =>
            {
                self.floor(dividend, formats.fraction(*tensor))
            }
            Primitive::Divide { dividend, divisor, down } => {
                let (a, b) = formats.division_points(nest.out, dividend, divisor);
                Kind::Divide {
                    dividend: self.operand(dividend, a),
                    divisor: self.operand(divisor, b),
                    places: (formats.fraction(nest.out) - a + b) as u32,
                    rounding: if *down { Rounding::Down } else { Rounding::Nearest },
                }
            }
            Primitive::Function(function, argument) => {
                let Atom::Read(input, _) = argument else { panic!("constant arguments have been folded") };
                let (input, output) = (formats.fraction(*input), formats.fraction(nest.out));
                let table = self.chosen[&(*function, input, output)].clone();
                Kind::Function { table: self.table(table), input: self.operand(argument, input) }
            }
        };
        Operation {
            iterators: nest.iterators.clone(),
            free: nest.free,
            out: self.number[nest.out.0],
            out_index: nest.out_index.clone(),
            kind,
            origin: nest.origin.clone(),
        }
    }

    /// Whether formats bound a sum; if only ranges do, a note says so.
    fn bound(&self, formats: &mut Formats, nest: &Nest, proved: bool) -> SumBound {
        if proved {
            return SumBound::Formats;
        }
        let name = &formats.program.tensors[nest.out.0].name;
        let message = format!(
            "the sum `{name}` fits the {}-bit accumulator only for values like those seen",
            self.numbers.accumulator
        );
        let note = Diagnostic::new(Code::WarnNumber, nest.origin.span(), message)
            .with_help("a wider accumulator, or narrower formats for its factors, would make it certain");
        formats.notes.push(note);
        SumBound::Ranges
    }

    fn positive(&self, formats: &Formats, out: tensor::TensorId, value: &Atom, limit: f64) -> Kind {
        // A limit beyond all words limits nothing, but is the source's.
        let limit = libm::rint(libm::ldexp(limit, formats.fraction(out))).min(f64::from(UNLIMITED)) as i32;
        let fraction = match value {
            Atom::Read(tensor, _) => formats.fraction(*tensor),
            Atom::Constant(_) => formats.fraction(out),
        };
        Kind::MultiplyAdd {
            start: Some(self.operand(value, fraction)),
            align: 0,
            product: None,
            square: false,
            scale: 0,
            combine: Combine::Add,
            shift: (fraction - formats.fraction(out)) as u32,
            finish: Finish::Positive(limit),
            bound: SumBound::Formats,
        }
    }

    fn multiply_add(
        &self,
        formats: &Formats,
        nest: &Nest,
        (start, product): (Option<&Atom>, Option<&(Atom, Atom)>),
        points: &Points,
        ((square, scale), combine, finish): ((bool, i32), Combine, Finish),
        bound: SumBound,
    ) -> Kind {
        let shift = if finish == Finish::Negative { 0 } else { points.product - formats.fraction(nest.out) };
        Kind::MultiplyAdd {
            start: start.map(|atom| self.operand(atom, points.start)),
            align: if start.is_some() { (points.product - points.start) as u32 } else { 0 },
            product: product.map(|(a, b)| (self.operand(a, points.a), self.operand(b, points.b))),
            square,
            scale,
            combine,
            shift: shift as u32,
            finish,
            bound,
        }
    }

    /// An element with so many bits after its point, rounded down: half of its last place more than half below is nearest to that.
    fn floor(&self, value: &Atom, fraction: i32) -> Kind {
        let value = self.operand(value, fraction);
        let constant = |word, fraction| Operand::Constant { word, fraction };
        let (start, align, product, shift) = match u32::try_from(fraction) {
            Err(_) | Ok(0) => (value, fraction.unsigned_abs(), None, 0),
            Ok(bits) => (constant(1 - (1 << bits), fraction + 1), 0, Some((value, constant(2, 1))), bits + 1),
        };
        Kind::MultiplyAdd {
            start: Some(start),
            align,
            product,
            square: false,
            scale: 0,
            combine: Combine::Add,
            shift,
            finish: Finish::Whole(Rounding::Down),
            bound: SumBound::Formats,
        }
    }

    /// The number of a table, with its place in the table memory.
    fn table(&mut self, mut table: FunctionTable) -> usize {
        let same = |other: &FunctionTable| {
            (other.function, other.input_fraction, other.output_fraction)
                == (table.function, table.input_fraction, table.output_fraction)
        };
        if let Some(existing) = self.tables.iter().position(same) {
            return existing;
        }
        let used: usize = self.tables.iter().map(|t| t.entries.len()).sum();
        table.usage.base = used as u32;
        self.tables.push(table);
        self.tables.len() - 1
    }

    /// Copy what a nest wrote to the state.
    fn copy(&self, nest: &Nest, state: TensorId) -> Operation {
        Operation {
            iterators: nest.iterators[..nest.free].to_vec(),
            free: nest.free,
            out: self.number[state.0],
            out_index: nest.out_index.clone(),
            kind: Kind::exact(
                Some(Operand::Read { tensor: self.number[nest.out.0], index: nest.out_index.clone() }),
                None,
            ),
            origin: nest.origin.clone(),
        }
    }
}
