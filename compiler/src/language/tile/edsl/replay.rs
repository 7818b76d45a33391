//! The programs of the suite by calls: what the text says, said in Rust, is the same tensor IR.
//!
//! ```text
//! O = TensorOutput(N)      TensorOutput::new(n)
//! O[i] += I[i + N // 2]        .at(i).sum(input.at(i + n / 2)).build()
//! ```
//!
//! Sizes stay sizes and indices indices, as the types of Rust have it: the call decides which arithmetic is meant.

use super::arithmetic::{argsort, cast, function, gather, gather_nd, index, reshape, scatter, scatter_nd, select};
use super::{
    Access, Affine, Combination, Elementwise, Graph, Size, Tensor, TensorDim, TensorIndex, TensorOutput, cond,
};
use crate::language::Options;
use crate::language::preprocessor::{self, Host};
use crate::language::tile::ast::{Expression, Form, Function, Name, Operator, Statement};
use crate::language::tile::{lexer, parse, parser};
use crate::tensor::Program;
use arch::{Origin, Span};
use serde_json::Value as Json;
use std::collections::BTreeMap;
use std::path::Path;

/// What a name stands for.
#[derive(Clone)]
enum Value {
    Size(Size),
    Index(TensorIndex),
    Output(Vec<Size>),
    Tensor(Tensor),
}

/// An element-wise value before the last moment: sizes have arithmetic of their own.
enum Number {
    Size(Size),
    Other(Elementwise),
}

impl From<Number> for Elementwise {
    fn from(number: Number) -> Elementwise {
        match number {
            Number::Size(size) => size.into(),
            Number::Other(value) => value,
        }
    }
}

/// One function.
struct Replay<'f, 's> {
    graph: &'f Graph,
    above: &'f [Function<'s>],
    names: BTreeMap<&'s str, Value>,
}

