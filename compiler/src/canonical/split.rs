//! Splitting of bodies into primitive nests (see [`super::primitive`]).

use super::expr::linear::{Term, is_power_of_two, term_expr, terms};
use super::expr::{self, Expr, reads};
use super::flow::fresh_name;
use super::logic::library;
use super::primitive::rectified;
use crate::tensor::{
    Affine, Aggregate, Binary, Element, Function, Guard, IterId, Iterator, Nest, Node, NodeId, Program, Role, Start,
    Tensor, TensorId, Unary,
};
use arch::{Origin, Span};
use std::collections::BTreeSet;

/// Split every nest into nests that one operation can compute; what has no operation is left alone, with simple operands.
///
///     w'[i] = w[i] - mu * (d * x[i])     =>   w.1 = mu * d;  w'[i] = w[i] - w.1 * x[i]
///     d2[q] = s[q] * (a[q] * (1 - a[q])) =>   d2.1[q] = a[q] - a[q] * a[q];  d2[q] = s[q] * d2.1[q]
///     g = (c < 1) * (0 - y)              =>   g.1 = (c - 1) < 0;  g = -(g.1 * y)
///
/// A constant factor goes into the factor that has the fewest iterators, and not into an input that has fewer than the product if
/// there is another: such inputs are replicated over the grid. A power of two goes nowhere: it stays as a scale of the product. Each temporary runs over the iterators that its value
/// depends on, so what does not change in a loop leaves it.
pub fn split_into_primitives(program: &Program) -> Program {
    let mut splitter = Splitter::new(program);
    for nest in &program.nests {
        splitter.nest(nest);
    }
    splitter.finish()
}

/// Give names to the operands of choices, which [`super::logic`] writes down more than once, and to shared values of large bodies.
///
///     r = max(a * b, c)     =>     r.1 = a * b;  r = max(r.1, c)
///
/// The passes after this one see expressions as trees; without it trees could be exponentially large.
pub fn name_operands(program: &Program) -> Program {
    let mut splitter = Splitter::new(program);
    for nest in &program.nests {
        let nodes = &nest.body.nodes;
        let mut users = vec![0u32; nodes.len()];
        let mut sizes: Vec<u64> = Vec::with_capacity(nodes.len());
        for node in nodes {
            let operands = operands(node);
            sizes.push(operands.iter().fold(1, |sum, o| sum.saturating_add(sizes[o.0])));
            for operand in operands {
                users[operand.0] += if repeats_operands(node) { 3 } else { 1 };
            }
        }
        let large = sizes.last().is_some_and(|&size| size > LARGE_BODY);
        if !large && !nodes.iter().any(repeats_operands) {
            splitter.push(nest.clone());
            continue;
        }
        let place = splitter.place(nest);
        let limit = if large { 2 } else { 3 };
        let mut values: Vec<Expr> = Vec::with_capacity(nodes.len());
        for (number, node) in nodes.iter().enumerate() {
            let value = Expr::from_node(node, &|operand: NodeId| values[operand.0].clone());
            let named = users[number] >= limit && number + 1 < nodes.len();
            values.push(if named { splitter.atom(value, &place) } else { value });
        }
        let body = values.pop().expect("a body has nodes").to_body();
        splitter.push(Nest { body, ..nest.clone() });
    }
    splitter.finish()
}

/// Tree size beyond which shared values get names.
const LARGE_BODY: u64 = 200;

/// Products that a grid of a few PEs does while it waits for a sum.
const IN_PASSING: u64 = 256;

/// Whether the rewriting of logic repeats the operands.
fn repeats_operands(node: &Node) -> bool {
    match node {
        Node::Binary(operation, ..) => {
            use Binary::{And, Eq, Max, Min, Ne, Or, RemFloor};
            matches!(operation, Min | Max | Eq | Ne | And | Or | RemFloor)
        }
        Node::Unary(operation, _) => *operation == Unary::Not,
        Node::Call(function, _) => library::repeats_arguments(*function),
        Node::Cast(element, _) => *element != Element::Real,
        Node::Select { .. } => true,
        _ => false,
    }
}

