//! Text form of tensor IR.
//!
//! ```text
//! input x[3]
//! label y
//! state w[3]
//! temporary sum.1
//! gradient(w) g[3]
//!
//! sum.1 += w[i] * x[i]                 for i in 0..3
//! h = sum.1
//! g[i] = (h - y) * x[i]                for i in 0..3
//! w -= 0.5 * g
//! ```
//!
//! One line per Nest: what is written, how values are combined (`=`, `+=`, `*=`, `min=`, `max=`), the value, the loops (reduction iterators after
//! `over`), the guards. A value that is used more than once has a name: `where n3 = ...`.

use super::{
    Affine, Aggregate, Binary, Element, Guard, IterId, Nest, Node, NodeId, Program, Role, Start, TensorId, Unary,
};
use std::fmt::{Display, Formatter, Result, Write};

impl Display for Program {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        for tensor in &self.tensors {
            let shape: String = tensor.shape.iter().fold(String::new(), |text, extent| text + &format!("[{extent}]"));
            write!(f, "{} {}{shape}", self.role(&tensor.role), tensor.name)?;
            match tensor.element {
                Element::Real => {}
                element => write!(f, ": {element}")?,
            }
            if let Role::Parameter(values) = &tensor.role {
                write!(f, " = {values:?}")?;
            }
            writeln!(f)?;
        }
        writeln!(f)?;
        for nest in &self.nests {
            writeln!(f, "{}", self.nest(nest))?;
        }
        for descent in &self.descents {
            writeln!(f, "{} -= {} * {}", self.name(descent.state), descent.rate, self.name(descent.gradient))?;
        }
        for update in &self.updates {
            writeln!(f, "{} := {}", self.name(update.state), self.name(update.next))?;
        }
        Ok(())
    }
}

impl Display for Element {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        match self {
            Element::Real => f.write_str("real"),
            Element::Bool => f.write_str("bool"),
            Element::Int { bits, signed: true } => write!(f, "int{bits}"),
            Element::Int { bits, signed: false } => write!(f, "uint{bits}"),
        }
    }
}

impl Program {
    /// The text form of one Nest, without line end.
    pub fn nest(&self, nest: &Nest) -> String {
        let mut text = self.element(nest.out, &nest.out_index, nest);
        let _ = write!(text, " {} ", sign(nest.aggregate));
        let (value, shared) = self.body(nest);
        match &nest.start {
            Start::Identity => {}
            Start::Fill(value) => {
                let _ = write!(text, "from {value}: ");
            }
            Start::Element { tensor, index } => {
                let _ = write!(text, "from {}: ", self.element(*tensor, index, nest));
            }
        }
        text += &value;
        for (free, word) in [(true, "for"), (false, "over")] {
            let range = if free { 0..nest.free } else { nest.free..nest.iterators.len() };
            for (number, iterator) in nest.iterators[range].iter().enumerate() {
                let word = if number == 0 { format!("  {word} ") } else { ", ".into() };
                let _ = write!(text, "{word}{} in {}..{}", iterator.name, iterator.low, iterator.high);
            }
        }
        for (number, guard) in nest.guards.iter().enumerate() {
            text += if number == 0 { "  if " } else { " and " };
            match guard {
                Guard::Within { value, bound } => {
                    let _ = write!(text, "0 <= {} < {bound}", affine(value, nest));
                }
                Guard::Zero { value } => {
                    let _ = write!(text, "{} == 0", affine(value, nest));
                }
            }
        }
        for (number, (name, value)) in shared.iter().enumerate() {
            let _ = write!(text, "{} {name} = {value}", if number == 0 { "  where" } else { "," });
        }
        text
    }

    fn name(&self, tensor: TensorId) -> &str {
        self.tensors.get(tensor.0).map_or("?", |tensor| &tensor.name)
    }

    fn role(&self, role: &Role) -> String {
        match role {
            Role::Input => "input".into(),
            Role::Label => "label".into(),
            Role::State => "state".into(),
            Role::Parameter(_) => "parameter".into(),
            Role::Temporary => "temporary".into(),
            Role::Output => "output".into(),
            Role::InOut => "inout".into(),
            Role::Gradient(of) => format!("gradient({})", self.name(*of)),
        }
    }

    fn element(&self, tensor: TensorId, index: &[Affine], nest: &Nest) -> String {
        let subscript = |text: String, index: &Affine| text + "[" + &affine(index, nest) + "]";
        index.iter().fold(self.name(tensor).to_string(), subscript)
    }

    /// The value of the body, and the values that it uses more than once. No recursion: bodies can be long.
    fn body(&self, nest: &Nest) -> (String, Vec<(String, String)>) {
        let nodes = &nest.body.nodes;
        let mut uses = vec![0usize; nodes.len()];
        for operand in nodes.iter().flat_map(Node::operands) {
            uses[operand.0] += 1;
        }
        let mut texts: Vec<(String, u8)> = Vec::with_capacity(nodes.len());
        let mut shared = Vec::new();
        for (number, node) in nodes.iter().enumerate() {
            let mut text = self.node(node, nest, &mut texts, &uses);
            if uses[number] > 1 && !matches!(node, Node::Constant(_) | Node::Iterator(_) | Node::Read { .. }) {
                let name = NodeId(number).to_string();
                shared.push((name.clone(), std::mem::replace(&mut text, (name, ATOM)).0));
            }
            texts.push(text);
        }
        (texts.pop().unwrap_or_default().0, shared)
    }

