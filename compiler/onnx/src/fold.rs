//! Nests of constants, computed: shapes and indices of a graph become numbers by the same definition as everything else.

use compiler::tensor::{
    Affine, Aggregate, Binary, Guard, IterId, Nest, Node, NodeId, Role, Start, Tensor, TensorId, Unary,
};

/// The elements that Nests write to one tensor, from parameters only; nothing if one stays without a value.
pub(crate) fn evaluate(tensors: &[Tensor], nests: &[Nest], out: TensorId) -> Option<Vec<f64>> {
    let size: usize = tensors[out.0].shape.iter().map(|&extent| extent as usize).product();
    let mut values = vec![0.0; size];
    let mut written = vec![false; size];
    for nest in nests {
        run(tensors, nest, &mut values, &mut written)?;
    }
    written.iter().all(|&written| written).then_some(values)
}

fn parameter(tensors: &[Tensor], tensor: TensorId) -> Option<&[f64]> {
    if let Role::Parameter(values) = &tensors[tensor.0].role { Some(values) } else { None }
}

fn place(shape: &[u32], index: impl Iterator<Item = i64>) -> Option<usize> {
    index.zip(shape).try_fold(0usize, |place, (index, &extent)| {
        (0..i64::from(extent)).contains(&index).then(|| place * extent as usize + index as usize)
    })
}

fn run(tensors: &[Tensor], nest: &Nest, values: &mut [f64], written: &mut [bool]) -> Option<()> {
    let shape = &tensors[nest.out.0].shape;
    if nest.iterators.iter().any(|iterator| iterator.low >= iterator.high) {
        return Some(());
    }
    let mut point: Vec<i64> = nest.iterators.iter().map(|iterator| iterator.low).collect();
    let mut found: Vec<f64> = Vec::with_capacity(nest.body.nodes.len());
    loop {
        let exists = nest.guards.iter().all(|guard| match guard {
            Guard::Within { value, bound } => (0..*bound).contains(&value.at(&point)),
            Guard::Zero { value } => value.at(&point) == 0,
        });
        if exists {
            let at = place(shape, nest.out_index.iter().map(|form| form.at(&point)))?;
            let first = nest.iterators.iter().zip(&point).skip(nest.free).all(|(iterator, &at)| at == iterator.low);
            let value = body(tensors, nest, &point, (values, written), &mut found)?;
            // With guards, the first point of an element is the first that exists.
            let begins =
                if nest.guards.is_empty() { first } else { !written[at] || nest.aggregate == Aggregate::Assign };
            let so_far = if begins { start(tensors, nest, &point, values)? } else { values[at] };
            values[at] = match nest.aggregate {
                Aggregate::Assign => value,
                Aggregate::Add => so_far + value,
                Aggregate::Mul => so_far * value,
                Aggregate::Min => smaller(so_far, value),
                Aggregate::Max => -smaller(-so_far, -value),
            };
            written[at] = true;
        }
        let Some(next) = (0..point.len()).rev().find(|&n| point[n] + 1 < nest.iterators[n].high) else { break };
        point[next] += 1;
        for (later, iterator) in point.iter_mut().zip(&nest.iterators).skip(next + 1) {
            *later = iterator.low;
        }
    }
    Some(())
}

fn start(tensors: &[Tensor], nest: &Nest, point: &[i64], values: &[f64]) -> Option<f64> {
    Some(match &nest.start {
        Start::Identity => identity(nest.aggregate),
        Start::Fill(value) => *value,
        Start::Element { tensor, index } => {
            let at = place(&tensors[tensor.0].shape, index.iter().map(|form: &Affine| form.at(point)))?;
            if *tensor == nest.out { values[at] } else { parameter(tensors, *tensor)?[at] }
        }
    })
}

/// What an aggregate of nothing is.
pub(crate) fn identity(aggregate: Aggregate) -> f64 {
    match aggregate {
        Aggregate::Assign | Aggregate::Add => 0.0,
        Aggregate::Mul => 1.0,
        Aggregate::Min => f64::INFINITY,
        Aggregate::Max => f64::NEG_INFINITY,
    }
}

fn smaller(a: f64, b: f64) -> f64 {
    if a.is_nan() || b.is_nan() { f64::NAN } else { a.min(b) }
}

/// The value at a point; `found` has room for the values of the nodes.
fn body(tensors: &[Tensor], nest: &Nest, point: &[i64], own: (&[f64], &[bool]), found: &mut Vec<f64>) -> Option<f64> {
    found.clear();
    let element = |tensor: TensorId, at: usize| {
        if tensor == nest.out {
            own.1[at].then(|| own.0[at])
        } else {
            parameter(tensors, tensor).map(|values| values[at])
        }
    };
    for node in &nest.body.nodes {
        let of = |id: &NodeId| found[id.0];
        let value = match node {
            Node::Constant(value) => *value,
            Node::Iterator(IterId(iterator)) => point[*iterator] as f64,
            Node::Read { tensor, index } => {
                element(*tensor, place(&tensors[tensor.0].shape, index.iter().map(|form| form.at(point)))?)?
            }
            Node::Gather { tensor, index } => {
                element(*tensor, place(&tensors[tensor.0].shape, index.iter().map(|id| of(id).floor() as i64))?)?
            }
            Node::Unary(Unary::Neg, a) => -of(a),
            Node::Unary(Unary::Not, a) => f64::from(of(a) == 0.0),
            Node::Binary(operation, a, b) => binary(*operation, of(a), of(b))?,
            Node::Select { condition, yes, no } => of(if of(condition) == 0.0 { no } else { yes }),
            Node::Cast(..) => return None,
            Node::Call(function, list) => {
                let mut arguments = [0.0; 3];
                arguments.iter_mut().zip(list).for_each(|(to, id)| *to = of(id));
                function.value(arguments)
            }
        };
        found.push(value);
    }
    found.pop()
}

fn binary(operation: Binary, a: f64, b: f64) -> Option<f64> {
    Some(match operation {
        Binary::Add => a + b,
        Binary::Sub => a - b,
        Binary::Mul => a * b,
        Binary::DivControlled if b == 0.0 && a == 0.0 => 0.0,
        Binary::DivControlled | Binary::DivFloor | Binary::RemFloor if b == 0.0 => return None,
        Binary::Div | Binary::DivControlled => a / b,
        Binary::DivFloor => (a / b).floor(),
        Binary::RemFloor => a - b * (a / b).floor(),
        Binary::Min => smaller(a, b),
        Binary::Max => -smaller(-a, -b),
        Binary::Lt => f64::from(a < b),
        Binary::Le => f64::from(a <= b),
        Binary::Gt => f64::from(a > b),
        Binary::Ge => f64::from(a >= b),
        Binary::Eq => f64::from(a == b),
        Binary::Ne => f64::from(a != b),
        Binary::And => f64::from(a != 0.0 && b != 0.0),
        Binary::Or => f64::from(a != 0.0 || b != 0.0),
    })
}
