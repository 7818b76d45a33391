//! Values at a point of a loop nest, as expressions that become the body of a Nest.

use compiler::tensor::{Affine, Binary, Body, Function, IterId, Node, NodeId, TensorId, Unary};

/// An expression.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Ex {
    /// A number.
    Number(f64),
    /// A form of the iterators, as a value.
    At(Affine),
    /// An element.
    Read(TensorId, Vec<Affine>),
    /// An element whose index is computed.
    Gather(TensorId, Vec<Ex>),
    /// An operation on one value.
    Unary(Unary, Box<Ex>),
    /// An operation on two values.
    Binary(Binary, Box<Ex>, Box<Ex>),
    /// Condition, value if it holds, value otherwise.
    Select(Box<[Ex; 3]>),
    /// A function.
    Call(Function, Vec<Ex>),
}

/// A number.
pub(crate) fn num(value: f64) -> Ex {
    Ex::Number(value)
}

/// An iterator as an index.
pub(crate) fn it(iterator: usize) -> Affine {
    Affine::iterator(IterId(iterator))
}

/// The index 0, or any constant one.
pub(crate) fn fixed(index: i64) -> Affine {
    Affine::constant(index)
}

/// `factor * index + offset`
pub(crate) fn scaled(index: &Affine, factor: i64, offset: i64) -> Affine {
    Affine::constant(offset).plus(factor, index)
}

/// One value or another.
pub(crate) fn select(condition: Ex, yes: Ex, no: Ex) -> Ex {
    Ex::Select(Box::new([condition, yes, no]))
}

/// A function of one value.
pub(crate) fn call(function: Function, argument: Ex) -> Ex {
    Ex::Call(function, vec![argument])
}

/// A function of two values.
pub(crate) fn call2(function: Function, a: Ex, b: Ex) -> Ex {
    Ex::Call(function, vec![a, b])
}

macro_rules! methods {
    ($($(#[$doc:meta])* $name:ident: $operation:ident),* $(,)?) => {
        impl Ex {
            $($(#[$doc])* pub(crate) fn $name(self, other: impl Into<Ex>) -> Ex {
                Ex::Binary(Binary::$operation, Box::new(self), Box::new(other.into()))
            })*
        }
    };
}

methods! {
    /// The smaller one.
    min: Min,
    /// The larger one.
    max: Max,
    /// Whether it is less.
    lt: Lt,
    /// Whether it is not more.
    le: Le,
    /// Whether it is more.
    gt: Gt,
    /// Whether it is not less.
    ge: Ge,
    /// Whether both are equal.
    equals: Eq,
    /// Whether they differ.
    differs: Ne,
    /// Both conditions.
    and: And,
    /// Either condition.
    or: Or,
    /// `floor(a / b)`
    floor_div: DivFloor,
    /// The remainder with the sign of the divisor.
    floor_rem: RemFloor,
}

impl Ex {
    /// Logical not.
    pub(crate) fn negated(self) -> Ex {
        Ex::Unary(Unary::Not, Box::new(self))
    }

    /// The largest whole number that is not above.
    pub(crate) fn floor(self) -> Ex {
        call(Function::Floor, self)
    }

    /// Its square.
    pub(crate) fn squared(self) -> Ex {
        self.clone() * self
    }

    /// To the nearest whole number, halves to the even one.
    pub(crate) fn round_even(self) -> Ex {
        call(Function::Rint, self)
    }

    /// The node of the value.
    fn emit(&self, body: &mut Body) -> NodeId {
        let node = match self {
            Ex::Number(value) => Node::Constant(*value),
            Ex::At(form) => return emit_form(form, body),
            Ex::Read(tensor, index) => Node::Read { tensor: *tensor, index: index.clone() },
            Ex::Gather(tensor, index) => {
                Node::Gather { tensor: *tensor, index: index.iter().map(|index| index.emit(body)).collect() }
            }
            Ex::Unary(operation, a) => Node::Unary(*operation, a.emit(body)),
            Ex::Binary(operation, a, b) => {
                let a = a.emit(body);
                Node::Binary(*operation, a, b.emit(body))
            }
            Ex::Select(parts) => {
                let [condition, yes, no] = parts.each_ref().map(|part| part.emit(body));
                Node::Select { condition, yes, no }
            }
            Ex::Call(function, list) => Node::Call(*function, list.iter().map(|a| a.emit(body)).collect()),
        };
        once(node, body)
    }

    /// The body of a Nest with this value.
    pub(crate) fn to_body(&self) -> Body {
        let mut body = Body::default();
        let root = self.emit(&mut body);
        if root == body.root() { body } else { body.rooted(root) }
    }
}

/// A node, which is the same one where it is needed twice.
fn once(node: Node, body: &mut Body) -> NodeId {
    match body.nodes.iter().position(|known| *known == node) {
        Some(known) => NodeId(known),
        None => body.push(node),
    }
}

fn emit_form(form: &Affine, body: &mut Body) -> NodeId {
    let mut sum = None;
    for &(iterator, coefficient) in &form.terms {
        let mut term = once(Node::Iterator(iterator), body);
        if coefficient != 1 {
            let factor = once(Node::Constant(coefficient as f64), body);
            term = once(Node::Binary(Binary::Mul, factor, term), body);
        }
        sum = Some(sum.map_or(term, |sum| once(Node::Binary(Binary::Add, sum, term), body)));
    }
    match sum {
        None => once(Node::Constant(form.offset as f64), body),
        Some(sum) if form.offset == 0 => sum,
        Some(sum) => {
            let offset = once(Node::Constant(form.offset as f64), body);
            once(Node::Binary(Binary::Add, sum, offset), body)
        }
    }
}

impl From<f64> for Ex {
    fn from(value: f64) -> Ex {
        Ex::Number(value)
    }
}

macro_rules! operators {
    ($($trait:ident $method:ident $operation:ident),*) => {
        $(impl<T: Into<Ex>> std::ops::$trait<T> for Ex {
            type Output = Ex;

            fn $method(self, other: T) -> Ex {
                Ex::Binary(Binary::$operation, Box::new(self), Box::new(other.into()))
            }
        })*
    };
}

operators!(Add add Add, Sub sub Sub, Mul mul Mul, Div div Div);

impl std::ops::Neg for Ex {
    type Output = Ex;

    fn neg(self) -> Ex {
        Ex::Unary(Unary::Neg, Box::new(self))
    }
}
