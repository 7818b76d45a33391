//! A case as a program of its language.

use super::oracle::{Case, Operation, Source};
use compiler::language::{self, Language};
use compiler::tensor::Program;
use onnx::wire::{put_bytes, put_integer};
use onnx::{File, Reading, Weights};

/// The name of an input.
pub(crate) fn input(case: &Case, number: usize) -> String {
    let name = ["a", "b"][number];
    if case.source == Source::Tile { name.to_uppercase() } else { name.to_owned() }
}

/// Values that are results: their numbers.
fn named(case: &Case) -> impl Iterator<Item = usize> {
    (2..case.values.len()).filter(|&number| case.values[number].named)
}

/// Names of results, and the numbers of their values.
pub(crate) fn results(case: &Case) -> Vec<(String, usize)> {
    let name = |(place, number): (usize, usize)| match case.source {
        Source::Tile => (format!("out{place}"), number),
        _ => (format!("t{number}"), number),
    };
    named(case).enumerate().map(name).collect()
}

/// A value where it is used.
fn used(case: &Case, number: usize) -> String {
    let value = &case.values[number];
    let name = if number < 2 { input(case, number) } else { format!("t{number}") };
    match (value.named, value.scalar, case.source) {
        (false, ..) => format!("({})", expression(case, number)),
        (_, false, Source::Tabla) => format!("{name}[i]"),
        (_, false, Source::Comprehensions) => format!("{name}(i)"),
        _ => name,
    }
}

/// How a value is computed.
fn expression(case: &Case, number: usize) -> String {
    let value = &case.values[number];
    let of: Vec<String> = value.of.iter().map(|&n| used(case, n)).collect();
    let (a, b) = (&of[0], of.get(1).unwrap_or(&of[0]));
    let tabla = case.source == Source::Tabla;
    let choose = |condition: String, yes: &str, no: &str| match case.source {
        Source::Comprehensions => format!("{condition} ? {yes} : {no}"),
        _ => format!("select({condition}, {yes}, {no})"),
    };
    match value.operation {
        Operation::Abs if case.source == Source::Tile => format!("abs({a})"),
        Operation::Abs => format!("fabs({a})"),
        Operation::Neg => format!("0.0 - {a}"),
        Operation::Floor => format!("floor({a})"),
        Operation::Ceil => format!("ceil({a})"),
        Operation::Round => format!("round({a})"),
        Operation::Trunc if number.is_multiple_of(2) => format!("float(int32({a}))"),
        Operation::Trunc => format!("trunc({a})"),
        Operation::Copysign => format!("copysign({a}, {b})"),
        Operation::Add => format!("{a} + {b}"),
        Operation::Sub => format!("{a} - {b}"),
        // A number times a tensor, in Rink.
        Operation::Mul if case.values[value.of[1]].scalar => format!("{b} * {a}"),
        Operation::Dot if case.source == Source::Rink => format!("({a} # {b}) . [1 2]"),
        Operation::Dot => format!("sum[i]({a} * {b})"),
        Operation::Mul => format!("{a} * {b}"),
        Operation::Min => format!("min({a}, {b})"),
        Operation::Max => format!("max({a}, {b})"),
        Operation::Less if tabla => format!("{a} < {b}"),
        Operation::Less => choose(format!("{a} < {b}"), "1.0", "0.0"),
        Operation::Select if tabla => format!("(({a} < {b}) * {}) + ((1 - ({a} < {b})) * {b})", of[2]),
        Operation::Select => choose(format!("{a} < {b}"), &of[2], b),
        Operation::Sum => format!("sum[i]({a})"),
        Operation::Product => format!("pi[i]({a})"),
        Operation::BitAnd => format!("{a} & {b}"),
        Operation::BitOr => format!("{a} | {b}"),
        Operation::BitXor => format!("{a} ^ {b}"),
        Operation::ShiftLeft => format!("{a} << ({b} & 3)"),
        Operation::ShiftRight => format!("{a} >> ({b} & 3)"),
        other => unreachable!("{other:?} is a statement"),
    }
}