impl<'s> Replay<'_, 's> {
    fn body(&mut self, statements: &[Statement<'s>]) -> Vec<Elementwise> {
        for (number, statement) in statements.iter().enumerate() {
            match statement {
                Statement::Return(values, _) => return values.iter().map(|value| self.number(value).into()).collect(),
                Statement::Assign { targets, values, .. } => self.assign(targets, values),
                Statement::Method { object, method, arguments } if method.text == "bind_dims" => {
                    let sizes: Vec<Size> = arguments.iter().map(|size| self.size(size)).collect();
                    self.tensor(*object).bind_dims(sizes);
                }
                Statement::Method { .. } | Statement::Built { .. } => {}
                Statement::Contract { target, index, operator, value, .. } => {
                    let tensor = self.contract(*target, index, operator, value, &statements[number + 1..]);
                    self.names.insert(target.text, Value::Tensor(tensor));
                }
            }
        }
        panic!("nothing is returned")
    }

    fn assign(&mut self, targets: &[Name<'s>], values: &[Expression<'s>]) {
        let mut found = Vec::new();
        for (number, target) in targets.iter().enumerate() {
            let value = values.get(number).unwrap_or(&values[0]);
            found.push(match &value.form {
                Form::Call { function, arguments } if function.text == "TensorOutput" => {
                    Value::Output(arguments.iter().map(|size| self.size(size)).collect())
                }
                Form::Call { function, .. } if function.text.starts_with("TensorDim") => {
                    Value::Size(TensorDim::new().into())
                }
                Form::Call { function, .. } if function.text.starts_with("TensorIndex") => {
                    Value::Index(TensorIndex::new(target.text.to_owned().leak()))
                }
                Form::Name(name) => self.names[name.text].clone(),
                _ => match self.number(value) {
                    Number::Size(size) => Value::Size(size),
                    Number::Other(value) => Value::Tensor(value.named(target.text)),
                },
            });
        }
        self.names.extend(targets.iter().map(|target| target.text).zip(found));
    }

    fn contract(
        &self,
        target: Name<'s>,
        index: &[Expression<'s>],
        operator: &str,
        value: &Expression<'s>,
        later: &[Statement<'s>],
    ) -> Tensor {
        let Value::Output(sizes) = &self.names[target.text] else { panic!("`{}` is no output", target.text) };
        let output = TensorOutput::new(sizes.clone()).named(target.text.to_owned().leak());
        let output = output.at(index.iter().map(|form| self.affine(form)).collect::<Vec<_>>());
        let combination = self.combination(value);
        let mut contraction = match operator {
            "+=" => output.sum(combination),
            "*=" => output.product(combination),
            ">=" => output.max(combination),
            "<=" => output.min(combination),
            _ => output.assign(combination),
        };
        for statement in later {
            match statement {
                Statement::Assign { targets, .. } if targets.iter().any(|name| name.text == target.text) => break,
                Statement::Method { object, method, arguments } if object.text == target.text => {
                    for argument in arguments {
                        let all = match &argument.form {
                            Form::List(all) => all.as_slice(),
                            _ => std::slice::from_ref(argument),
                        };
                        for argument in all {
                            contraction = match &argument.form {
                                Form::Name(name) => contraction.use_default(self.tensor(*name)),
                                Form::Chain { first, rest } => {
                                    contraction.constrain(self.affine(first), self.size(&rest[0].1))
                                }
                                _ => panic!("no argument of `{}`", method.text),
                            };
                        }
                    }
                }
                _ => {}
            }
        }
        contraction.build()
    }

    fn combination(&self, value: &Expression<'s>) -> Combination {
        match &value.form {
            Form::Chain { first, rest } => {
                let (a, b) = (self.access(first), self.access(&rest[0].1));
                match rest[0].0 {
                    Operator::Mul => a * b,
                    Operator::Add => a + b,
                    _ => a.equals(b),
                }
            }
            Form::Call { arguments, .. } => {
                let [a, b, c] = [0, 1, 2].map(|number| self.access(&arguments[number]));
                cond(a, b, c)
            }
            _ => self.access(value).into(),
        }
    }

    fn access(&self, expression: &Expression<'s>) -> Access {
        let Form::Access { tensor, index } = &expression.form else { panic!("no access") };
        self.tensor(*tensor).at(index.iter().map(|form| self.affine(form)).collect::<Vec<_>>())
    }

    fn tensor(&self, name: Name<'s>) -> &Tensor {
        match &self.names[name.text] {
            Value::Tensor(tensor) => tensor,
            _ => panic!("`{}` is no tensor", name.text),
        }
    }

    /// A size, if it is made of sizes only.
    fn size_of(&self, expression: &Expression<'s>) -> Option<Size> {
        match &expression.form {
            Form::Integer(value) => Some((*value).into()),
            Form::Name(name) => match &self.names[name.text] {
                Value::Size(size) => Some(size.clone()),
                _ => None,
            },
            Form::Negate(count, value) => Some((0..*count).fold(self.size_of(value)?, |size, _| -size)),
            Form::Chain { first, rest } => rest.iter().try_fold(self.size_of(first)?, |left, (operator, operand)| {
                applied(*operator, left, self.size_of(operand)?)
            }),
            _ => None,
        }
    }

    fn size(&self, expression: &Expression<'s>) -> Size {
        self.size_of(expression).expect("a size")
    }

    fn affine(&self, expression: &Expression<'s>) -> Affine {
        if let Some(size) = self.size_of(expression) {
            return size.into();
        }
        match &expression.form {
            Form::Name(name) => match &self.names[name.text] {
                Value::Index(index) => (*index).into(),
                _ => panic!("`{}` is no index", name.text),
            },
            Form::Negate(count, value) => (0..*count).fold(self.affine(value), |form, _| -form),
            Form::Chain { first, rest } => {
                // As in Rust, what comes before the first index variable is a size.
                let (mut size, mut form) = (self.size_of(first), None);
                for (operator, operand) in rest {
                    if let (Some(left), Some(right)) = (&size, self.size_of(operand)) {
                        size = applied(*operator, left.clone(), right);
                        continue;
                    }
                    let left = form.or(size.take().map(Affine::from)).unwrap_or_else(|| self.affine(first));
                    form = applied(*operator, left, self.affine(operand));
                }
                form.expect("an index")
            }
            _ => panic!("no index"),
        }
    }

    fn number(&mut self, expression: &Expression<'s>) -> Number {
        if let Some(size) = self.size_of(expression) {
            return Number::Size(size);
        }
        Number::Other(match &expression.form {
            Form::Float(value) => (*value).into(),
            Form::Name(name) => self.tensor(*name).into(),
            Form::Negate(count, value) => (0..*count).fold(Elementwise::from(self.number(value)), |value, _| -value),
            Form::Chain { first, rest } => {
                let mut left = self.number(first);
                for (operator, operand) in rest {
                    let right = self.number(operand);
                    left = match (left, right) {
                        (Number::Size(left), Number::Size(right)) if *operator != Operator::Div => {
                            Number::Size(applied(*operator, left, right).expect("an operation on sizes"))
                        }
                        (left, right) => Number::Other(compared(*operator, left.into(), right.into())),
                    };
                }
                left.into()
            }
            Form::Invert(value) => !Elementwise::from(self.number(value)),
            Form::Call { function, arguments } if arguments.iter().any(|argument| self.is_of_form(argument)) => {
                self.form(function.text, arguments)
            }
            Form::Call { function: name, arguments } => {
                if let Some(place) = self.above.iter().rposition(|known| known.name.text == name.text) {
                    return self.called(place, arguments);
                }
                if let ("argsort", [value, rest @ ..]) = (name.text, arguments.as_slice()) {
                    let axis = match rest {
                        [Expression { form: Form::Integer(axis), .. }] => *axis,
                        _ => -1,
                    };
                    return Number::Other(argsort(self.number(value), axis));
                }
                if let ("gather" | "gather_nd" | "scatter", [a, b, rest @ ..]) = (name.text, arguments.as_slice()) {
                    let (a, b) = (Elementwise::from(self.number(a)), Elementwise::from(self.number(b)));
                    return Number::Other(match (name.text, rest) {
                        ("scatter", [size]) => scatter(a, b, self.size(size)),
                        ("gather_nd", [Expression { form: Form::Integer(common), .. }]) => {
                            gather_nd(a, b, *common as usize)
                        }
                        ("gather_nd", _) => gather_nd(a, b, 0),
                        (_, [Expression { form: Form::Integer(axis), .. }]) => gather(a, b, *axis as usize),
                        _ => gather(a, b, 0),
                    });
                }
                let values: Vec<Elementwise> = arguments.iter().map(|value| self.number(value).into()).collect();
                match values.as_slice() {
                    [condition, yes, no] => select(condition.clone(), yes.clone(), no.clone()),
                    values => function::named(name.text, values).unwrap_or_else(|| panic!("no `{}`", name.text)),
                }
            }
            _ => panic!("no value"),
        })
    }

    /// Whether an argument is a list of sizes or a type.
    fn is_of_form(&self, argument: &Expression<'s>) -> bool {
        match argument.form {
            Form::List(_) => true,
            Form::Name(name) => !self.names.contains_key(name.text),
            _ => false,
        }
    }

    fn form(&mut self, function: &str, arguments: &[Expression<'s>]) -> Elementwise {
        let sizes = |list: &Expression<'s>| match &list.form {
            Form::List(sizes) => sizes.iter().map(|size| self.size(size)).collect::<Vec<Size>>(),
            _ => panic!("no list"),
        };
        match (function, arguments) {
            ("index", [list, Expression { form: Form::Integer(axis), .. }]) => {
                index(self.graph, sizes(list), *axis as usize)
            }
            ("reshape", [value, list]) => {
                let list = sizes(list);
                reshape(self.number(value), list)
            }
            ("scatter_nd", [data, indices, list]) => {
                let list = sizes(list);
                scatter_nd(self.number(data), self.number(indices), list)
            }
            ("cast", [value, Expression { form: Form::Name(kind), .. }]) => {
                cast(self.number(value), kind.text.to_owned().leak())
            }
            _ => panic!("no form `{function}`"),
        }
    }

    /// A call of a function of the file is one of a Rust function.
    fn called(&mut self, place: usize, arguments: &[Expression<'s>]) -> Number {
        let function = &self.above[place];
        let mut names = BTreeMap::new();
        for (parameter, argument) in function.parameters.iter().zip(arguments) {
            let value = match (self.number(argument), &argument.form) {
                (Number::Size(size), _) => Value::Size(size),
                (_, Form::Name(name)) => self.names[name.text].clone(),
                (Number::Other(value), _) => Value::Tensor(value.named(parameter.text)),
            };
            names.insert(parameter.text, value);
        }
        let mut inner = Replay { graph: self.graph, above: &self.above[..place], names };
        let [result] = <[Elementwise; 1]>::try_from(inner.body(&function.statements)).expect("one result");
        Number::Other(match result.value {
            super::Number::Tensor(_) => result,
            _ => (&result.named(function.name.text)).into(),
        })
    }
}

/// An operation on sizes, or on indices: `//` is `/` in Rust.
fn applied<T>(operator: Operator, a: T, b: T) -> Option<T>
where
    T: std::ops::Add<Output = T> + std::ops::Sub<Output = T> + std::ops::Mul<Output = T> + std::ops::Div<Output = T>,
{
    Some(match operator {
        Operator::Add => a + b,
        Operator::Sub => a - b,
        Operator::Mul => a * b,
        Operator::FloorDiv => a / b,
        _ => return None,
    })
}

fn compared(operator: Operator, a: Elementwise, b: Elementwise) -> Elementwise {
    match operator {
        Operator::Add => a + b,
        Operator::Sub => a - b,
        Operator::Mul => a * b,
        Operator::Div => a / b,
        Operator::Lt => a.less(b),
        Operator::Le => a.at_most(b),
        Operator::Gt => a.greater(b),
        Operator::Ge => a.at_least(b),
        Operator::Eq => a.equals(b),
        Operator::Ne => a.differs(b),
        Operator::Rem => a % b,
        Operator::ShiftLeft => a << b,
        Operator::ShiftRight => a >> b,
        Operator::BitAnd => a & b,
        Operator::BitXor => a ^ b,
        Operator::BitOr => a | b,
        Operator::FloorDiv => a.divided_down(b),
    }
}

/// What a program says but for places in the source, and names of tensors.
fn bare(mut program: Program) -> Program {
    program.integers.clear();
    for tensor in &mut program.tensors {
        tensor.name.clear();
        tensor.span = Span::default();
    }
    for nest in &mut program.nests {
        nest.origin = Origin::default();
    }
    program
}

/// Replay one text; inputs of these shapes or integers.
fn check(name: &str, text: &str, options: &Options) {
    let (expected, _) = parse(text, options).unwrap_or_else(|errors| panic!("{name}: {errors:?}"));
    let source = preprocessor::expand(text, Host::Tile, options);
    let (lines, _) = lexer::lex(&source);
    let (functions, _) = parser::parse(&source.text, &lines, &[], &options.limits);
    let entry = options.entry.as_ref().map_or(functions.len() - 1, |entry| {
        functions.iter().position(|function| function.name.text == entry).expect("the entry is there")
    });
    let graph = Graph::new();
    let mut names = BTreeMap::new();
    for parameter in &functions[entry].parameters {
        let shape = options.shapes.iter().find(|(name, _)| name == parameter.text);
        let integer = options.integers.iter().find(|(name, _)| name == parameter.text);
        let value = match (integer, shape) {
            (Some((_, value)), _) => Value::Size((*value).into()),
            (None, Some((name, shape))) => Value::Tensor(graph.placeholder(name, shape)),
            (None, None) => panic!("{name}: no value of `{}`", parameter.text),
        };
        names.insert(parameter.text, value);
    }
    let results = Replay { graph: &graph, above: &functions[..entry], names }.body(&functions[entry].statements);
    let built = graph.build(results).unwrap_or_else(|faults| panic!("{name}: {faults:?}"));
    assert_eq!(bare(built), bare(expected), "{name}");
}

fn shape(value: &Json) -> Vec<u32> {
    match value {
        Json::Array(items) => [items.len() as u32].into_iter().chain(items.first().map_or(vec![], shape)).collect(),
        _ => Vec::new(),
    }
}

#[test]
fn the_suite_is_the_same_by_calls() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/conformance/tile");
    let mut count = 0;
    for file in std::fs::read_dir(folder).expect("the folder is there") {
        let path = file.expect("a file").path();
        if path.extension().is_none_or(|extension| extension != "tile") {
            continue;
        }
        let read = |path: &Path| std::fs::read_to_string(path).expect("a text");
        let (text, case) = (read(&path), read(&path.with_extension("json")));
        let case: Json = serde_json::from_str(&case).expect("JSON");
        if !case["error"].is_null() {
            continue;
        }
        let mut options = Options { entry: case["entry"].as_str().map(str::to_owned), ..Options::default() };
        for (name, value) in case["inputs"].as_object().into_iter().flatten() {
            match value.as_i64() {
                Some(integer) => options.integers.push((name.clone(), integer)),
                None => options.shapes.push((name.clone(), shape(value))),
            }
        }
        check(&path.display().to_string(), &text, &options);
        count += 1;
    }
    assert!(count > 50, "{count} programs");
}

/// Made up by `python/tests/tile_programs.py`; the calls of Python are compared with the same texts there.
#[test]
fn programs_that_are_made_up_are_the_same_by_calls() {
    let made: Json = serde_json::from_str(include_str!("../../../../../tests/tile_programs.json")).expect("JSON");
    for (number, case) in made.as_array().expect("a list").iter().enumerate() {
        let extents = |shape: &Json| serde_json::from_value(shape.clone()).expect("extents");
        let shapes = case["shapes"].as_object().expect("shapes").iter();
        let shapes = shapes.map(|(name, shape)| (name.clone(), extents(shape))).collect();
        let text = case["text"].as_str().expect("a text");
        check(&format!("program {number}:\n{text}"), text, &Options { shapes, ..Options::default() });
    }
}
