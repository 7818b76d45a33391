//! Functions to tensor IR: statements are executed one after the other, sizes being known.
//!
//! ```text
//! M, N = TensorDims(2)        names
//! I.bind_dims(M, N)           sizes from the host's shapes
//! O[n] += I[m, n]             a contraction: Nests
//! D = O / M                   element-wise: one Nest
//! return D                    out0
//! D = other(O)                a function above: its statements, with names of their own
//! ```

use super::ast::{Expression, Form, Function, Name, Statement};
use super::scope::Entry;
use crate::language::{Limits, Options, nearest};
use crate::tensor::{Element, Nest, Program, Role, Tensor, TensorId};
use arch::{Code, Diagnostic, Span};
use std::collections::BTreeMap;

/// Translate the entry of a file.
pub(super) fn lower(functions: &[Function], options: &Options) -> Result<(Program, Vec<Diagnostic>), Vec<Diagnostic>> {
    let entry = match &options.entry {
        None => functions.len().checked_sub(1),
        Some(name) => functions.iter().position(|function| function.name.text == name),
    };
    let Some(entry) = entry else {
        let diagnostic = match &options.entry {
            None => Diagnostic::global(Code::Undef, "the file has no function"),
            Some(name) => {
                let diagnostic = Diagnostic::global(Code::Undef, format!("unknown function `{name}`"));
                match nearest(name, functions.iter().map(|function| function.name.text)) {
                    Some(near) => diagnostic.with_help(format!("did you mean `{near}`?")),
                    None => diagnostic,
                }
            }
        };
        return Err(vec![diagnostic]);
    };
    let mut lowering = Lowering {
        options,
        functions,
        visible: entry,
        depth: 0,
        called_statements: 0,
        program: Program::default(),
        names: BTreeMap::new(),
        versions: BTreeMap::new(),
        elements: 0,
        diagnostics: Vec::new(),
    };
    lowering.warn_shadows();
    lowering.function(&functions[entry]);
    let wrong = lowering.diagnostics.iter().any(|diagnostic| !diagnostic.code.is_warning());
    if wrong { Err(lowering.diagnostics) } else { Ok((lowering.program, lowering.diagnostics)) }
}

/// A statement and its number in the function.
pub(super) type Numbered<'e, 's> = (usize, &'e Statement<'s>);

/// The state of a translation.
pub(super) struct Lowering<'s, 'a> {
    options: &'a Options,
    pub(super) functions: &'a [Function<'s>],
    /// How many functions may be called: those above the current one.
    pub(super) visible: usize,
    /// Calls around the current statement.
    pub(super) depth: usize,
    /// Statements of called functions so far.
    pub(super) called_statements: usize,
    pub(super) program: Program,
    pub(super) names: BTreeMap<&'s str, Entry>,
    /// How many tensors have been made of a name.
    versions: BTreeMap<String, usize>,
    elements: u64,
    diagnostics: Vec<Diagnostic>,
}

