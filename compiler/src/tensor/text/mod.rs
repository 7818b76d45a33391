//! Text form of tensor IR: printed by [`Display`](std::fmt::Display), read back by [`FromStr`](std::str::FromStr) to the same value.
//!
//! ```text
//! input x[3]
//! label y
//! state w[3]
//! temporary sum.1
//! gradient(w) g[3]
//! parameter p[2]: int8 = [1, -2]
//!
//! sum.1 += w[i] * x[i]  over i in 0..3                  @ 80..98
//! h = sum.1                                             @ 76..99 as h
//! g[i] = (h - y) * x[i]  for i in 0..3                  @ 101..122 as g
//! o[i] += a[i + j - 1]  for i in 0..5  over j in 0..3  if 0 <= i + j - 1 < 5
//! m max= from 0.5: x[i]  over i in 0..3
//! e = n3 * n3  where n3 = sigmoid(h - y)
//! w -= 0.5 * g
//! v := v.1
//! name h = h
//! integer stride = 2
//! ```
//!
//! One line per Nest: what is written, how values are combined (`=`, `+=`, `*=`, `min=`, `max=`), where that starts, the value, the loops
//! (free iterators after `for`, reduction iterators after `over`), the guards, the origin. `-=` is a descent, `:=` an update. Tensors are
//! known by their names; `%3` is the fourth one, whatever its name is.
//!
//! **Values.** Operators from weak to strong: `||`, `&&`, comparisons, `min` `max`, `+` `-`, `*` `/` `div` `mod` `/.` (see [`Binary`]),
//! `-x` `!x`. `select(c, yes, no)`, `gather(t, e, f)` (element `[e][f]` of `t`, computed), `int8(x)`, `exp(x)`.
//!
//! **Nodes.** A value stands for the nodes of a [`Body`](crate::tensor::Body), numbered as one reads: operands from left to right, then the
//! operation. What is used twice is one node with a name, defined after `where`, at its first use. Numbers, elements and iterators that
//! are written alike are one node without that; `x[i]'` is another node of the same element. Bodies in another order are lists of
//! nodes: `e = {h; y; n0 - n1}`.
//!
//! **Iterators** that share their name with another one of the Nest, or with a tensor, have their number behind it: `k#2`.

mod parse;
mod print;
mod value;

use crate::tensor::{Aggregate, Binary, Element, Node, Role};

/// Words of declarations, with the role; gradients and parameters have something else to say.
const ROLES: [(&str, Role); 8] = [
    ("input", Role::Input),
    ("label", Role::Label),
    ("state", Role::State),
    ("temporary", Role::Temporary),
    ("stored", Role::Stored),
    ("output", Role::Output),
    ("inout", Role::InOut),
    ("mean", Role::Mean),
];

/// The other words that are names in quotes only, but for the names of nodes.
const WORDS: &[&str] = &[
    "gradient",
    "parameter",
    "name",
    "integer",
    "from",
    "for",
    "over",
    "in",
    "if",
    "and",
    "where",
    "as",
    "min",
    "max",
    "div",
    "mod",
];

/// Whether a word means something in this form.
fn reserved(word: &str) -> bool {
    ROLES.iter().any(|(role, _)| *role == word) || WORDS.contains(&word) || node_number(word).is_some()
}

/// The number in the name of a node, `n3`.
fn node_number(word: &str) -> Option<usize> {
    word.strip_prefix('n').filter(|digits| digits.bytes().all(|byte| byte.is_ascii_digit()))?.parse().ok()
}

/// Operators between two values, with their strength; equal ones associate to the left.
const INFIX: [(&str, Binary, u8); 17] = [
    ("||", Binary::Or, 1),
    ("&&", Binary::And, 2),
    ("<", Binary::Lt, 3),
    ("<=", Binary::Le, 3),
    (">", Binary::Gt, 3),
    (">=", Binary::Ge, 3),
    ("==", Binary::Eq, 3),
    ("!=", Binary::Ne, 3),
    ("min", Binary::Min, 4),
    ("max", Binary::Max, 4),
    ("+", Binary::Add, 5),
    ("-", Binary::Sub, 5),
    ("*", Binary::Mul, 6),
    ("/", Binary::Div, 6),
    ("div", Binary::DivFloor, 6),
    ("/.", Binary::DivControlled, 6),
    ("mod", Binary::RemFloor, 6),
];