fn operands(node: &Node) -> Vec<NodeId> {
    match node {
        Node::Constant(_) | Node::Iterator(_) | Node::Read { .. } => Vec::new(),
        Node::Gather { index: list, .. } | Node::Call(_, list) => list.clone(),
        Node::Unary(_, a) | Node::Cast(_, a) => vec![*a],
        Node::Binary(_, a, b) => vec![*a, *b],
        Node::Select { condition, yes, no } => vec![*condition, *yes, *no],
    }
}

/// Whether the operation gives words without a binary point.
fn is_whole(e: &Expr) -> bool {
    matches!(e, Expr::Binary(Binary::Lt | Binary::DivFloor, ..) | Expr::Call(Function::Floor | Function::Rint, _))
}

struct Splitter {
    /// The program with its growing list of tensors.
    program: Program,
    /// Length of the longest chain of nests that leads to each tensor.
    levels: Vec<usize>,
    /// Tensors that several nests write.
    shared: Vec<bool>,
    /// What has been made so far.
    nests: Vec<Nest>,
}

/// Where an expression is computed.
struct Place {
    iterators: Vec<Iterator>,
    guards: Vec<Guard>,
    name: String,
    origin: Origin,
}

impl Place {
    fn points(&self, over: &BTreeSet<IterId>) -> u64 {
        over.iter().map(|i| self.iterators[i.0].extent()).product()
    }
}

impl Splitter {
    fn new(program: &Program) -> Splitter {
        let writers = |t: usize| program.nests.iter().filter(|nest| nest.out.0 == t).count();
        let shared = (0..program.tensors.len()).map(|t| writers(t) > 1).collect();
        Splitter { program: program.clone(), levels: vec![0; program.tensors.len()], shared, nests: Vec::new() }
    }

    fn finish(self) -> Program {
        Program { nests: self.nests, ..self.program }
    }

    fn place(&self, nest: &Nest) -> Place {
        Place {
            iterators: nest.iterators.clone(),
            guards: nest.guards.clone(),
            name: self.program.tensors[nest.out.0].name.clone(),
            origin: nest.origin.clone(),
        }
    }

    fn push(&mut self, nest: Nest) {
        let level = reads(&nest).iter().map(|t| self.levels[t.0]).max().unwrap_or(0) + 1;
        let out = &mut self.levels[nest.out.0];
        *out = level.max(*out);
        self.nests.push(nest);
    }

    fn tensor(&mut self, tensor: Tensor) -> TensorId {
        self.program.tensors.push(tensor);
        self.levels.push(0);
        self.shared.push(false);
        TensorId(self.program.tensors.len() - 1)
    }

    fn nest(&mut self, nest: &Nest) {
        if nest.aggregate == Aggregate::Mul && nest.start != Start::Identity {
            self.started_product(nest);
            return;
        }
        let place = self.place(nest);
        let expr = Expr::from_body(&nest.body);
        let body = match nest.aggregate {
            // Whole numbers have no binary point; what else is written to the tensor may need one.
            Aggregate::Assign if self.shared[nest.out.0] && is_whole(&expr) => self.atom(expr, &place),
            Aggregate::Assign => self.assigned(expr, &place),
            Aggregate::Add => {
                let scaled = self.scaled_sum(&expr, nest, &place);
                if let Some(nest) = scaled {
                    self.push(nest);
                    return;
                }
                self.summed(expr, &place)
            }
            Aggregate::Min | Aggregate::Max => self.compared(expr, &place),
            Aggregate::Mul => self.atom(expr, &place),
        };
        self.push(Nest { body: body.to_body(), ..nest.clone() });
    }

