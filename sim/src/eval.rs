//! One evaluation: JSON in, JSON out, any engine between.
//!
//! ```text
//!  {"x": [1, 2], "y": 0.5}  ──▶  set ─▶ engine.step ─▶ value  ──▶  {"schema_version": 1,
//!                                                                   "values": {"h": 1.5, "g": [null, 2.0]},
//!                                                                   "shapes": {"h": [], "g": [2]},
//!                                                                   "next":   {"w": [0.5, 0.25]}}
//! ```
//!
//! `null` is an undefined element; numbers that JSON does not have are the strings `nan`, `inf` and `-inf`.

use crate::golden::Golden;
use arch::{Code, Diagnostic};
use compiler::language::preprocessor::{Preprocessed, Value as Variable};
use compiler::language::{Options, nearest};
use compiler::ranges::EXACT_INTEGERS;
use compiler::tensor::{Element, Node, Program, Role, Start, Tensor, TensorId};
use serde_json::{Map, Value, json};

/// Something that evaluates a program, sample after sample.
pub trait Engine {
    /// Set the elements of an input, label or state, row-major; `None` is undefined.
    fn set(&mut self, tensor: TensorId, values: &[Option<f64>]);

    /// Evaluate one sample and update the states.
    ///
    /// # Errors
    /// What only the values show.
    fn step(&mut self) -> Result<(), Box<Diagnostic>>;

    /// The elements of a tensor, row-major; `None` is undefined.
    fn value(&self, tensor: TensorId) -> Vec<Option<f64>>;
}

impl Engine for Golden {
    fn set(&mut self, tensor: TensorId, values: &[Option<f64>]) {
        self.set_partly(tensor, values);
    }

    fn step(&mut self) -> Result<(), Box<Diagnostic>> {
        Golden::step(self)
    }

    fn value(&self, tensor: TensorId) -> Vec<Option<f64>> {
        Golden::value(self, tensor).collect()
    }
}

/// The elements of one host value, row-major; `None` is undefined.
pub type Elements = Vec<Option<f64>>;

/// Evaluate a program once.
///
/// # Errors
/// Inputs of the wrong name or shape, inputs that are missing (reported last), and what only the values show.
pub fn evaluate(program: &Program, inputs: &Value, engine: &mut impl Engine) -> Result<Value, Vec<Diagnostic>> {
    for (tensor, elements) in read_inputs(program, inputs)? {
        engine.set(tensor, &elements);
    }
    engine.step().map_err(|diagnostic| vec![*diagnostic])?;
    Ok(results(program, engine))
}

/// Tell the front end the shapes of the inputs, for languages whose sizes come with them; an integer without a point may be a size, too.
#[must_use]
pub fn with_shapes_of(inputs: &Value, mut options: Options) -> Options {
    for (name, value) in inputs.as_object().into_iter().flatten() {
        let mut shape = Vec::new();
        let mut inner = value;
        while let Value::Array(list) = inner {
            shape.push(list.len() as u32);
            let Some(first) = list.first() else { break };
            inner = first;
        }
        options.shapes.push((name.clone(), shape));
        if let Some(integer) = value.as_i64() {
            options.integers.push((name.clone(), integer));
        }
    }
    options
}

/// Host values by tensor.
///
/// # Errors
/// E-UNDEF for a name that is not an input, E-SHAPE, also for another integer than the program was read with, and E-UNDEFVAL for what
/// the program needs and the host does not give.
pub fn read_inputs(program: &Program, inputs: &Value) -> Result<Vec<(TensorId, Elements)>, Vec<Diagnostic>> {
    read_more_inputs(program, inputs, &[])
}