/// Strength of `-x` and of negative numbers.
const PREFIX: u8 = 8;

/// Strength of names and calls.
const ATOM: u8 = 9;

/// Signs of aggregates, in one or two words.
const SIGNS: [(&[&str], Aggregate); 5] = [
    (&["="], Aggregate::Assign),
    (&["+="], Aggregate::Add),
    (&["*="], Aggregate::Mul),
    (&["min", "="], Aggregate::Min),
    (&["max", "="], Aggregate::Max),
];

/// What tells leaves apart that are written alike; `None`: not a leaf.
fn leaf(node: &Node) -> Option<String> {
    matches!(node, Node::Constant(_) | Node::Iterator(_) | Node::Read { .. }).then(|| format!("{node:?}"))
}

/// The element type of a word.
fn element(word: &str) -> Option<Element> {
    let bits = |prefix| word.strip_prefix(prefix)?.parse().ok();
    match word {
        "real" => Some(Element::Real),
        "bool" => Some(Element::Bool),
        _ => match (bits("uint"), bits("int")) {
            (Some(bits), _) => Some(Element::Int { bits, signed: false }),
            (None, Some(bits)) => Some(Element::Int { bits, signed: true }),
            (None, None) => None,
        },
    }
}

#[cfg(test)]
mod tests {
    use crate::language::{Language, Options, parse};
    use crate::tensor::{Aggregate, Body, Node, NodeId, Program, TensorId, Unary};
    use arch::{Code, Origin};

    /// Without the places in the source.
    fn bare(mut program: Program) -> Program {
        program.tensors.iter_mut().for_each(|tensor| tensor.span = arch::Span::default());
        program.nests.iter_mut().for_each(|nest| nest.origin = Origin::default());
        program.descents.iter_mut().for_each(|descent| descent.span = arch::Span::default());
        program
    }

    #[track_caller]
    fn comes_back(program: &Program) {
        let text = program.to_string();
        let back: Program = text.parse().unwrap_or_else(|error| panic!("{error:?}\n{text}"));
        assert_eq!(&back, program, "{text}");
    }

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
name h = h
name g = g
";
        comes_back(&program);
        assert_eq!(bare(program).to_string(), expected);
        assert!(expected.parse::<Program>().is_ok_and(|program| program.to_string() == expected));
    }

    /// Everything that the form has, once.
    const ALL: &str = "\
input x[3][4]: uint16  @ 3..9
label y: bool
state w[3]
parameter p[2]: int8 = [1, -2]
temporary t[3]
temporary u
output o[5]
inout \"for\"
gradient(w) g[3]
temporary \"n1\"