fn statement(case: &Case, number: usize) -> String {
    let value = &case.values[number];
    let reduced = match value.operation {
        Operation::Sum | Operation::Dot => Some("+"),
        Operation::Product => Some("*"),
        Operation::Largest => Some("max"),
        Operation::Smallest => Some("min"),
        _ => None,
    };
    let name = format!("t{number}");
    let of = || value.of.iter().map(|&n| used(case, n)).collect::<Vec<_>>().join(" * ");
    match (case.source, reduced) {
        (Source::Rink, _) => format!("{name} = {}\n", expression(case, number)),
        (Source::Comprehensions, Some(operator)) => format!("  {name} {operator}=! {}\n", of()),
        (Source::Comprehensions, None) if value.scalar => format!("  {name} = {}\n", expression(case, number)),
        // The extent where no operand says it.
        (Source::Comprehensions, None) => {
            format!("  {name}(i) = {} where i in 0:{}\n", expression(case, number), case.extent)
        }
        (Source::Tile, Some(operator)) => {
            let sign = match operator {
                "+" => "+=",
                "*" => "*=",
                "max" => ">=",
                _ => "<=",
            };
            format!("  v{number} = {}\n  {name} = TensorOutput()\n  {name}[] {sign} v{number}[i]\n", of())
        }
        (Source::Tile, None) => format!("  {name} = {}\n", expression(case, number)),
        (Source::Tabla, _) if value.scalar => format!("{name} = {};\n", expression(case, number)),
        _ => format!("{name}[i] = {};\n", expression(case, number)),
    }
}

/// The program as text; of ONNX, its operators.
pub(crate) fn text(case: &Case) -> String {
    // In every second program the extent is a definition of the preprocessor.
    let defined = case.source != Source::Onnx && case.word.is_multiple_of(2);
    let n = if defined { "$n".to_owned() } else { case.extent.to_string() };
    let definition =
        if defined { format!("$half = {}\n$n = !calc($half 1 + {} +)\n", case.extent - 2, 1) } else { String::new() };
    definition + &text_of(case, &n)
}

fn text_of(case: &Case, n: &str) -> String {
    let names: Vec<String> = named(case).map(|number| format!("t{number}")).collect();
    let statements: String = named(case).map(|number| statement_of(case, number)).collect();
    match case.source {
        Source::Tabla => format!("model_input a[{n}];\nmodel_input b[{n}];\niterator i[0:{n}];\n{statements}"),
        Source::Comprehensions => {
            format!("def f(float({n}) a, float({n}) b) -> ({}) {{\n{statements}}}\n", names.join(", "))
        }
        Source::Tile => format!(
            "def f(A, B):\n  N = TensorDim()\n  i = TensorIndex()\n  A.bind_dims(N)\n  B.bind_dims(N)\n{statements}  return {}\n",
            names.join(", ")
        ),
        Source::Rink => {
            let output = |number: usize| {
                let extents = if case.values[number].scalar { String::new() } else { n.to_string() };
                format!("var output t{number} : [{extents}]\n")
            };
            let outputs: String = named(case).map(output).collect();
            format!("var input a : [{n}]\nvar input b : [{n}]\n{outputs}{statements}")
        }
        Source::Onnx => statements,
    }
}

fn statement_of(case: &Case, number: usize) -> String {
    if case.source == Source::Onnx {
        let value = &case.values[number];
        let of: Vec<String> = value.of.iter().map(|&n| used(case, n)).collect();
        return format!("t{number} = {} {}\n", operator(value.operation), of.join(" "));
    }
    statement(case, number)
}

/// The program.
///
/// # Errors
/// What the front end says of it.
pub(crate) fn program(case: &Case) -> Result<Program, String> {
    let language = match case.source {
        Source::Tabla => Language::Tabla,
        Source::Comprehensions => Language::TensorComprehensions,
        Source::Tile => Language::Tile,
        Source::Rink => Language::Rink,
        Source::Onnx => return graph(case),
    };
    let mut options = language::Options::default();
    if language == Language::Tile {
        options.shapes = (0..2).map(|number| (input(case, number), vec![case.extent as u32])).collect();
    }
    language::parse(language, &text(case), &options).map(|parsed| parsed.0).map_err(|errors| errors[0].message.clone())
}