/// The same where some tensors have their values already, so that the host need not give them.
///
/// # Errors
/// As [`read_inputs`].
pub fn read_more_inputs(
    program: &Program,
    inputs: &Value,
    known: &[TensorId],
) -> Result<Vec<(TensorId, Elements)>, Vec<Diagnostic>> {
    let Value::Object(inputs) = inputs else {
        return Err(vec![Diagnostic::global(Code::Data, "the inputs are an object: {\"NAME\": number or list, ...}")]);
    };
    let hosts = || hosts(program);
    let mut values = Vec::new();
    let mut errors: Vec<Diagnostic> = unknown(program, inputs).map(|(_, diagnostic)| diagnostic).collect();
    for (name, value) in inputs {
        let Some((id, tensor)) = hosts().find(|(_, tensor)| tensor.name == *name) else { continue };
        match read_elements(value, &tensor.shape) {
            Ok(elements) => match not_integer(tensor, &elements) {
                Some(wrong) => errors.push(wrong),
                None => values.push((TensorId(id), elements)),
            },
            Err(problem) => errors.push(
                Diagnostic::new(
                    Code::Shape,
                    tensor.span,
                    format!("the value of `{name}` has the wrong shape: {problem}"),
                )
                .with_label(format!("of shape {:?}", tensor.shape)),
            ),
        }
    }
    for (name, read) in &program.integers {
        if let Some(other) = inputs.get(name).filter(|value| value.as_i64() != Some(*read)) {
            let message = format!("`{name}` is {other} in these inputs, and the program was read with {read}");
            errors
                .push(Diagnostic::global(Code::Shape, message).with_help("records of one program have the same sizes"));
        }
    }
    for (id, tensor) in hosts() {
        let id = TensorId(id);
        if !inputs.contains_key(&tensor.name) && !known.contains(&id) && is_needed(program, id) {
            errors.push(
                Diagnostic::new(Code::UndefVal, tensor.span, format!("the inputs give no value for `{}`", tensor.name))
                    .with_label(format!("of shape {:?}", tensor.shape)),
            );
        }
    }
    if errors.is_empty() { Ok(values) } else { Err(errors) }
}

/// Names that are not inputs of the program, with what to say about them.
pub fn unknown_inputs(program: &Program, inputs: &Value) -> Vec<(String, Diagnostic)> {
    inputs.as_object().map_or_else(Vec::new, |inputs| unknown(program, inputs).collect())
}

fn unknown(program: &Program, inputs: &Map<String, Value>) -> impl Iterator<Item = (String, Diagnostic)> {
    let known = move || {
        let integers = program.integers.iter().map(|(name, _)| name.as_str());
        hosts(program).map(|(_, tensor)| tensor.name.as_str()).chain(integers)
    };
    inputs.keys().filter(move |name| !known().any(|known| known == name.as_str())).map(move |name| {
        let diagnostic = Diagnostic::global(Code::Undef, format!("the program has no input `{name}`"));
        let near = nearest(name, known());
        let diagnostic = match near {
            Some(near) => diagnostic.with_help(format!("did you mean `{near}`?")),
            None => diagnostic,
        };
        (name.clone(), diagnostic)
    })
}

/// The first value that the integer type of a tensor does not have.
fn not_integer(tensor: &Tensor, elements: &[Option<f64>]) -> Option<Diagnostic> {
    let Element::Int { bits, signed } = tensor.element else { return None };
    let size = libm::exp2(f64::from(bits));
    let (low, end) = if signed { (-size / 2.0, size / 2.0) } else { (0.0, size) };
    // Double precision rounds the largest integers of 64 bits to the end of their type.
    let fits = |value: f64| libm::trunc(value) == value && low <= value && (value < end || bits > 53 && value <= end);
    let (element, value) =
        elements.iter().enumerate().find_map(|(n, value)| Some((n, value.filter(|&v| !fits(v))?)))?;
    let (name, sign) = (&tensor.name, if signed { "" } else { "u" });
    let message = format!("element {element} of `{name}` is {value}, and its elements are {sign}int{bits}");
    Some(Diagnostic::new(Code::Type, tensor.span, message).with_label(format!("of shape {:?}", tensor.shape)))
}

/// Integers that double precision, in which programs are evaluated, does not have, told by tensor.
pub fn inexact_integers(program: &Program, values: &[(TensorId, Elements)]) -> Vec<Diagnostic> {
    let told = |(id, elements): &(TensorId, Elements)| {
        let Tensor { name, span, element, .. } = &program.tensors[id.0];
        let beyond = |value: &Option<f64>| value.is_some_and(|value| value.abs() >= EXACT_INTEGERS);
        let first = elements.iter().position(beyond).filter(|_| matches!(element, Element::Int { .. }))?;
        let value = elements[first].unwrap_or_default();
        let message = format!(
            "element {first} of `{name}` is {value}, and integers from 2^53 on are computed with in double precision"
        );
        Some(
            Diagnostic::new(Code::WarnNumber, *span, message)
                .with_help("results that are as large are refused; smaller ones may be off by what was rounded"),
        )
    };
    values.iter().filter_map(told).collect()
}

