//! The laws of tensor IR, checked.
//!
//! | law | checked how |
//! |---|---|
//! | 1 numbers in range, free iterators first | directly |
//! | 2 written index, aggregate | directly |
//! | 3 accesses inside their tensors | interval of the index over the box; with guards, point by point if there are few, else not at all |
//! | 4 written before read | boxes of written elements; what is not a box counts as everything between its smallest and largest index |
//! | 5 inputs, labels, parameters are not written | directly |
//! | 6 own elements at the written index only | directly |
//! | 7 means are copies | directly |

use super::coverage::{Coverage, Region};
use super::{Affine, Aggregate, Guard, IterId, Nest, Node, NodeId, Program, Role, Start, Tensor, TensorId};
use crate::laws::{Check, Entity, Fault, Laws, Report, Stage, ensure, stop_at};
use std::collections::BTreeSet;

/// Check the laws of the module head.
///
/// # Panics
/// When a law is broken: that is a bug of ours, never the user's.
pub fn verify(program: &Program) {
    // Text needs numbers in range.
    let numbers = |laws: &Laws| laws.as_ref().is_err_and(|broken| broken.iter().any(|one| one.law == 1));
    let laws = laws(program);
    let text = if numbers(&laws) { format!("{program:#?}") } else { program.to_string() };
    stop_at(laws, || text);
}

/// The laws that are broken.
///
/// # Errors
/// If there are any.
pub fn laws(program: &Program) -> Laws {
    let mut report = Report::new(Stage::Tensor);
    let mut names = BTreeSet::new();
    for (number, tensor) in program.tensors.iter().enumerate() {
        let twice = ensure(names.insert(&tensor.name), 1, || "another tensor has its name".into());
        report.of(Entity::Tensor(number), || tensor.name.clone(), twice.and_then(|()| verify_tensor(program, tensor)));
    }
    report.of_program(references(program));
    for (number, nest) in program.nests.iter().enumerate() {
        report.of(Entity::Nest(number), String::new, structure(program, nest));
    }
    // What follows looks tensors and iterators up, and prints them.
    if !report.is_clean() {
        return report.laws();
    }
    let known = |tensor: &Tensor| {
        let shape = &tensor.shape;
        if tensor.role.is_computed() { Coverage::none(shape) } else { Coverage::all(shape) }
    };
    let mut written: Vec<Coverage> = program.tensors.iter().map(known).collect();
    for (number, nest) in program.nests.iter().enumerate() {
        let check = check_nest(program, nest, &mut written);
        report.of(Entity::Nest(number), || program.nest(nest), check);
    }
    report.laws()
}

/// Tensor numbers outside of Nests, and shapes that belong together.
fn references(program: &Program) -> Check {
    let shape = |id: TensorId| program.tensors.get(id.0).map(|tensor| &tensor.shape);
    let descents = program.descents.iter().map(|descent| (descent.state, descent.gradient, true));
    let updates = program.updates.iter().map(|update| (update.state, update.next, false));
    for (state, other, of_samples) in descents.chain(updates) {
        let (Some(own), Some(new)) = (shape(state), shape(other)) else {
            let why = format!("{state} is updated from {other}: there is no such tensor");
            return Err(Fault { law: 1, why });
        };
        // The gradients of a batch have its samples in front.
        let batched = of_samples && new.len() == own.len() + 1 && new[1..] == **own;
        ensure(new == own || batched, 1, || format!("{state} is updated from {other}, which has not its shape"))?;
        ensure(program.tensors[state.0].role == Role::State, 1, || format!("{state} is updated and no state"))?;
    }
    for (name, id) in &program.names {
        ensure(shape(*id).is_some(), 1, || format!("{name} is {id}, which is not a tensor"))?;
    }
    Ok(())
}

/// Law 1 of a tensor that belongs to another one or has values.
fn verify_tensor(program: &Program, tensor: &Tensor) -> Check {
    if let Role::Gradient(of) = tensor.role {
        let shape = program.tensors.get(of.0).map(|tensor| &tensor.shape);
        ensure(shape == Some(&tensor.shape), 1, || "a gradient has not its model's shape".into())?;
    }
    if let Role::Parameter(values) = &tensor.role {
        let elements: usize = tensor.shape.iter().map(|&extent| extent as usize).product();
        ensure(values.len() == elements, 1, || format!("it has {} values of {elements}", values.len()))?;
    }
    Ok(())
}

