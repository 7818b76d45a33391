//! Steps to the syntax tree of the text form.

use super::arithmetic::{Argument, Number};
use super::index::{Affine, Bound, Size, TensorIndex, Tree};
use super::{Access, Fault, Form, Recorder, Statement as Contraction, What};
use crate::language::Options;
use crate::language::tile::ast::{Expression, Form as Syntax, Function, Name, Operator, Statement};
use crate::language::tile::lower;
use crate::tensor::{self, Program};
use arch::Span;
use std::collections::{BTreeMap, BTreeSet};
use std::panic::Location;

/// Translate the recorded steps.
pub(super) fn build(
    recorder: &Recorder,
    results: &[Number],
    end: &'static Location<'static>,
    options: &Options,
) -> Result<Program, Vec<Fault>> {
    let names = Names::of(recorder, results);
    let mut statements = Vec::new();
    // The span of a step is its number: parameters first, then the steps, then the results.
    let mut places: Vec<&'static Location<'static>> = recorder.inputs.iter().map(|input| input.2).collect();
    let parameters: Vec<Name> =
        recorder.inputs.iter().enumerate().map(|(n, input)| Name { text: &input.0, span: step(n) }).collect();
    for text in names.sizes.values() {
        statements.push(declare(text, "TensorDim"));
    }
    for text in names.indices.values() {
        statements.push(declare(text, "TensorIndex"));
    }
    for recorded in &recorder.steps {
        let writer = Writer { names: &names, span: step(places.len()) };
        places.push(recorded.place);
        match &recorded.what {
            What::Bind { tensor, sizes } => {
                let arguments = sizes.iter().map(|size| writer.size(size)).collect();
                statements.push(writer.method(tensor, "bind_dims", arguments));
            }
            What::Contract(contraction) => writer.contraction(contraction, &mut statements),
            What::Assign { name, value } => statements.push(Statement::Assign {
                targets: vec![writer.name(name)],
                values: vec![writer.number(value)],
                span: writer.span,
            }),
        }
    }
    let writer = Writer { names: &names, span: step(places.len()) };
    places.push(end);
    if !results.is_empty() {
        statements.push(Statement::Return(results.iter().map(|value| writer.number(value)).collect(), writer.span));
    }
    let function = Function { name: writer.name("function"), parameters, statements };
    let shapes = recorder.inputs.iter().map(|(name, shape, _)| (name.clone(), shape.clone())).collect();
    let options = Options { shapes, ..options.clone() };
    let (program, _) = lower::lower(&[function], &options).map_err(|diagnostics| {
        let errors = diagnostics.into_iter().filter(|diagnostic| !diagnostic.code.is_warning());
        let place = |span: Option<Span>| span.and_then(|span| places.get(span.start).copied()).unwrap_or(end);
        errors.map(|diagnostic| Fault { place: place(diagnostic.span), diagnostic }).collect::<Vec<_>>()
    })?;
    tensor::verify(&program);
    Ok(program)
}

fn step(number: usize) -> Span {
    Span::new(number, number + 1)
}

fn declare<'s>(text: &'s str, kind: &'static str) -> Statement<'s> {
    let span = Span::default();
    let function = Name { text: kind, span };
    let call = Expression { form: Syntax::Call { function, arguments: Vec::new() }, span };
    Statement::Assign { targets: vec![Name { text, span }], values: vec![call], span }
}

/// Unique names of sizes and index variables.
struct Names {
    sizes: BTreeMap<u32, String>,
    indices: BTreeMap<u32, String>,
}

impl Names {
    fn of(recorder: &Recorder, results: &[Number]) -> Names {
        let mut found = Found::default();
        for recorded in &recorder.steps {
            match &recorded.what {
                What::Bind { sizes, .. } => sizes.iter().for_each(|size| found.size(&size.0)),
                What::Contract(contraction) => found.contraction(contraction),
                What::Assign { value, .. } => found.number(value),
            }
        }
        for value in results {
            found.number(value);
        }
        let mut taken: BTreeSet<String> = recorder.names.iter().cloned().collect();
        let mut unique = |wanted: String| {
            let mut name = wanted;
            while !taken.insert(name.clone()) {
                name.push('\'');
            }
            name
        };
        let sizes = found.sizes.into_iter().map(|id| (id, unique(format!("size {id}")))).collect();
        let indices = found.indices.into_iter().map(|(id, name)| (id, unique(name.to_owned()))).collect();
        Names { sizes, indices }
    }
}