/// What the machine cannot be given: truth values where the program has numbers.
/// An undefined element is 0 in the machine; what depends on it stays undefined in the result.
pub fn not_words(program: &Program, inputs: &Value, values: &[(TensorId, Elements)]) -> Vec<Diagnostic> {
    fn has_truth(value: &Value) -> bool {
        value.is_boolean() || value.as_array().is_some_and(|list| list.iter().any(has_truth))
    }
    let truth = |(id, _): &(TensorId, Elements)| {
        let tensor = &program.tensors[id.0];
        let name = &tensor.name;
        (tensor.element != Element::Bool && has_truth(&inputs[name.as_str()])).then(|| {
            Diagnostic::new(Code::Type, tensor.span, format!("`{name}` holds numbers, not truth values"))
                .with_label(format!("of shape {:?}", tensor.shape))
        })
    };
    values.iter().filter_map(truth).collect()
}

/// What no word can hold, told by tensor: a NaN is 0 in the machine, an infinity a number beyond all others.
pub fn without_words(program: &Program, values: &[(TensorId, Elements)]) -> Vec<Diagnostic> {
    let told = |(id, elements): &(TensorId, Elements)| {
        let none: Vec<usize> =
            (0..elements.len()).filter(|&element| elements[element].is_some_and(|value| !value.is_finite())).collect();
        let &first = none.first()?;
        let (Tensor { name, span, .. }, count) = (&program.tensors[id.0], none.len());
        let value = write_number(elements[first]);
        let message = if count == 1 {
            format!("element {first} of `{name}` is {value}, which no word holds")
        } else {
            format!(
                "{count} elements of `{name}` are values that no word holds; the first, element {first}, is {value}"
            )
        };
        Some(Diagnostic::new(Code::WarnNumber, *span, message).with_help(
            "words compute with 0 instead of a NaN, and with a number beyond all others instead of an infinity",
        ))
    };
    values.iter().filter_map(told).collect()
}

fn hosts(program: &Program) -> impl Iterator<Item = (usize, &Tensor)> {
    program.tensors.iter().enumerate().filter(|(_, tensor)| is_host_value(&tensor.role))
}

fn is_host_value(role: &Role) -> bool {
    matches!(role, Role::Input | Role::Label | Role::State | Role::InOut)
}

/// Whether anything reads a tensor.
fn is_needed(program: &Program, tensor: TensorId) -> bool {
    let read = |node: &Node| match node {
        Node::Read { tensor: read, .. } | Node::Gather { tensor: read, .. } => *read == tensor,
        _ => false,
    };
    let starts = |start: &Start| matches!(start, Start::Element { tensor: read, .. } if *read == tensor);
    program.nests.iter().any(|nest| nest.body.nodes.iter().any(read) || starts(&nest.start))
        || program.descents.iter().any(|descent| descent.state == tensor)
}

/// Row-major elements of nested lists.
///
/// # Errors
/// What is wrong with them, in words.
pub fn read_elements(value: &Value, shape: &[u32]) -> Result<Elements, String> {
    let mut elements = Vec::new();
    append(value, shape, &mut elements)?;
    Ok(elements)
}

fn append(value: &Value, shape: &[u32], elements: &mut Elements) -> Result<(), String> {
    match (value, shape) {
        (Value::Array(list), [extent, inner @ ..]) => {
            if list.len() != *extent as usize {
                return Err(format!("a list of {} where {extent} are expected", list.len()));
            }
            list.iter().try_for_each(|value| append(value, inner, elements))
        }
        (Value::Array(_), []) => Err("a list where a number is expected".into()),
        (_, [extent, ..]) => Err(format!("{value} where a list of {extent} is expected")),
        (value, []) => {
            elements.push(match value {
                Value::Null => None,
                Value::Number(number) => number.as_f64(),
                Value::Bool(truth) => Some(f64::from(u8::from(*truth))),
                Value::String(text) if text == "nan" => Some(f64::NAN),
                Value::String(text) if text == "inf" => Some(f64::INFINITY),
                Value::String(text) if text == "-inf" => Some(f64::NEG_INFINITY),
                _ => return Err(format!("{value} is not a number")),
            });
            Ok(())
        }
    }
}