fn check_nest(program: &Program, nest: &Nest, written: &mut [Coverage]) -> Check {
    let out = &program.tensors[nest.out.0];
    ensure(!matches!(out.role, Role::Input | Role::Label | Role::Parameter(_)), 5, || {
        format!("{} is written", out.name)
    })?;
    let copies = matches!(nest.body.nodes.as_slice(), [Node::Read { .. }]) && nest.aggregate == Aggregate::Assign;
    ensure(out.role != Role::Mean || copies, 7, || format!("the mean {} is computed", out.name))?;
    for node in &nest.body.nodes {
        match node {
            Node::Read { tensor, index } => {
                ensure(*tensor != nest.out || *index == nest.out_index, 6, || {
                    format!("it reads other elements of {} than it writes", out.name)
                })?;
            }
            Node::Gather { tensor, .. } => {
                ensure(*tensor != nest.out, 6, || "it gathers from what it writes".into())?;
            }
            _ => {}
        }
    }
    accesses(program, nest)?;
    if nest.iterators.iter().any(|iterator| iterator.low >= iterator.high) {
        return Ok(());
    }
    if nest.guards.is_empty() {
        for (tensor, index) in affine_reads(nest) {
            if let Some(missing) = written[tensor.0].missing(&region(nest, index)) {
                let name = &program.tensors[tensor.0].name;
                return Err(Fault { law: 4, why: format!("{name}{missing:?} is read before it is written") });
            }
        }
    }
    written[nest.out.0].add(&region(nest, &nest.out_index));
    Ok(())
}

/// Laws 1 and 2.
fn structure(program: &Program, nest: &Nest) -> Check {
    let count = nest.iterators.len();
    ensure(nest.free <= count, 1, || "more free iterators than iterators".into())?;
    let reduces = nest.free < count;
    ensure(reduces == (nest.aggregate != Aggregate::Assign), 2, || {
        format!("{:?} with {} reduction iterators", nest.aggregate, count - nest.free)
    })?;
    let affine = |value: &Affine, limit: usize| {
        let sorted = value.terms.windows(2).all(|pair| pair[0].0 < pair[1].0);
        let good = value.terms.iter().all(|&(IterId(iterator), coefficient)| iterator < limit && coefficient != 0);
        ensure(sorted && good, 1, || format!("the index {value:?}"))
    };
    let access = |tensor: TensorId, index: &[Affine], limit: usize| {
        let rank = program.tensors.get(tensor.0).map(|tensor| tensor.shape.len());
        ensure(rank == Some(index.len()), 1, || format!("{tensor} with {} subscripts", index.len()))?;
        index.iter().try_for_each(|value| affine(value, limit))
    };
    access(nest.out, &nest.out_index, nest.free)?;
    if let Start::Element { tensor, index } = &nest.start {
        access(*tensor, index, nest.free)?;
    }
    for guard in &nest.guards {
        let (Guard::Within { value, .. } | Guard::Zero { value }) = guard;
        affine(value, count)?;
    }
    ensure(!nest.body.nodes.is_empty(), 1, || "an empty body".into())?;
    for (number, node) in nest.body.nodes.iter().enumerate() {
        ensure(node.operands().iter().all(|&NodeId(operand)| operand < number), 1, || {
            format!("node n{number} uses a later one")
        })?;
        match node {
            Node::Read { tensor, index } => access(*tensor, index, count)?,
            Node::Gather { tensor, index } => {
                let rank = program.tensors.get(tensor.0).map(|tensor| tensor.shape.len());
                ensure(rank == Some(index.len()), 1, || format!("{tensor} with {} subscripts", index.len()))?;
            }
            Node::Iterator(IterId(iterator)) => {
                ensure(*iterator < count, 1, || format!("iterator i{iterator} of {count}"))?;
            }
            _ => {}
        }
    }
    Ok(())
}