/// What occurs in the steps.
#[derive(Default)]
struct Found {
    sizes: BTreeSet<u32>,
    indices: BTreeMap<u32, &'static str>,
}

impl Found {
    fn tree<Leaf>(&mut self, tree: &Tree<Leaf>, leaf: &mut impl FnMut(&mut Self, &Leaf)) {
        match tree {
            Tree::Leaf(found) => leaf(self, found),
            Tree::Integer(_) => {}
            Tree::Size(size) => {
                self.sizes.insert(size.id);
            }
            Tree::Negate(a) => self.tree(a, leaf),
            Tree::Apply(_, a, b) => {
                self.tree(a, leaf);
                self.tree(b, leaf);
            }
        }
    }

    fn size(&mut self, tree: &Tree<Bound>) {
        self.tree(tree, &mut |_, _| {});
    }

    fn affine(&mut self, form: &Affine) {
        self.tree(&form.0, &mut |found, index: &TensorIndex| {
            found.indices.insert(index.id, index.name);
        });
    }

    fn contraction(&mut self, contraction: &Contraction) {
        contraction.sizes.iter().for_each(|size| self.size(&size.0));
        contraction.index.iter().for_each(|form| self.affine(form));
        for access in &contraction.combination.accesses {
            access.index.iter().for_each(|form| self.affine(form));
        }
        for (form, bound) in &contraction.constraints {
            self.affine(form);
            self.size(&bound.0);
        }
    }

    fn number(&mut self, value: &Number) {
        match value {
            Number::Tensor(_) | Number::Constant(_) => {}
            Number::Size(size) => self.size(&size.0),
            Number::Negate(a) | Number::Invert(a) => self.number(a),
            Number::Apply(_, a, b) => {
                self.number(a);
                self.number(b);
            }
            Number::Call(_, arguments) => arguments.iter().for_each(|a| self.number(a)),
            Number::Form(_, arguments) => arguments.iter().for_each(|argument| match argument {
                Argument::Value(value) => self.number(value),
                Argument::Sizes(sizes) => sizes.iter().for_each(|size| self.size(&size.0)),
                Argument::Size(size) => self.size(&size.0),
                Argument::Kind(_) => {}
            }),
        }
    }
}

/// Writes the syntax of one step.
struct Writer<'s> {
    names: &'s Names,
    span: Span,
}