    /// The body of an assignment.
    fn assigned(&mut self, e: Expr, place: &Place) -> Expr {
        match e {
            Expr::Call(Function::Rint, mut arguments) => {
                let sum = self.linear(terms(&arguments.remove(0)), place);
                Expr::Call(Function::Rint, vec![sum])
            }
            Expr::Call(function, arguments) => {
                Expr::Call(function, arguments.into_iter().map(|a| self.argument(a, place)).collect())
            }
            Expr::Binary(Binary::Lt, a, b) if *b == Expr::Constant(0.0) => {
                let sum = self.linear(terms(&a), place);
                Expr::Binary(Binary::Lt, Box::new(sum), b)
            }
            Expr::Binary(Binary::Add | Binary::Sub | Binary::Mul, ..)
            | Expr::Unary(Unary::Neg, _)
            | Expr::Constant(_)
            | Expr::Read(..) => self.linear(terms(&e), place),
            Expr::Iterator(_) => self.atom(e, place),
            Expr::Binary(Binary::Min, a, limit) if rectified(&a).is_some() && matches!(*limit, Expr::Constant(_)) => {
                Expr::Binary(Binary::Min, Box::new(self.assigned(*a, place)), limit)
            }
            Expr::Binary(operation, a, b) => {
                let a = self.atom(*a, place);
                Expr::Binary(operation, Box::new(a), Box::new(self.atom(*b, place)))
            }
            Expr::Unary(operation, a) => Expr::Unary(operation, Box::new(self.atom(*a, place))),
            Expr::Cast(element, a) => Expr::Cast(element, Box::new(self.atom(*a, place))),
            Expr::Select(parts) => Expr::Select(Box::new(parts.map(|e| self.atom(e, place)))),
            Expr::Gather(tensor, index) => {
                Expr::Gather(tensor, index.into_iter().map(|e| self.atom(e, place)).collect())
            }
        }
    }

    /// The body of a sum over reduction iterators: one product.
    fn summed(&mut self, e: Expr, place: &Place) -> Expr {
        match <[Term; 1]>::try_from(terms(&e)) {
            Ok([term]) => term_expr(&self.reduced(term, place)),
            Err(terms) if terms.is_empty() => Expr::Constant(0.0),
            Err(_) => self.atom(e, place),
        }
    }

    /// The body of a maximum or minimum: one product. What is negated is computed before: the largest of these is not what the
    /// smallest of the others makes.
    fn compared(&mut self, e: Expr, place: &Place) -> Expr {
        match <[Term; 1]>::try_from(terms(&e)) {
            Ok([term]) if term.coefficient > 0.0 => term_expr(&self.reduced(term, place)),
            _ => self.atom(e, place),
        }
    }

    /// `sum(c * a * b)` as `c * sum(a * b)`, where that is less work than scaling a factor.
    fn scaled_sum(&mut self, e: &Expr, nest: &Nest, place: &Place) -> Option<Nest> {
        let [Term { coefficient, factors }] = terms(e).try_into().ok()?;
        let free: BTreeSet<IterId> = (0..nest.free).map(IterId).collect();
        let cheapest = factors.iter().map(|f| place.points(&f.iterators())).min()?;
        if coefficient == 1.0 || is_power_of_two(coefficient) || factors.len() < 2 || nest.start != Start::Identity {
            return None;
        }
        if place.points(&free) >= cheapest || !nest.guards.is_empty() {
            return None;
        }
        let name = fresh_name(&self.program, &place.name);
        let sum = self.tensor(Tensor {
            name,
            shape: nest.iterators[..nest.free].iter().map(|i| i.extent() as u32).collect(),
            role: Role::Temporary,
            element: Element::Real,
            span: nest.origin.span(),
        });
        let index: Vec<Affine> = (0..nest.free)
            .map(|i| Affine::iterator(IterId(i)).plus(-1, &Affine::constant(nest.iterators[i].low)))
            .collect();
        let plain = term_expr(&Term { coefficient: 1.0, factors });
        let body = self.summed(plain, place).to_body();
        self.push(Nest { out: sum, out_index: index.clone(), body, ..nest.clone() });
        let body = Expr::mul(Expr::Constant(coefficient), Expr::Read(sum, index)).to_body();
        let iterators = nest.iterators[..nest.free].to_vec();
        Some(Nest { iterators, aggregate: Aggregate::Assign, body, ..nest.clone() })
    }