impl<'s> Lowering<'s, '_> {
    /// Whether nobody wants to hear of more.
    fn is_full(&self) -> bool {
        self.diagnostics.len() >= 4 * self.options.limits.errors
    }

    pub(super) fn report(&mut self, diagnostic: Diagnostic) {
        if !self.is_full() {
            self.diagnostics.push(diagnostic);
        }
    }

    pub(super) fn limits(&self) -> Limits {
        self.options.limits
    }

    pub(super) fn entry(&self, name: &str) -> Option<&Entry> {
        self.names.get(name)
    }

    pub(super) fn set(&mut self, name: &'s str, entry: Entry) {
        self.names.insert(name, entry);
    }

    pub(super) fn push(&mut self, nest: Nest) {
        self.program.nests.push(nest);
    }

    pub(super) fn shape(&self, tensor: TensorId) -> Vec<u32> {
        self.program.tensors[tensor.0].shape.clone()
    }

    /// What a name stands for; an unknown one is reported.
    pub(super) fn lookup(&mut self, name: Name<'s>) -> Option<Entry> {
        if let Some(entry) = self.names.get(name.text) {
            return Some(entry.clone());
        }
        if self.is_full() {
            return None;
        }
        let diagnostic = Diagnostic::new(Code::Undef, name.span, format!("`{}` is not defined", name.text))
            .with_label("unknown name");
        self.report(match nearest(name.text, self.names.keys().copied()) {
            Some(near) => diagnostic.with_help(format!("did you mean `{near}`?")),
            None => diagnostic,
        });
        None
    }

    /// The tensor of a name, which has a value.
    pub(super) fn read(&mut self, name: Name<'s>) -> Option<TensorId> {
        let entry = self.lookup(name)?;
        if let Some(tensor) = entry.tensor() {
            return Some(tensor);
        }
        match entry {
            Entry::Declared { .. } => self.report(
                Diagnostic::new(Code::UndefVal, name.span, format!("`{}` is read before its contraction", name.text))
                    .with_label("no value yet"),
            ),
            Entry::Broken => {}
            _ => self.report(
                Diagnostic::new(Code::Kind, name.span, format!("`{}` is not a tensor", name.text))
                    .with_label("a tensor is expected"),
            ),
        }
        None
    }

    /// A new tensor, of a name that is unique in the program.
    pub(super) fn tensor(&mut self, name: &str, shape: Vec<u32>, span: Span) -> Option<TensorId> {
        let limits = self.options.limits;
        let elements = shape.iter().fold(1u64, |product, &extent| product.saturating_mul(u64::from(extent)));
        self.elements = self.elements.saturating_add(elements);
        if shape.len() > limits.rank || elements > limits.elements || self.elements > limits.elements_in_all {
            let label = format!("{elements} elements in {} dimensions", shape.len());
            self.report(Diagnostic::new(Code::Limit, span, format!("`{name}` is too large")).with_label(label));
            return None;
        }
        let number = self.versions.entry(name.to_string()).or_insert(0);
        let unique = if *number == 0 { name.to_string() } else { format!("{name}.{number}") };
        *number += 1;
        self.program.tensors.push(Tensor { name: unique, shape, role: Role::Temporary, element: Element::Real, span });
        Some(TensorId(self.program.tensors.len() - 1))
    }

    fn function(&mut self, function: &Function<'s>) {
        let mut missing = Vec::new();
        for parameter in &function.parameters {
            if self.names.contains_key(parameter.text) {
                self.report(
                    Diagnostic::new(
                        Code::Redef,
                        parameter.span,
                        format!("the parameter `{}` is named twice", parameter.text),
                    )
                    .with_label("second time"),
                );
                continue;
            }
            let set = self.options.set.iter().find(|(name, _)| name == parameter.text).map(|&(_, value)| value as i64);
            let integer =
                self.options.integers.iter().find(|(name, _)| name == parameter.text).map(|&(_, value)| value);
            let given = self.options.shapes.iter().find(|(name, _)| name == parameter.text);
            let shape = given.map(|(_, shape)| shape.clone()).or_else(|| written_shape(function, parameter.text));
            let entry = match (set.or(integer), shape) {
                (Some(value), _) => {
                    self.program.integers.push((parameter.text.to_owned(), value));
                    Entry::Integer(value)
                }
                (None, Some(shape)) => match self.tensor(parameter.text, shape, parameter.span) {
                    Some(tensor) => {
                        self.program.tensors[tensor.0].role = Role::Input;
                        Entry::Input(tensor)
                    }
                    None => Entry::Broken,
                },
                (None, None) => {
                    missing.push(*parameter);
                    Entry::Broken
                }
            };
            self.set(parameter.text, entry);
        }
        for (number, entry) in self.body(function).into_iter().enumerate() {
            let (name, Some(tensor)) = (format!("out{number}"), entry.tensor()) else { continue };
            let role = &mut self.program.tensors[tensor.0].role;
            if *role == Role::Temporary {
                *role = Role::Output;
            }
            self.program.names.push((name, tensor));
        }
        if self.diagnostics.iter().all(|diagnostic| diagnostic.code.is_warning()) {
            for parameter in missing {
                self.report(
                    Diagnostic::new(
                        Code::UndefVal,
                        parameter.span,
                        format!("the inputs give no value for `{}`", parameter.text),
                    )
                    .with_label("its shape is not known"),
                );
            }
        }
    }

    /// The statements of a function, and what it returns.
    pub(super) fn body(&mut self, function: &Function<'s>) -> Vec<Entry> {
        let last = function.statements.len().saturating_sub(1);
        let mut about: BTreeMap<&str, Vec<Numbered<'_, 's>>> = BTreeMap::new();
        for (number, statement) in function.statements.iter().enumerate() {
            let names = match statement {
                Statement::Assign { targets, .. } => targets.as_slice(),
                Statement::Method { object, .. } => std::slice::from_ref(object),
                Statement::Contract { .. } | Statement::Built { .. } | Statement::Return(..) => &[],
            };
            for name in names {
                about.entry(name.text).or_default().push((number, statement));
            }
        }
        let mut returned = None;
        for (number, statement) in function.statements.iter().enumerate() {
            if let (Statement::Return(_, span), true) = (statement, number < last) {
                self.report(
                    Diagnostic::new(Code::Syntax, *span, "`return` is the last statement").with_label("not the last"),
                );
                return Vec::new();
            }
            let later = match statement {
                Statement::Contract { target, .. } => {
                    let own = about.get(target.text).map_or(&[][..], Vec::as_slice);
                    &own[own.partition_point(|(other, _)| *other <= number)..]
                }
                _ => &[],
            };
            match statement {
                Statement::Return(values, span) => returned = Some(self.results(function.name, values, *span)),
                _ => self.statement(statement, later),
            }
        }
        returned.unwrap_or_else(|| {
            self.report(
                Diagnostic::new(Code::Output, function.name.span, format!("`{}` returns nothing", function.name.text))
                    .with_label("no `return`"),
            );
            Vec::new()
        })
    }

    /// What a function returns: tensors to the host, sizes also to another function.
    fn results(&mut self, function: Name<'s>, values: &[Expression<'s>], span: Span) -> Vec<Entry> {
        let mut entries = Vec::new();
        for (number, value) in values.iter().enumerate() {
            let entry = if self.depth > 0 && self.is_size(value) {
                self.size(value).map(Entry::Integer)
            } else {
                let name = if self.depth > 0 { function.text.to_owned() } else { format!("out{number}") };
                self.elementwise(value, &name, span).map(Entry::Value)
            };
            entries.push(entry.unwrap_or(Entry::Broken));
        }
        entries
    }

    /// `later`: what follows about the target of a contraction.
    fn statement(&mut self, statement: &Statement<'s>, later: &[Numbered<'_, 's>]) {
        match statement {
            Statement::Assign { targets, values, span } => self.assign(targets, values, *span),
            Statement::Method { object, method, arguments } => self.method(*object, *method, arguments),
            Statement::Contract { target, index, operator, value, span } => {
                let _ = self.contract((*target, index, operator), value, *span, later);
            }
            // The parser has written it out.
            Statement::Built { .. } | Statement::Return(..) => {}
        }
    }

    fn assign(&mut self, targets: &[Name<'s>], values: &[Expression<'s>], span: Span) {
        if let [value] = values
            && let Some(call) = self.called(value)
        {
            let entries = self.call(&call, targets.len()).unwrap_or_default();
            for (number, target) in targets.iter().enumerate() {
                self.set(target.text, entries.get(number).cloned().unwrap_or(Entry::Broken));
            }
            return;
        }
        if let [Expression { form: Form::Call { function, arguments }, .. }] = values {
            let entry = match function.text {
                "TensorDim" | "TensorDims" => Some(Entry::Unbound),
                "TensorIndex" | "TensorIndexes" => Some(Entry::Index),
                _ => None,
            };
            if let Some(entry) = entry {
                self.declare(targets, function.text, arguments, &entry, span);
                return;
            }
            if function.text == "TensorOutput" {
                let entry = self.extents(arguments).map_or(Entry::Broken, |shape| Entry::Declared { shape });
                for target in targets {
                    self.set(target.text, entry.clone());
                }
                return;
            }
        }
        if targets.len() != values.len() {
            let message = format!("{} names for {} values", targets.len(), values.len());
            self.report(Diagnostic::new(Code::Arity, targets[0].span, message).with_label("here"));
        }
        let mut entries = Vec::new();
        for (target, value) in targets.iter().zip(values) {
            let entry = if self.is_size(value) {
                self.size(value).map(Entry::Integer)
            } else if let Form::Name(name) = &value.form {
                self.lookup(*name)
            } else {
                self.elementwise(value, target.text, span).map(Entry::Value)
            };
            entries.push(entry.unwrap_or(Entry::Broken));
        }
        for (number, target) in targets.iter().enumerate() {
            self.set(target.text, entries.get(number).cloned().unwrap_or(Entry::Broken));
        }
    }

    /// `a, b = TensorDims(2)`
    fn declare(
        &mut self,
        targets: &[Name<'s>],
        function: &str,
        arguments: &[Expression<'s>],
        entry: &Entry,
        _span: Span,
    ) {
        let several = function.ends_with('s') && function != "TensorIndex";
        let count = match (several, arguments) {
            (false, []) => Some(1),
            (true, [count]) => match self.size(count) {
                Some(value) if value < 1 => {
                    self.report(
                        Diagnostic::new(Code::Arity, count.span, format!("`{function}` makes at least one name"))
                            .with_label(format!("{value}")),
                    );
                    None
                }
                value => value,
            },
            _ => {
                let expected = if several { "one argument" } else { "no argument" };
                self.report(
                    Diagnostic::new(Code::Arity, targets[0].span, format!("`{function}` has {expected}"))
                        .with_label("here"),
                );
                None
            }
        };
        if let Some(count) = count
            && count != targets.len() as i64
        {
            let message = format!("{} names for {count} results of `{function}`", targets.len());
            self.report(Diagnostic::new(Code::Arity, targets[0].span, message).with_label("numbers differ"));
        }
        for target in targets {
            self.set(target.text, entry.clone());
        }
    }

    fn method(&mut self, object: Name<'s>, method: Name<'s>, arguments: &[Expression<'s>]) {
        match method.text {
            "bind_dims" => self.bind(object, arguments),
            "add_constraint" | "add_constraints" | "use_default" | "no_reduce" => match self.lookup(object) {
                // The contraction has looked at it already.
                None | Some(Entry::Contracted(_) | Entry::Broken) => {}
                Some(_) => self.report(
                    Diagnostic::new(
                        Code::Contract,
                        object.span,
                        format!("`{}` is not a result of a contraction", object.text),
                    )
                    .with_label("constraints follow the contraction"),
                ),
            },
            other => {
                let known = ["bind_dims", "add_constraint", "add_constraints", "use_default", "no_reduce"];
                let diagnostic = Diagnostic::new(Code::Undef, method.span, format!("tensors have no method `{other}`"))
                    .with_label("unknown");
                self.report(match nearest(other, known) {
                    Some(near) => diagnostic.with_help(format!("did you mean `{near}`?")),
                    None => diagnostic,
                });
            }
        }
    }

    /// `I.bind_dims(M, N)`
    fn bind(&mut self, object: Name<'s>, arguments: &[Expression<'s>]) {
        let Some(tensor) = self.read(object) else {
            // Its sizes count as bound, so that they are not reported, too.
            for argument in arguments {
                if let Form::Name(name) = argument.form
                    && self.entry(name.text) == Some(&Entry::Unbound)
                {
                    self.set(name.text, Entry::Broken);
                }
            }
            return;
        };
        let shape = self.shape(tensor);
        if shape.len() != arguments.len() {
            let message = format!("`{}` has {} dimensions", object.text, shape.len());
            self.report(
                Diagnostic::new(Code::Rank, object.span, message).with_label(format!("{} given", arguments.len())),
            );
            return;
        }
        for (argument, extent) in arguments.iter().zip(shape) {
            let extent = i64::from(extent);
            let known = match argument.form {
                Form::Integer(value) => value,
                Form::Name(name) => match self.lookup(name) {
                    Some(Entry::Unbound) => {
                        self.set(name.text, Entry::Integer(extent));
                        extent
                    }
                    Some(Entry::Integer(value)) => value,
                    None | Some(Entry::Broken) => extent,
                    Some(_) => {
                        let message = format!("`{}` is not a size", name.text);
                        self.report(Diagnostic::new(Code::Kind, name.span, message).with_label("in bind_dims"));
                        extent
                    }
                },
                _ => {
                    self.report(
                        Diagnostic::new(Code::Kind, argument.span, "bind_dims takes names of sizes and integers")
                            .with_label("neither"),
                    );
                    extent
                }
            };
            if known != extent {
                let message = format!("`{}` has extent {extent} where {known} is bound", object.text);
                self.report(Diagnostic::new(Code::Shape, object.span, message).with_label("extents differ"));
            }
        }
    }
}

/// The shape that a function itself says: `I.bind_dims(3, 4)`.
fn written_shape(function: &Function, name: &str) -> Option<Vec<u32>> {
    let extent = |argument: &Expression| match argument.form {
        Form::Integer(extent) => u32::try_from(extent).ok().filter(|&extent| extent > 0),
        _ => None,
    };
    function.statements.iter().find_map(|statement| match statement {
        Statement::Method { object, method, arguments } if (object.text, method.text) == (name, "bind_dims") => {
            arguments.iter().map(extent).collect()
        }
        _ => None,
    })
}