/// Everything a program has computed; `next` if it updates anything.
pub fn results(program: &Program, engine: &impl Engine) -> Value {
    let (mut values, mut shapes, mut next) = (Map::new(), Map::new(), Map::new());
    for (name, tensor) in &program.names {
        let shape = &program.tensors[tensor.0].shape;
        values.insert(name.clone(), write_elements(&engine.value(*tensor), shape));
        shapes.insert(name.clone(), json!(shape));
    }
    let updated = program.updates.iter().map(|update| update.state);
    for state in updated.chain(program.descents.iter().map(|descent| descent.state)) {
        let tensor = &program.tensors[state.0];
        next.insert(tensor.name.clone(), write_elements(&engine.value(state), &tensor.shape));
    }
    let mut results = json!({ "schema_version": 1, "values": values, "shapes": shapes });
    if !next.is_empty() {
        results["next"] = next.into();
    }
    results
}

/// Nested lists of row-major elements.
pub fn write_elements(elements: &[Option<f64>], shape: &[u32]) -> Value {
    let Some((extent, inner)) = shape.split_first() else {
        return elements.first().map_or(Value::Null, |element| write_number(*element));
    };
    let size = elements.len() / (*extent as usize).max(1);
    let row = |n: usize| write_elements(&elements[n * size..(n + 1) * size], inner);
    Value::Array((0..*extent as usize).map(row).collect())
}

fn write_number(element: Option<f64>) -> Value {
    match element {
        None => Value::Null,
        Some(value) if value.is_nan() => "nan".into(),
        Some(f64::INFINITY) => "inf".into(),
        Some(f64::NEG_INFINITY) => "-inf".into(),
        Some(value) => value.into(),
    }
}

/// What a pure preprocessor file defines, and its text.
pub fn definitions(file: &Preprocessed) -> Value {
    let definitions: Map<String, Value> =
        file.definitions.iter().map(|(name, value)| (name.clone(), write_variable(value))).collect();
    json!({ "schema_version": 1, "defs": definitions, "expanded": file.text })
}

fn write_variable(value: &Variable) -> Value {
    match value {
        Variable::Bool(value) => (*value).into(),
        Variable::Integer(value) => (*value).into(),
        Variable::Float(value) => (*value).into(),
        Variable::Text(text) | Variable::Type(text) => text.clone().into(),
        Variable::List(values) => values.iter().map(write_variable).collect(),
        Variable::Dictionary(entries) => {
            entries.iter().map(|(name, value)| (name.clone(), write_variable(value))).collect()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{read_elements, read_inputs, with_shapes_of, write_elements};
    use arch::Code;
    use compiler::language::{Language, Options, parse};
    use serde_json::json;

    #[test]
    fn lists_and_numbers_keep_their_shape() {
        let value = json!([[1.0, null], ["inf", -2.5]]);
        let elements = read_elements(&value, &[2, 2]).unwrap();
        assert_eq!(elements, [Some(1.0), None, Some(f64::INFINITY), Some(-2.5)]);
        assert_eq!(write_elements(&elements, &[2, 2]), value);
        assert!(read_elements(&json!([1, 2, 3]), &[2]).is_err());
        assert!(read_elements(&json!([1]), &[]).is_err());
        assert!(read_elements(&json!(1), &[1]).is_err());
    }

    #[test]
    fn records_have_the_integers_that_the_program_was_read_with() {
        let text = "def f(I, s):\n  i = TensorIndex()\n  O = TensorOutput(2)\n  O[i] += I[s * i]\n  return O\n";
        let first = json!({ "I": [1.0, 2.0, 3.0], "s": 2 });
        let (program, _) = parse(Language::Tile, text, &with_shapes_of(&first, Options::default())).unwrap();
        assert_eq!(read_inputs(&program, &first).unwrap().len(), 1);
        // Whoever gave it with --set need not say it again.
        assert!(read_inputs(&program, &json!({ "I": [1.0, 2.0, 3.0] })).is_ok());
        for other in [json!(3), json!(2.0), json!([2])] {
            let errors = read_inputs(&program, &json!({ "I": [1.0, 2.0, 3.0], "s": other })).unwrap_err();
            assert_eq!(errors[0].code, Code::Shape, "{errors:?}");
        }
    }
}