    /// A product that starts at a given value, as that value times a product.
    fn started_product(&mut self, nest: &Nest) {
        let free = &nest.iterators[..nest.free];
        let name = fresh_name(&self.program, &self.program.tensors[nest.out.0].name);
        let shape = free.iter().map(|i| i.extent() as u32).collect();
        let (role, element) = (Role::Temporary, Element::Real);
        let product = self.tensor(Tensor { name, shape, role, element, span: nest.origin.span() });
        let index: Vec<Affine> =
            (0..nest.free).map(|i| Affine::iterator(IterId(i)).plus(-1, &Affine::constant(free[i].low))).collect();
        let start = match nest.start.clone() {
            Start::Element { tensor, index } => Expr::Read(tensor, index),
            Start::Fill(value) => Expr::Constant(value),
            Start::Identity => Expr::Constant(1.0),
        };
        let value = Expr::mul(start, Expr::Read(product, index.clone()));
        self.nest(&Nest { out: product, out_index: index, start: Start::Identity, ..nest.clone() });
        self.nest(&Nest {
            iterators: free.to_vec(),
            aggregate: Aggregate::Assign,
            start: Start::Identity,
            body: value.to_body(),
            ..nest.clone()
        });
    }

    /// A tensor of constants.
    fn parameter(&mut self, name: &str, shape: Vec<u32>, values: Vec<f64>, span: Span) -> TensorId {
        let name = fresh_name(&self.program, name);
        self.tensor(Tensor { name, shape, role: Role::Parameter(values.into()), element: Element::Real, span })
    }

    /// An element that equals the argument of a function. Of a constant that has no value on real numbers (`log(0)`), the function
    /// unit gives one.
    fn argument(&mut self, e: Expr, place: &Place) -> Expr {
        match self.atom(e, place) {
            Expr::Constant(value) => {
                Expr::Read(self.parameter(&place.name, Vec::new(), vec![value], place.origin.span()), Vec::new())
            }
            read => read,
        }
    }

    /// An element or a constant that equals the expression.
    fn atom(&mut self, e: Expr, place: &Place) -> Expr {
        match e {
            Expr::Read(..) | Expr::Constant(_) => return e,
            Expr::Iterator(iterator) => {
                let Iterator { name, low, high } = &place.iterators[iterator.0];
                let values: Vec<f64> = (*low..*high).map(|v| v as f64).collect();
                let index = Affine::iterator(iterator).plus(-1, &Affine::constant(*low));
                return Expr::Read(
                    self.parameter(name, vec![values.len() as u32], values, place.origin.span()),
                    vec![index],
                );
            }
            _ => {}
        }
        let used = tied(&e, &place.guards);
        let iterators: Vec<Iterator> = used.iter().map(|i| place.iterators[i.0].clone()).collect();
        let with: Vec<Affine> = (0..place.iterators.len())
            .map(|i| used.iter().position(|u| u.0 == i).map_or(Affine::default(), |p| Affine::iterator(IterId(p))))
            .collect();
        let guards = place
            .guards
            .iter()
            .filter(|guard| {
                let (Guard::Within { value, .. } | Guard::Zero { value }) = guard;
                value.terms.iter().all(|t| used.contains(&t.0))
            })
            .filter_map(|guard| expr::guard(guard, place.iterators.len(), &with))
            .collect();
        let inner =
            Place { iterators: iterators.clone(), guards, name: place.name.clone(), origin: place.origin.clone() };
        let body = self.assigned(e.substitute(&with), &inner).to_body();
        let name = fresh_name(&self.program, &place.name);
        let tensor = self.tensor(Tensor {
            name,
            shape: iterators.iter().map(|i| i.extent() as u32).collect(),
            role: Role::Temporary,
            element: Element::Real,
            span: place.origin.span(),
        });
        let zero_based = |id: IterId, low: i64| Affine::iterator(id).plus(-1, &Affine::constant(low));
        let out_index = iterators.iter().enumerate().map(|(i, it)| zero_based(IterId(i), it.low)).collect();
        self.push(Nest {
            free: iterators.len(),
            iterators,
            guards: inner.guards,
            out: tensor,
            out_index,
            aggregate: Aggregate::Assign,
            start: Start::Identity,
            body,
            origin: place.origin.clone(),
        });
        Expr::Read(tensor, used.iter().map(|&i| zero_based(i, place.iterators[i.0].low)).collect())
    }