/// Points beyond which guarded accesses are not looked at one by one.
const FEW_POINTS: u64 = 1 << 16;

/// The elements that a Nest reads at places known beforehand.
fn affine_reads(nest: &Nest) -> impl Iterator<Item = (TensorId, &[Affine])> {
    let of_body = nest.body.nodes.iter().filter_map(|node| match node {
        Node::Read { tensor, index } => Some((*tensor, index.as_slice())),
        _ => None,
    });
    let start = match &nest.start {
        Start::Element { tensor, index } => Some((*tensor, index.as_slice())),
        _ => None,
    };
    of_body.chain(start)
}

/// Law 3 of one Nest: what it reads and writes at places known beforehand is inside its tensors.
///
/// # Errors
/// The first index that is not.
pub fn accesses(program: &Program, nest: &Nest) -> Check {
    if nest.iterators.iter().any(|iterator| iterator.low >= iterator.high) {
        return Ok(());
    }
    affine_reads(nest)
        .chain([(nest.out, nest.out_index.as_slice())])
        .try_for_each(|(tensor, index)| inside(program, nest, tensor, index))
}

fn inside(program: &Program, nest: &Nest, tensor: TensorId, index: &[Affine]) -> Check {
    let tensor = &program.tensors[tensor.0];
    ensure(index.len() == tensor.shape.len(), 3, || {
        format!("{} has {} dimensions and {} indices", tensor.name, tensor.shape.len(), index.len())
    })?;
    for (value, &extent) in index.iter().zip(&tensor.shape) {
        let (low, high) = value.range(&nest.iterators);
        if low >= 0 && high < i64::from(extent) {
            continue;
        }
        let guarded = |guard: &Guard| matches!(guard, Guard::Within { value: same, bound } if same == value && *bound <= i64::from(extent));
        if nest.guards.iter().any(guarded) {
            continue;
        }
        let points = nest.iterators.iter().fold(1u64, |product, iterator| product.saturating_mul(iterator.extent()));
        if !nest.guards.is_empty()
            && (points > FEW_POINTS || every_point(nest, |at| (0..i64::from(extent)).contains(&value.at(at))))
        {
            continue;
        }
        let why = format!("an index of {} runs from {low} to {high}, the extent is {extent}", tensor.name);
        return Err(Fault { law: 3, why });
    }
    Ok(())
}

/// Whether something holds for every point whose guards hold.
fn every_point(nest: &Nest, holds: impl Fn(&[i64]) -> bool) -> bool {
    let mut point: Vec<i64> = nest.iterators.iter().map(|iterator| iterator.low).collect();
    loop {
        let exists = nest.guards.iter().all(|guard| match guard {
            Guard::Within { value, bound } => (0..*bound).contains(&value.at(&point)),
            Guard::Zero { value } => value.at(&point) == 0,
        });
        if exists && !holds(&point) {
            return false;
        }
        let Some(next) = (0..point.len()).rev().find(|&n| point[n] + 1 < nest.iterators[n].high) else { return true };
        point[next] += 1;
        for (later, iterator) in point.iter_mut().zip(&nest.iterators).skip(next + 1) {
            *later = iterator.low;
        }
    }
}