impl<'s> Writer<'s> {
    fn name(&self, text: &'s str) -> Name<'s> {
        Name { text, span: self.span }
    }

    fn expression(&self, form: Syntax<'s>) -> Expression<'s> {
        Expression { form, span: self.span }
    }

    fn method(&self, object: &'s str, method: &'s str, arguments: Vec<Expression<'s>>) -> Statement<'s> {
        Statement::Method { object: self.name(object), method: self.name(method), arguments }
    }

    fn contraction(&self, contraction: &'s Contraction, statements: &mut Vec<Statement<'s>>) {
        let Contraction { name, sizes, index, operator, combination, constraints, default } = contraction;
        let sizes = sizes.iter().map(|size| self.size(size)).collect();
        let output = self.call("TensorOutput", sizes);
        statements.push(Statement::Assign { targets: vec![self.name(name)], values: vec![output], span: self.span });
        let mut accesses: Vec<Expression> = combination.accesses.iter().map(|access| self.access(access)).collect();
        let value = match combination.form {
            Form::One => accesses.remove(0),
            Form::Two(operator) => {
                let second = accesses.remove(1);
                let rest = vec![(operator_of(operator), second)];
                self.expression(Syntax::Chain { first: Box::new(accesses.remove(0)), rest })
            }
            Form::Cond => self.call("cond", accesses),
        };
        let index = index.iter().map(|form| self.affine(form)).collect();
        statements.push(Statement::Contract { target: self.name(name), index, operator, value, span: self.span });
        for (form, bound) in constraints {
            let rest = vec![(Operator::Lt, self.size(bound))];
            let constraint = self.expression(Syntax::Chain { first: Box::new(self.affine(form)), rest });
            statements.push(self.method(name, "add_constraint", vec![constraint]));
        }
        if let Some(default) = default {
            let tensor = self.expression(Syntax::Name(self.name(default)));
            statements.push(self.method(name, "use_default", vec![tensor]));
        }
    }

    fn access(&self, access: &'s Access) -> Expression<'s> {
        let index = access.index.iter().map(|form| self.affine(form)).collect();
        self.expression(Syntax::Access { tensor: self.name(&access.name), index })
    }

    fn call(&self, function: &'s str, arguments: Vec<Expression<'s>>) -> Expression<'s> {
        self.expression(Syntax::Call { function: self.name(function), arguments })
    }

    fn tree<Leaf>(&self, tree: &'s Tree<Leaf>, leaf: &impl Fn(&Leaf) -> &'s str) -> Expression<'s> {
        match tree {
            Tree::Leaf(found) => self.expression(Syntax::Name(self.name(leaf(found)))),
            Tree::Integer(value) => self.expression(Syntax::Integer(*value)),
            Tree::Size(size) => self.expression(Syntax::Name(self.name(self.name_of(size.id)))),
            Tree::Negate(a) => self.negated(self.tree(a, leaf)),
            Tree::Apply(operator, a, b) => self.chained(operator, self.tree(a, leaf), self.tree(b, leaf)),
        }
    }

    fn name_of(&self, id: u32) -> &'s str {
        &self.names.sizes[&id]
    }

    fn size(&self, size: &'s Size) -> Expression<'s> {
        self.tree(&size.0, &|leaf: &Bound| match *leaf {})
    }

    fn affine(&self, form: &'s Affine) -> Expression<'s> {
        self.tree(&form.0, &|index: &TensorIndex| self.names.indices[&index.id].as_str())
    }

    fn negated(&self, value: Expression<'s>) -> Expression<'s> {
        self.expression(Syntax::Negate(1, Box::new(value)))
    }

    /// Operators of one level that follow each other are one list, as the parser makes it.
    fn chained(&self, operator: &str, a: Expression<'s>, b: Expression<'s>) -> Expression<'s> {
        let operator = operator_of(operator);
        let (first, mut rest) = match a.form {
            Syntax::Chain { first, rest } if level(rest[0].0) == level(operator) && level(operator) > 0 => {
                (first, rest)
            }
            form => (Box::new(Expression { form, span: a.span }), Vec::new()),
        };
        rest.push((operator, b));
        self.expression(Syntax::Chain { first, rest })
    }

    fn number(&self, value: &'s Number) -> Expression<'s> {
        match value {
            Number::Tensor(name) => self.expression(Syntax::Name(self.name(name))),
            Number::Constant(value) => self.expression(Syntax::Float(*value)),
            Number::Size(size) => self.size(size),
            Number::Negate(a) => self.negated(self.number(a)),
            Number::Apply(operator, a, b) => self.chained(operator, self.number(a), self.number(b)),
            Number::Call(function, arguments) => {
                self.call(function, arguments.iter().map(|a| self.number(a)).collect())
            }
            Number::Invert(a) => self.expression(Syntax::Invert(Box::new(self.number(a)))),
            Number::Form(function, arguments) => {
                self.call(function, arguments.iter().map(|argument| self.argument(argument)).collect())
            }
        }
    }

    fn argument(&self, argument: &'s Argument) -> Expression<'s> {
        match argument {
            Argument::Value(value) => self.number(value),
            Argument::Sizes(sizes) => self.expression(Syntax::List(sizes.iter().map(|size| self.size(size)).collect())),
            Argument::Size(size) => self.size(size),
            Argument::Kind(kind) => self.expression(Syntax::Name(self.name(kind))),
        }
    }
}

/// How tightly an operator binds; comparisons, at 0, do not follow each other.
fn level(operator: Operator) -> u32 {
    match operator {
        Operator::BitOr => 1,
        Operator::BitXor => 2,
        Operator::BitAnd => 3,
        Operator::ShiftLeft | Operator::ShiftRight => 4,
        Operator::Add | Operator::Sub => 5,
        Operator::Mul | Operator::Div | Operator::FloorDiv | Operator::Rem => 6,
        _ => 0,
    }
}

fn operator_of(text: &str) -> Operator {
    match text {
        "+" => Operator::Add,
        "-" => Operator::Sub,
        "*" => Operator::Mul,
        "/" => Operator::Div,
        "//" => Operator::FloorDiv,
        "%" => Operator::Rem,
        "<<" => Operator::ShiftLeft,
        ">>" => Operator::ShiftRight,
        "&" => Operator::BitAnd,
        "^" => Operator::BitXor,
        "|" => Operator::BitOr,
        "<" => Operator::Lt,
        "<=" => Operator::Le,
        ">" => Operator::Gt,
        ">=" => Operator::Ge,
        "==" => Operator::Eq,
        "!=" => Operator::Ne,
        other => unreachable!("`{other}` is not an operator of the builder"),
    }
}