    /// How dear it is to scale this factor of a product over the iterators `all`: by the number of iterators, replicated inputs
    /// after others, by the number of elements, by how late it is known.
    fn cost(&self, e: &Expr, all: &BTreeSet<IterId>, place: &Place) -> (usize, bool, u64, usize) {
        let own = e.iterators();
        let input = match e {
            Expr::Read(tensor, _) => matches!(self.program.tensors[tensor.0].role, Role::Input | Role::Label),
            _ => false,
        };
        (own.len(), input && !own.is_empty() && own != *all, place.points(&own), self.level(e))
    }

    fn level(&self, e: &Expr) -> usize {
        e.tensors().iter().map(|t| self.levels[t.0]).max().unwrap_or(0)
    }

    /// Length of the longest chain of nests that leads to the value.
    fn known(&self, e: &Expr) -> usize {
        self.level(e) + usize::from(!matches!(e, Expr::Read(..) | Expr::Constant(_)))
    }

    /// `x * (±1 ± y)` as two terms, `±x ± x*y`, if two factors have this form: their places, and the terms.
    fn complement(&mut self, factors: &[Expr], place: &Place) -> Option<(usize, usize, [Term; 2])> {
        for (at, factor) in factors.iter().enumerate() {
            if !matches!(factor, Expr::Binary(Binary::Add | Binary::Sub, ..)) {
                continue;
            }
            let parts = terms(factor);
            let constant = parts.iter().position(|t| t.factors.is_empty() && t.coefficient.abs() == 1.0);
            let (Some(constant), 2) = (constant, parts.len()) else { continue };
            let (one, part) = (&parts[constant], &parts[1 - constant]);
            if part.factors.len() != 1 || part.coefficient.abs() != 1.0 {
                continue;
            }
            let y = part.factors[0].clone();
            let partner = (0..factors.len()).filter(|&p| p != at).min_by_key(|&p| {
                let both: BTreeSet<IterId> = factors[p].iterators().union(&y.iterators()).copied().collect();
                (factors[p] != y, place.points(&both), self.level(&factors[p]))
            })?;
            let x = self.atom(factors[partner].clone(), place);
            let y = self.atom(y, place);
            let plain = Term { coefficient: one.coefficient, factors: vec![x.clone()] };
            let product = Term { coefficient: part.coefficient, factors: vec![x, y] };
            return Some((partner, at, [plain, product]));
        }
        None
    }

    /// A term of at most two simple factors, whose coefficient costs nothing if there are two.
    fn reduced(&mut self, term: Term, place: &Place) -> Term {
        let Term { mut coefficient, mut factors } = term;
        while let Some((partner, at, [plain, product])) =
            if factors.len() > 1 { self.complement(&factors, place) } else { None }
        {
            let sum = Expr::add(term_expr(&plain), term_expr(&product));
            let sum = self.atom(sum, place);
            factors.remove(partner.max(at));
            factors.remove(partner.min(at));
            factors.push(sum);
        }
        if factors.len() >= 2 && !is_power_of_two(coefficient) {
            let all: BTreeSet<IterId> = factors.iter().flat_map(Expr::iterators).collect();
            let cheapest =
                (0..factors.len()).min_by_key(|&f| self.cost(&factors[f], &all, place)).expect("there are factors");
            let scaled = Expr::mul(Expr::Constant(coefficient.abs()), factors[cheapest].clone());
            factors[cheapest] = self.atom(scaled, place);
            coefficient = coefficient.signum();
        }
        while factors.len() > 2 {
            let (a, b) = self.first_pair(&factors, place);
            let product = Expr::mul(factors[a].clone(), factors[b].clone());
            let product = self.atom(product, place);
            factors.remove(b);
            factors[a] = product;
        }
        let factors = factors.into_iter().map(|f| self.atom(f, place)).collect();
        Term { coefficient, factors }
    }