/// The elements that an access touches. Dimensions with the same index are tied; other dependences are ignored.
pub(crate) fn region(nest: &Nest, index: &[Affine]) -> Region {
    let range = |value: &Affine| {
        let (low, high) = value.range(&nest.iterators);
        (low, high + 1)
    };
    let first =
        |value: &Affine| if value.terms.is_empty() { None } else { index.iter().position(|other| other == value) };
    Region {
        ranges: index.iter().map(range).collect(),
        tied: index.iter().enumerate().map(|(dimension, value)| first(value).unwrap_or(dimension)).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::laws;
    use crate::language::{Language, Options, parse};
    use crate::laws::{Laws, first};
    use crate::tensor::{Affine, Aggregate, Guard, IterId, Nest, Node, NodeId, Program, TensorId};

    fn program() -> Program {
        let text = "model_input x[3]; iterator i[0:3]; a[i] = x[i] + 1; b = sum[i](a[i]);";
        parse(Language::Tabla, text, &Options::default()).unwrap().0
    }

    fn broken(change: impl Fn(&mut Program)) -> u32 {
        let mut program = program();
        assert_eq!(laws(&program), Ok(()));
        change(&mut program);
        first(laws(&program)).0
    }

    #[test]
    fn every_law_is_checked() {
        assert_eq!(broken(|p| p.nests[0].free = 7), 1);
        assert_eq!(broken(|p| p.nests[0].aggregate = Aggregate::Add), 2);
        assert_eq!(broken(|p| p.nests[1].out_index = vec![Affine::iterator(IterId(0))]), 1);
        assert_eq!(broken(|p| p.nests[0].iterators[0].high = 4), 3);
        assert_eq!(broken(|p| p.nests.swap(0, 1)), 4);
        assert_eq!(broken(|p| p.nests[0].iterators[0].high = 2), 4);
        assert_eq!(broken(|p| p.nests[0].out = crate::tensor::TensorId(0)), 5);
        assert_eq!(broken(|p| p.nests[0].out_index = vec![Affine::constant(1)]), 4);
    }

    #[test]
    fn guards_keep_accesses_inside() {
        let mut program = program();
        program.nests[0].iterators[0].high = 9;
        assert!(laws(&program).is_err());
        program.nests[0].guards.push(Guard::Within { value: Affine::iterator(IterId(0)), bound: 3 });
        assert_eq!(laws(&program), Ok(()));
    }

    const RIGHT: &str = "input x[3]
input big[70000]
label y
state w[3]
state v[3]
temporary a[3]
temporary b
temporary d[3][3]
temporary e[3][3]
temporary f[70000]
gradient(w) g[3]
parameter p[2]: int8 = [1, -2]
temporary n[7][3]
mean m

a[i] = x[i]  for i in 0..1
a[i] = x[i] * w[i]  for i in 1..3
b += from w[2]: a[i]  over i in 0..3
g[i] = b * x[i] - y  for i in 0..3
a[i] = a[i] + i  for i in 0..3
a[i] = gather(x, i)  for i in 0..3
m = b
d[i][i] = x[i]  for i in 0..3
e[i][i] = d[i][i]  for i in 0..3
w -= 0.5 * g
v := a
name h = b
";

    fn of(text: &str) -> Laws {
        laws(&text.parse::<Program>().expect("a good text"))
    }

    #[test]
    fn every_law_is_checked_on_texts() {
        assert_eq!(of(RIGHT), Ok(()));
        for (law, start, from, to) in [
            (1, "a gradient has not", "g[3]", "g[4]"),
            (1, "%", "v := a", "v := n"),
            (1, "%", "v := a", "v := b"),
            (1, "%", "v := a", "a := v"),
            (1, "a gradient has not", "gradient(w) g[3]", "gradient(p) g[3]"),
            (1, "it has 2 values", "p[2]", "p[3]"),
            (3, "", "gather(x, i)  for", "x[i + 1]  for"),
            (3, "", "from w[2]", "from w[3]"),
            (4, "", "m = b", "m = n[0][0]"),
            (4, "", "from w[2]", "from n[0][0]"),
            (4, "", "for i in 1..3", "for i in 2..3"),
            (4, "", "e[i][i] = d[i][i]  for i in 0..3", "e[i][j] = d[i][j]  for i in 0..3, j in 0..3"),
            (4, "", "d[i][i] = x[i]  for i in 0..3", "d[i][i] = x[i]  for i in 0..2"),
            (5, "", "a[i] = gather(x, i)  for", "x[i] = x[i]  for"),
            (6, "", "a[i] = a[i] + i  for", "a[i] = a[0] + i  for"),
            (6, "", "gather(x, i)", "gather(a, i)"),
            (7, "", "m = b", "m = b + b"),
            (7, "", "m = b", "m += x[i]  over i in 0..3"),
        ] {
            assert_eq!(RIGHT.matches(from).count(), 1, "{from}");
            let (number, why) = first(of(&RIGHT.replace(from, to)));
            assert!(number == law && why.starts_with(start), "{to}: law {number}: {why}");
        }
    }

    /// What is no text: numbers of iterators, nodes and tensors that do not exist.
    #[test]
    fn numbers_are_in_range() {
        let changed = |line: &str, change: fn(&mut Nest)| {
            let mut program: Program = format!("input x[3]\ntemporary a[3]\n{line}\n").parse().expect("a good text");
            assert_eq!(laws(&program), Ok(()));
            change(&mut program.nests[0]);
            first(laws(&program))
        };
        let [read, gathered, counted] =
            ["a[i] = x[i]", "a[i] = gather(x, i)", "a[i] = -i"].map(|line| format!("{line}  for i in 0..3"));
        let reads: [fn(&mut Nest); 5] = [
            |nest| nest.body.nodes[0] = read_at(&[(0, 1), (0, 1)]),
            |nest| nest.body.nodes[0] = read_at(&[(0, 0)]),
            |nest| nest.body.nodes[0] = read_at(&[(1, 1)]),
            |nest| nest.body.nodes[0] = Node::Read { tensor: TensorId(0), index: Vec::new() },
            |nest| nest.body.nodes[0] = Node::Read { tensor: TensorId(7), index: vec![Affine::constant(0)] },
        ];
        for change in reads {
            assert_eq!(changed(&read, change).0, 1);
        }
        assert_eq!(
            changed(&gathered, |nest| nest.body.nodes[1] = Node::Gather { tensor: TensorId(0), index: Vec::new() }).0,
            1
        );
        assert_eq!(
            changed(&counted, |nest| nest.body.nodes[0] = Node::Iterator(IterId(1))),
            (1, "iterator i1 of 1".into())
        );
        let own = |nest: &mut Nest| nest.body.nodes[1] = nest.body.nodes[1].with_operands(|_| NodeId(1));
        assert_eq!(changed(&counted, own), (1, "node n1 uses a later one".into()));
    }

    fn read_at(terms: &[(usize, i64)]) -> Node {
        let terms = terms.iter().map(|&(iterator, factor)| (IterId(iterator), factor)).collect();
        Node::Read { tensor: TensorId(0), index: vec![Affine { offset: 0, terms }] }
    }

    /// Where no interval shows it, guarded accesses are looked at point by point.
    #[test]
    fn guarded_points_are_inside() {
        let sum = |value: &str| of(&format!("input x[3]\ninput z[7]\ntemporary b\nb += {value}\n"));
        for (right, value) in [
            (true, "x[i]  over i in 0..9  if 0 <= 2*i < 6"),
            (false, "x[i]  over i in 0..9  if 0 <= 2*i < 7"),
            (true, "x[i]  over i in 0..9  if i - 2 == 0"),
            (false, "x[i]  over i in 0..9  if i - 3 == 0"),
            // Of (i, k) only (2, 1) would read x[3].
            (true, "x[i + k]  over i in 0..3, k in 0..2  if 0 <= i + 2*k < 4"),
            (false, "x[i + k]  over i in 0..3, k in 0..2  if 0 <= i + 2*k < 5"),
            (false, "x[i + k + 1]  over i in 0..3, k in 0..2  if 0 <= i + 2*k < 4"),
            // Of 256 by 256 points the last one alone is looked at, and is outside.
            (false, "z[i + k - 503]  over i in 0..256, k in 0..256  if 0 <= i + k - 506 < 5 and 0 <= 2*i - 508 < 5"),
            // More points are not looked at.
            (true, "z[i + k - 503]  over i in 0..257, k in 0..256  if 0 <= i + k - 506 < 5 and 0 <= 2*i - 508 < 5"),
        ] {
            let found = sum(value);
            assert_eq!(found.is_ok(), right, "{value}: {found:?}");
        }
        let far = of("input big[70000]\ntemporary f[70000]\nf[i] = big[i + 1]  for i in 0..70000\n");
        assert_eq!(first(far).0, 3);
    }

    #[test]
    #[should_panic(expected = "law 7 of tensor IR")]
    fn a_bug_stops_the_compiler() {
        super::verify(&RIGHT.replace("m = b", "m = b + b").parse().expect("a good text"));
    }
}