    fn node(&self, node: &Node, nest: &Nest, texts: &mut [(String, u8)], uses: &[usize]) -> (String, u8) {
        // The text of an operand; moved out when this is its only use.
        let mut operand = |id: NodeId, binds: u8| {
            let (text, strength) = if uses[id.0] > 1 { texts[id.0].clone() } else { std::mem::take(&mut texts[id.0]) };
            if strength < binds { format!("({text})") } else { text }
        };
        match node {
            Node::Constant(value) if *value < 0.0 => (format!("({value})"), ATOM),
            Node::Constant(value) => (value.to_string(), ATOM),
            Node::Iterator(iterator) => (iterator_name(*iterator, nest), ATOM),
            Node::Read { tensor, index } => (self.element(*tensor, index, nest), ATOM),
            Node::Gather { tensor, index } => {
                let name = self.name(*tensor).to_string();
                (index.iter().fold(name, |text, id| text + "[" + &operand(*id, 0) + "]"), ATOM)
            }
            Node::Unary(Unary::Neg, a) => ("-".to_string() + &operand(*a, ATOM), ATOM - 1),
            Node::Unary(Unary::Not, a) => ("!".to_string() + &operand(*a, ATOM), ATOM - 1),
            Node::Binary(operator, a, b) => {
                let (sign, strength) = infix(*operator);
                let mut text = operand(*a, strength);
                let _ = write!(text, " {sign} {}", operand(*b, strength + 1));
                (text, strength)
            }
            Node::Select { condition, yes, no } => {
                (format!("select({}, {}, {})", operand(*condition, 0), operand(*yes, 0), operand(*no, 0)), ATOM)
            }
            Node::Cast(element, a) => (format!("{element}({})", operand(*a, 0)), ATOM),
            Node::Call(function, arguments) => {
                let arguments: Vec<String> = arguments.iter().map(|id| operand(*id, 0)).collect();
                (format!("{}({})", format!("{function:?}").to_lowercase(), arguments.join(", ")), ATOM)
            }
        }
    }
}

/// How strongly a name or a call holds together.
const ATOM: u8 = 9;

fn infix(operator: Binary) -> (&'static str, u8) {
    match operator {
        Binary::Or => ("||", 1),
        Binary::And => ("&&", 2),
        Binary::Lt => ("<", 3),
        Binary::Le => ("<=", 3),
        Binary::Gt => (">", 3),
        Binary::Ge => (">=", 3),
        Binary::Eq => ("==", 3),
        Binary::Ne => ("!=", 3),
        Binary::Min => ("min", 4),
        Binary::Max => ("max", 4),
        Binary::Add => ("+", 5),
        Binary::Sub => ("-", 5),
        Binary::Mul => ("*", 6),
        Binary::Div => ("/", 6),
        Binary::DivFloor => ("//", 6),
        Binary::DivControlled => ("/.", 6),
        Binary::RemFloor => ("%", 6),
    }
}

fn sign(aggregate: Aggregate) -> &'static str {
    match aggregate {
        Aggregate::Assign => "=",
        Aggregate::Add => "+=",
        Aggregate::Mul => "*=",
        Aggregate::Min => "min=",
        Aggregate::Max => "max=",
    }
}

fn iterator_name(iterator: IterId, nest: &Nest) -> String {
    nest.iterators.get(iterator.0).map_or_else(|| iterator.to_string(), |iterator| iterator.name.clone())
}

fn affine(value: &Affine, nest: &Nest) -> String {
    let mut text = String::new();
    for &(iterator, coefficient) in &value.terms {
        let sign = match (text.is_empty(), coefficient < 0) {
            (true, true) => "-",
            (true, false) => "",
            (false, true) => " - ",
            (false, false) => " + ",
        };
        text += sign;
        if coefficient.abs() != 1 {
            let _ = write!(text, "{}*", coefficient.abs());
        }
        text += &iterator_name(iterator, nest);
    }
    match value.offset {
        offset if text.is_empty() => offset.to_string(),
        0 => text,
        offset if offset < 0 => text + &format!(" - {}", offset.unsigned_abs()),
        offset => text + &format!(" + {offset}"),
    }
}

#[cfg(test)]
mod tests {
    use crate::language::{Language, Options, parse};

    #[test]
    fn a_program_is_readable() {
        let text = "mu = 0.5; model_input x[3]; model_output y; model w[3]; gradient g[3] -> w; iterator i[1:3]; \
                    h = sum[i](w[i] * (x[i] - 1)); g[i] = norm(sigmoid(h - y)) * (x[i] < 2);";
        let (program, _) = parse(Language::Tabla, text, &Options::default()).unwrap();
        let expected = "\
input x[3]
label y
state w[3]
temporary sum.1
temporary h
gradient(w) g[3]

sum.1 += w[i] * (x[i] - 1)  over i in 1..3
h = sum.1
g[i] = n3 * n3 * (x[i] < 2)  for i in 1..3  where n3 = sigmoid(h - y)
w -= 0.5 * g
";
        assert_eq!(program.to_string(), expected);
    }
}