    /// Which two of several factors to multiply first: those whose product has the fewest points, then those that are known first.
    /// In a small product, what is known first goes first: that is done while the last factor is still being computed.
    ///
    ///     w - p*t*x[i]     p = h < 1, h = sum ...      =>      z[i] = t*x[i];  w - p*z[i]
    fn first_pair(&self, factors: &[Expr], place: &Place) -> (usize, usize) {
        let iterators: Vec<BTreeSet<IterId>> = factors.iter().map(Expr::iterators).collect();
        let all: BTreeSet<IterId> = iterators.iter().flatten().copied().collect();
        let largest = iterators.iter().map(|own| place.points(own)).max().unwrap_or(1);
        let small = place.points(&all) <= IN_PASSING;
        let pairs = (0..factors.len()).flat_map(|a| (a + 1..factors.len()).map(move |b| (a, b)));
        let key = |&(a, b): &(usize, usize)| {
            let points = place.points(&iterators[a].union(&iterators[b]).copied().collect());
            let level = self.known(&factors[a]).max(self.known(&factors[b]));
            let in_passing = small && points <= largest;
            (if in_passing { level } else { usize::MAX }, points, level)
        };
        pairs.min_by_key(key).expect("three factors make pairs")
    }

    /// `start ± product` that equals the sum of the terms.
    fn linear(&mut self, mut terms: Vec<Term>, place: &Place) -> Expr {
        if let [term] = terms.as_slice()
            && term.coefficient.abs() == 1.0
            && term.factors.len() == 2
            && let Some((_, _, [plain, product])) = self.complement(&term.factors.clone(), place)
        {
            let sign = term.coefficient;
            terms = [plain, product].map(|t| Term { coefficient: t.coefficient * sign, factors: t.factors }).to_vec();
        }
        let mut terms: Vec<Term> = terms.into_iter().map(|t| self.reduced(t, place)).collect();
        while terms.len() > 2 {
            let mut order: Vec<usize> = (0..terms.len()).collect();
            order.sort_by_key(|&t| {
                let e = term_expr(&terms[t]);
                (place.points(&e.iterators()), self.level(&e))
            });
            let (a, b) = (order[0].min(order[1]), order[0].max(order[1]));
            let sum = Expr::add(term_expr(&terms[a]), term_expr(&terms[b]));
            let sum = self.atom(sum, place);
            terms.remove(b);
            terms[a] = Term::factor(sum);
        }
        match terms.len() {
            0 => return Expr::Constant(0.0),
            1 => return term_expr(&terms[0]),
            _ => {}
        }
        // The first factor of a product is never a constant: a constant term is where accumulation starts.
        let constant = terms.iter().position(|t| t.factors.is_empty());
        let start = if let Some(start) = constant.or_else(|| terms.iter().position(Term::is_plain)) {
            start
        } else {
            let start = (0..2)
                .min_by_key(|&t| {
                    let e = term_expr(&terms[t]);
                    (terms[t].factors.len(), place.points(&e.iterators()), self.level(&e))
                })
                .expect("two terms");
            let value = self.atom(term_expr(&terms[start]), place);
            terms[start] = Term::factor(value);
            start
        };
        let product = terms.remove(1 - start);
        let start = term_expr(&terms[0]);
        if product.coefficient < 0.0 {
            Expr::sub(start, term_expr(&Term { coefficient: -product.coefficient, ..product }))
        } else {
            Expr::add(start, term_expr(&product))
        }
    }
}

/// Iterators of an expression. Guards tie iterators together: all or none of a guard's iterators are used.
fn tied(e: &Expr, guards: &[Guard]) -> Vec<IterId> {
    let mut used = e.iterators();
    loop {
        let before = used.len();
        for guard in guards {
            let (Guard::Within { value, .. } | Guard::Zero { value }) = guard;
            if value.terms.iter().any(|t| used.contains(&t.0)) {
                used.extend(value.terms.iter().map(|t| t.0));
            }
        }
        if used.len() == before {
            return used.into_iter().collect();
        }
    }
}