u = 1
t[i] += from w[i]: -(x[i][j] * p[0])  for i in 0..3  over j in 0..4  @ 10..20, 3..5 as t, \"for\"
t[i#0] min= from -0.5: x[i#0][i#1 - 2*k + 1]  for i#0 in -1..3  over i#1 in 0..2, k in 0..2
o[i] max= y  for i in 0..5  over j in 0..3  if 0 <= i + j - 1 < 5 and i - j == 0
\"for\" *= select(u < 3 && !y, -u + -(2) - -2 - (u - 1), gather(p, u / 2) max k)  over k in 0..2
\"n1\" = u * u' - u * 1e-7 / inf
u = n8 + n8 / n8  where n8 = int8(exp(y) /. u div 2 mod 3)
u = {u; y; n1 - n0}
w -= 0.05 * g  @ 7..9
w := t
name h = t
name \"a b\" = \"for\"
";

    #[test]
    fn everything_comes_back() {
        let program: Program = ALL.parse().expect("a good text");
        assert_eq!(program.to_string(), ALL);
        comes_back(&program);
        assert_eq!(program.nests.len(), 8);
        assert_eq!(program.nests[3].aggregate, Aggregate::Max);
        assert_eq!(program.nests[5].body.nodes.len(), 8, "the second `u` is another node, the third one is it again");
        assert_eq!(program.nests[7].body.nodes[2].operands(), [NodeId(1), NodeId(0)]);
    }

    #[test]
    fn a_sign_that_touches_a_number_is_part_of_it() {
        let nodes = |value: &str| {
            let program: Program = format!("temporary u\nu = {value}\n").parse().expect("a good text");
            comes_back(&program);
            program.nests[0].body.nodes.clone()
        };
        assert_eq!(nodes("-2"), [Node::Constant(-2.0)]);
        assert_eq!(nodes("-(2)"), [Node::Constant(2.0), Node::Unary(Unary::Neg, NodeId(0))]);
        assert_eq!(nodes("1 - -2").len(), 3);
    }

    #[test]
    fn what_breaks_laws_is_printed_all_the_same() {
        let mut program: Program = "temporary u\nu = 1\n".parse().expect("a good text");
        program.nests[0].out = TensorId(7);
        program.nests[0].body =
            Body { nodes: vec![Node::Unary(Unary::Neg, NodeId(0)), Node::Iterator(crate::tensor::IterId(2))] };
        assert_eq!(program.nest(&program.nests[0]), "%7 = {-n0; #2}");
        (program.nests[0].out, program.nests[0].body) = (TensorId(0), Body::default());
        comes_back(&program);
    }

    #[test]
    fn long_values_need_no_stack() {
        let mut body = Body::default();
        let one = body.push(Node::Constant(1.0));
        let mut sum = one;
        for _ in 0..30_000 {
            sum = body.push(Node::Binary(crate::tensor::Binary::Add, sum, one));
        }
        let mut program: Program = "temporary u\nu = 1\n".parse().expect("a good text");
        program.nests[0].body = body;
        comes_back(&program);
    }

    #[test]
    fn mistakes_are_told_where_they_are() {
        for (text, code, words, place) in [
            ("input x[3]\ninput x", Code::Redef, "two tensors are named `x`", "x"),
            ("temporary u\nu = v", Code::Undef, "no tensor is named `v`", "v"),
            ("temporary u\nu = %4", Code::Undef, "there is no tensor %4", "%4"),
            ("temporary u\nu = ", Code::Syntax, "expected a value, found the end of the line", ""),
            ("temporary u\nu = 1 + ) ", Code::Syntax, "expected a value, found `)`", ")"),
            ("temporary u\nu ~ 1", Code::Lex, "`~` means nothing here", "~"),
            (
                "temporary u\nu : 1",
                Code::Syntax,
                "expected `=`, `+=`, `*=`, `min=`, `max=`, `-=` or `:=`, found `:`",
                ":",
            ),
            ("temporary u\nu = n3", Code::Undef, "no value is named `n3`", "n3"),
            ("temporary u\nu = 1  where n3 = 2", Code::Syntax, "`n3` is not used", "n3"),
            ("temporary u\nu = n1  where n1 = n1 + 1", Code::Syntax, "`n1` is part of its own value", "n1"),
            ("temporary u\nu = sine(u)", Code::Undef, "no function is named `sine`", "sine"),
            ("temporary u[2]\nu[k] = 1", Code::Undef, "no iterator is named `k`", "k"),
            ("temporary u\nu = 1 for i in 0..2 2", Code::Syntax, "expected the end of the line, found `2`", "2"),
            ("temporary u\nu = 1 u for i in 0..2", Code::Syntax, "expected an operator or the loops, found `u`", "u"),
            (
                "temporary u: int",
                Code::Syntax,
                "expected an element type, such as `real` or `int8`, found `int`",
                "int",
            ),
            ("temporary u\nu = {n0}", Code::Undef, "no value is named `n0`", "n0"),
        ] {
            let error = text.parse::<Program>().expect_err(text);
            assert_eq!((error.code, error.message.as_str()), (code, words), "{text}");
            let span = error.span.expect("a place");
            assert_eq!(text[span.start..span.end].trim(), place, "{text}");
        }
        for line in ["input v[300000000]", "input v[65536][65536]", "u = 1  for i in 0..999999999", "u = u[999999999]"]
        {
            let error = format!("temporary u\n{line}").parse::<Program>().expect_err(line);
            assert_eq!(error.code, Code::Limit, "{line}");
        }
        let deep = format!("temporary u\nu = {}1{}", "(".repeat(5000), ")".repeat(5000));
        assert_eq!(deep.parse::<Program>().expect_err("too deep").code, Code::Limit);
    }
}