fn operator(operation: Operation) -> &'static str {
    match operation {
        Operation::Largest => "ReduceMax",
        Operation::Smallest => "ReduceMin",
        Operation::Sum => "ReduceSum",
        Operation::SumOfAbs => "ReduceL1",
        Operation::Dot => "MatMul",
        Operation::Product => "ReduceProd",
        Operation::Hardmax => "Hardmax",
        Operation::Select => "Less, Where",
        Operation::Less => "Less, Cast",
        Operation::ArgMax => "ArgMax, Cast",
        Operation::Gather => "ArgMax, Gather",
        Operation::Abs => "Abs",
        Operation::Neg => "Neg",
        Operation::Floor => "Floor",
        Operation::Ceil => "Ceil",
        Operation::Round => "Round",
        Operation::Sign => "Sign",
        Operation::Add => "Add",
        Operation::Sub => "Sub",
        Operation::Mul => "Mul",
        Operation::Min => "Min",
        Operation::Max => "Max",
        other => unreachable!("ONNX has no {other:?} of real numbers"),
    }
}

fn message(build: impl FnOnce(&mut Vec<u8>)) -> Vec<u8> {
    let mut bytes = Vec::new();
    build(&mut bytes);
    bytes
}

fn node(operator: &str, inputs: &[&str], output: &str) -> Vec<u8> {
    message(|b| {
        for input in inputs {
            put_bytes(b, 1, input.as_bytes());
        }
        put_bytes(b, 2, output.as_bytes());
        put_bytes(b, 4, operator.as_bytes());
        if operator == "Cast" {
            let to = message(|b| {
                put_bytes(b, 1, b"to");
                put_integer(b, 3, 1);
                put_integer(b, 20, 2);
            });
            put_bytes(b, 5, &to);
        }
    })
}

fn info(name: &str, extent: usize) -> Vec<u8> {
    let dimension = message(|b| put_integer(b, 1, extent as u64));
    let shape = message(|b| put_bytes(b, 1, &dimension));
    let tensor = message(|b| {
        put_integer(b, 1, 1);
        put_bytes(b, 2, &shape);
    });
    message(|b| {
        put_bytes(b, 1, name.as_bytes());
        put_bytes(b, 2, &message(|b| put_bytes(b, 1, &tensor)));
    })
}

/// The bytes of a model, read.
fn graph(case: &Case) -> Result<Program, String> {
    let graph = message(|b| {
        for number in 2..case.values.len() {
            let value = &case.values[number];
            let of: Vec<String> = value.of.iter().map(|&n| used(case, n)).collect();
            let of: Vec<&str> = of.iter().map(String::as_str).collect();
            let (out, other) = (format!("t{number}"), format!("u{number}"));
            let nodes = match value.operation {
                Operation::Select => vec![node("Less", &of[..2], &other), node("Where", &[&other, of[2], of[1]], &out)],
                Operation::Less => vec![node("Less", &of, &other), node("Cast", &[&other], &out)],
                Operation::ArgMax => vec![node("ArgMax", &of, &other), node("Cast", &[&other], &out)],
                Operation::Gather => vec![node("ArgMax", &of[..1], &other), node("Gather", &[of[1], &other], &out)],
                plain => vec![node(operator(plain), &of, &out)],
            };
            for node in nodes {
                put_bytes(b, 1, &node);
            }
        }
        for number in 0..2 {
            put_bytes(b, 11, &info(&input(case, number), case.extent));
        }
        for number in named(case) {
            let extent = if case.values[number].scalar { 1 } else { case.extent };
            put_bytes(b, 12, &info(&format!("t{number}"), extent));
        }
    });
    let opset = message(|b| put_integer(b, 2, 17));
    let bytes = message(|b| {
        put_bytes(b, 7, &graph);
        put_bytes(b, 8, &opset);
    });
    let options = language::Options::default();
    let beside = |_: &str| Err("none".to_owned());
    let reading = Reading { options: &options, given: &[], beside: &beside, weights: Weights::None };
    let file = File::decode(&bytes).map_err(|error| error.message)?;
    file.program(&reading).map(|(program, _)| program).map_err(|errors| errors[0].message.clone())
}
