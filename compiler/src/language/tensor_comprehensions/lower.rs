//! Functions to tensor IR.
//!
//! ```text
//! def mm(float(M,K) A, float(K,N) B) -> (C) {      sizes from the host's shapes: M = 3, K = 4, N = 5
//!   C(m,n) +=! A(m,k) * B(k,n)                     Nest C[m][n] += A[m][k] * B[k][n]   over k in 0..4
//!   C(m,n) = fmax(C(m,n), 0)                       Nest C.1[m][n] = C[m][n] max 0      a new tensor
//! }
//! ```
//!
//! Every function is first lowered with made-up sizes: that finds all errors that need none. Then the entry is lowered with its sizes.
//! Calls are inlined, their tensors being named `f.T`.

use super::ast::{Declaration, Extent, Function, Name, Outcome, Statement};
use super::functions;
use super::ranges::{Explanation, Range};
use super::scope::{Scope, View};
use super::types::Type;
use crate::language::{Options, nearest};
use crate::tensor::{Program, Role, Tensor, TensorId};
use arch::{Code, Diagnostic, Origin, Span};
use std::collections::{BTreeMap, BTreeSet};

/// Statements that the calls of a file may expand to.
const MOST_STATEMENTS: usize = 1 << 16;

/// Translate the entry of a file.
pub(super) fn lower(functions: &[Function], options: &Options) -> Result<Lowered, Vec<Diagnostic>> {
    let mut rough = Lowering::new(functions, options, true);
    rough.check_names();
    for (number, function) in functions.iter().enumerate() {
        rough.program = Program::default();
        rough.visible = number;
        rough.entry(function);
    }
    if rough.any_error() {
        return Err(rough.diagnostics);
    }
    let entry = match &options.entry {
        None => functions.len().checked_sub(1),
        Some(name) => functions.iter().position(|function| function.name.text == name),
    };
    let Some(entry) = entry else {
        let missing = options
            .entry
            .as_deref()
            .map_or("the file has no function".into(), |name| format!("unknown function `{name}`"));
        let diagnostic = Diagnostic::global(Code::Undef, missing);
        let names = functions.iter().map(|function| function.name.text);
        return Err(vec![match options.entry.as_deref().and_then(|name| nearest(name, names)) {
            Some(near) => diagnostic.with_help(format!("did you mean `{near}`?")),
            None => diagnostic,
        }]);
    };
    let mut lowering = Lowering::new(functions, options, false);
    lowering.check_names();
    lowering.visible = entry;
    lowering.entry(&functions[entry]);
    if lowering.any_error() {
        return Err(lowering.diagnostics);
    }
    Ok((lowering.program, lowering.diagnostics, lowering.explanations))
}

/// The state of a translation.
pub(super) struct Lowering<'s, 'a> {
    functions: &'a [Function<'s>],
    /// The place of each function, the first of its name.
    places: BTreeMap<&'s str, usize>,
    pub(super) options: &'a Options,
    /// Sizes are made up: what depends on them is no error.
    pub(super) rough: bool,
    /// Functions that may be called: those above.
    visible: usize,
    pub(super) program: Program,
    /// How many tensors have been made of a name.
    versions: BTreeMap<String, usize>,
    statements: usize,
    /// Calls around the current statement.
    pub(super) depth: usize,
    elements: u64,
    /// Names of built-in functions that the program has defined anew.
    pub(super) shadows: BTreeSet<&'s str>,
    diagnostics: Vec<Diagnostic>,
    /// Where the ranges of index variables come from.
    pub(super) explanations: Vec<Explanation>,
}

/// A program, its warnings, and where the ranges of its index variables come from.
pub(super) type Lowered = (Program, Vec<Diagnostic>, Vec<Explanation>);

impl<'s, 'a> Lowering<'s, 'a> {
    fn new(functions: &'a [Function<'s>], options: &'a Options, rough: bool) -> Lowering<'s, 'a> {
        let places = functions.iter().enumerate().rev().map(|(place, function)| (function.name.text, place)).collect();
        Lowering {
            functions,
            places,
            options,
            rough,
            visible: 0,
            program: Program::default(),
            versions: BTreeMap::new(),
            statements: 0,
            depth: 0,
            elements: 0,
            shadows: BTreeSet::new(),
            diagnostics: Vec::new(),
            explanations: Vec::new(),
        }
    }

    /// Report, once.
    pub(super) fn report(&mut self, diagnostic: Diagnostic) {
        if self.diagnostics.len() < 4 * self.options.limits.errors && !self.diagnostics.contains(&diagnostic) {
            self.diagnostics.push(diagnostic);
        }
    }

    /// Report what depends on sizes, unless they are made up.
    pub(super) fn report_sized(&mut self, diagnostic: Diagnostic) {
        if !self.rough {
            self.report(diagnostic);
        }
    }

    fn any_error(&self) -> bool {
        self.diagnostics.iter().any(|diagnostic| !diagnostic.code.is_warning())
    }

    /// Whether a name is a function of the file.
    pub(super) fn is_function(&self, name: &str) -> bool {
        self.places.contains_key(name)
    }

    /// Whether a name is a function of the file that may be called here: one above. It hides a built-in function of its name.
    pub(super) fn is_visible(&self, name: &str) -> bool {
        self.places.get(name).is_some_and(|&place| place < self.visible)
    }

    fn check_names(&mut self) {
        let mut seen = BTreeMap::new();
        for function in self.functions {
            let name = function.name;
            if let Some(&first) = seen.get(name.text) {
                self.report(
                    Diagnostic::new(Code::Redef, name.span, format!("the function `{}` is defined twice", name.text))
                        .with_label("second definition")
                        .with_note(first, "first definition"),
                );
            }
            seen.entry(name.text).or_insert(name.span);
            self.warn_shadow(name);
        }
    }

    /// Translate a function whose parameters come from the host.
    fn entry(&mut self, function: &Function<'s>) {
        let mut scope = Scope::default();
        let shapes = self.sizes(function, &mut scope);
        let (mut missing, mut complete) = (Vec::new(), true);
        for (parameter, shape) in function.parameters.iter().zip(shapes) {
            if !self.introduce(parameter.name, &scope) {
                complete = false;
                continue;
            }
            let Some(shape) = shape else {
                missing.push(parameter);
                continue;
            };
            let name = parameter.name;
            let tensor = self.tensor(name.text, shape.clone(), parameter.kind, Role::Input, name.span);
            let domain = shape.iter().map(|&extent| (0, i64::from(extent))).collect();
            let view = View { tensor, domain, kind: parameter.kind, span: name.span, parameter: true };
            scope.tensors.insert(name.text, view);
        }
        for parameter in missing {
            complete = false;
            self.report(
                Diagnostic::new(
                    Code::UndefVal,
                    parameter.name.span,
                    format!("the inputs give no value for `{}`", parameter.name.text),
                )
                .with_label("its sizes are not known"),
            );
        }
        if !complete {
            return;
        }
        self.body(function, &mut scope);
        for (name, view) in
            function.results.iter().filter_map(|result| Some((result.name(), scope.tensors.get(result.name().text)?)))
        {
            let tensor = &mut self.program.tensors[view.tensor.0];
            if tensor.role == Role::Temporary {
                tensor.role = Role::Output;
            }
            let _ = name;
        }
        for name in &scope.assigned {
            if let Some(view) = scope.tensors.get(name) {
                self.program.names.push(((*name).to_string(), view.tensor));
            }
        }
    }

    /// Check that a name is free for a parameter.
    fn introduce(&mut self, name: Name<'s>, scope: &Scope<'s>) -> bool {
        if let Some(first) = scope.place(name.text) {
            self.report(
                Diagnostic::new(Code::Redef, name.span, format!("`{}` is declared twice", name.text))
                    .with_label("second declaration")
                    .with_note(first, "first declaration"),
            );
            return false;
        }
        self.forbid_function_name(name).is_some()
    }

    /// Size variables from the host's shapes; the shape of each parameter, if it is known.
    fn sizes(&mut self, function: &Function<'s>, scope: &mut Scope<'s>) -> Vec<Option<Vec<u32>>> {
        let mut made_up = 1000;
        for parameter in &function.parameters {
            let given =
                self.options.shapes.iter().find(|(name, _)| name == parameter.name.text).map(|(_, shape)| shape);
            let given = if self.rough { None } else { given };
            if let Some(shape) = given
                && shape.len() != parameter.extents.len()
            {
                let message = format!("the value of `{}` has {} dimensions", parameter.name.text, shape.len());
                self.report(
                    Diagnostic::new(Code::Shape, parameter.name.span, message)
                        .with_label(format!("declared with {}", parameter.extents.len())),
                );
                continue;
            }
            for (dimension, extent) in parameter.extents.iter().enumerate() {
                let given = given.map(|shape| i64::from(shape[dimension]));
                match *extent {
                    Extent::Integer(declared, span) => {
                        if declared < 1 {
                            self.report(
                                Diagnostic::new(Code::Range, span, format!("an extent is at least 1, not {declared}"))
                                    .with_label("no elements"),
                            );
                        }
                        self.agree(given, declared, span, parameter, None);
                    }
                    Extent::Name(size) => {
                        let set = self.options.set.iter().find(|(name, _)| name == size.text);
                        let set = set.filter(|_| !self.rough).map(|(_, value)| *value as i64);
                        made_up += 1013;
                        let value = set.or(given).or(self.rough.then_some(made_up));
                        match (scope.sizes.get(size.text).copied(), value) {
                            (Some((known, first)), _) => self.agree(given, known, size.span, parameter, Some(first)),
                            (None, Some(value)) => {
                                if self.introduce(size, scope) {
                                    scope.sizes.insert(size.text, (value, size.span));
                                    self.agree(given, value, size.span, parameter, None);
                                }
                            }
                            (None, None) => {}
                        }
                        if value.is_some_and(|value| value < 1) {
                            self.report(
                                Diagnostic::new(Code::Range, size.span, format!("the size `{}` is below 1", size.text))
                                    .with_label("no elements"),
                            );
                        }
                    }
                }
            }
        }
        let known = |scope: &Scope<'s>, extent: &Extent<'s>| match extent {
            Extent::Integer(value, _) => u32::try_from(*value).ok(),
            Extent::Name(name) => scope.sizes.get(name.text).and_then(|&(value, _)| u32::try_from(value).ok()),
        };
        let shape = |parameter: &Declaration<'s>| parameter.extents.iter().map(|extent| known(scope, extent)).collect();
        function.parameters.iter().map(shape).collect()
    }

    /// A given extent must be the known one.
    fn agree(&mut self, given: Option<i64>, known: i64, span: Span, parameter: &Declaration<'s>, first: Option<Span>) {
        let Some(given) = given.filter(|&given| given != known) else { return };
        let message = format!("the value of `{}` has extent {given} here, not {known}", parameter.name.text);
        let diagnostic = Diagnostic::new(Code::Shape, span, message).with_label(format!("is {known}"));
        self.report(match first {
            Some(first) => diagnostic.with_note(first, "the same size is fixed here"),
            None => diagnostic,
        });
    }

    /// The statements of a function, and that every result is assigned.
    fn body(&mut self, function: &Function<'s>, scope: &mut Scope<'s>) {
        let mut seen = BTreeSet::new();
        for result in &function.results {
            let name = result.name();
            if let Outcome::Annotated(declaration) = result {
                scope.stated.entry(name.text).or_insert_with(|| declaration.clone());
            }
            if !seen.insert(name.text) {
                self.report(
                    Diagnostic::new(Code::Redef, name.span, format!("the result `{}` is named twice", name.text))
                        .with_label("second time"),
                );
            }
            if scope.place(name.text).is_none() {
                let _ = self.forbid_function_name(name);
            }
        }
        for statement in &function.statements {
            self.statements += usize::from(self.depth > 0);
            if self.statements > MOST_STATEMENTS {
                self.report(
                    Diagnostic::new(
                        Code::Limit,
                        function.name.span,
                        format!("calls expand to more than {MOST_STATEMENTS} statements"),
                    )
                    .with_label("in this function"),
                );
                return;
            }
            match statement {
                Statement::Assign(assign) => match self.called(assign, scope) {
                    Some((callee, arguments)) => self.call(&[assign.target], callee, &arguments, scope),
                    None => self.assign(assign, scope),
                },
                Statement::Scatter(scatter) => self.scatter(scatter, scope),
                Statement::Call { targets, function: callee, arguments } => {
                    self.call(targets, *callee, arguments, scope);
                }
            }
        }
        let wrong = self.any_error();
        for result in &function.results {
            let name = result.name();
            let assigned = scope.tensors.get(name.text).is_some_and(|view| !view.parameter);
            if !assigned && !wrong {
                self.report(
                    Diagnostic::new(Code::Output, name.span, format!("the result `{}` is never assigned", name.text))
                        .with_label("declared here"),
                );
            }
        }
    }

    /// `x = f(A)` is a call if `f` is a function of the file.
    fn called(&self, assign: &super::ast::Assign<'s>, scope: &Scope<'s>) -> Option<(Name<'s>, Vec<Name<'s>>)> {
        use super::ast::{Form, Operator};
        let Form::Apply { name, arguments } = &assign.value.form else { return None };
        let plain = assign.index.is_none() && assign.operator == Operator::Assign && assign.clauses.is_empty();
        if !plain
            || !self.is_function(name.text)
            || scope.tensors.contains_key(name.text)
            || (functions::known(name.text).is_some() && !self.is_visible(name.text))
        {
            return None;
        }
        let argument = |argument: &super::ast::Expression<'s>| match argument.form {
            Form::Name(name) => Some(name),
            _ => None,
        };
        Some((*name, arguments.iter().map(argument).collect::<Option<_>>()?))
    }

    /// Inline a call.
    fn call(&mut self, targets: &[Name<'s>], callee: Name<'s>, arguments: &[Name<'s>], scope: &mut Scope<'s>) {
        let functions = self.functions;
        let Some(&place) = self.places.get(callee.text) else {
            self.undefined(callee, "function", scope);
            return;
        };
        let function = &functions[place];
        if place >= self.visible {
            self.report(
                Diagnostic::new(
                    Code::Undef,
                    callee.span,
                    format!("the function `{}` is not defined above", callee.text),
                )
                .with_label("called here")
                .with_note(function.name.span, "defined here")
                .with_help("a function calls functions above it only"),
            );
            return;
        }
        let count = |code: Code, span: Span, what: &str, expected: usize, given: usize| {
            let plural = if expected == 1 { "" } else { "s" };
            Diagnostic::new(code, span, format!("`{}` has {expected} {what}{plural}", callee.text))
                .with_label(format!("{given} given"))
                .with_note(function.name.span, "the function")
        };
        if arguments.len() != function.parameters.len() {
            self.report(count(Code::Arity, callee.span, "argument", function.parameters.len(), arguments.len()));
            return;
        }
        if targets.len() != function.results.len() {
            self.report(count(Code::Arity, targets[0].span, "result", function.results.len(), targets.len()));
            return;
        }
        let Some(mut inner) = self.bind_arguments(function, arguments, scope) else { return };
        inner.prefix = format!("{}{}.", scope.prefix, callee.text);
        let (visible, errors) = (std::mem::replace(&mut self.visible, place), self.any_error());
        self.depth += 1;
        let first = self.program.nests.len();
        self.body(function, &mut inner);
        // Its own line in the function, and that of the call.
        for nest in &mut self.program.nests[first..] {
            nest.origin.join(&Origin::of(callee.span));
        }
        self.depth -= 1;
        self.visible = visible;
        if self.any_error() && !errors {
            return;
        }
        for (target, result) in targets.iter().zip(&function.results) {
            let Some(view) = inner.tensors.get(result.name().text) else { continue };
            if self.check_target(*target, scope) && self.check_domain(*target, &view.domain, scope) {
                let view = View { span: target.span, parameter: false, ..view.clone() };
                self.assign_view(*target, view, scope);
            }
        }
    }

    /// Parameters stand for the caller's tensors, whose coordinates start at 0 there.
    fn bind_arguments(
        &mut self,
        function: &Function<'s>,
        arguments: &[Name<'s>],
        scope: &Scope<'s>,
    ) -> Option<Scope<'s>> {
        let mut inner = Scope::default();
        for (parameter, argument) in function.parameters.iter().zip(arguments) {
            let Some(view) = scope.tensors.get(argument.text) else {
                if scope.sizes.contains_key(argument.text) {
                    let message = format!("`{}` is a size, not a tensor", argument.text);
                    self.report(Diagnostic::new(Code::Kind, argument.span, message).with_label("a tensor is expected"));
                } else {
                    self.undefined(*argument, "tensor", scope);
                }
                return None;
            };
            let fault = |code: Code, message: String| {
                Diagnostic::new(code, argument.span, message).with_note(parameter.name.span, "the parameter")
            };
            if view.domain.len() != parameter.extents.len() {
                let message = format!(
                    "`{}` has {} dimensions, the parameter {}",
                    argument.text,
                    view.domain.len(),
                    parameter.extents.len()
                );
                self.report(fault(Code::Rank, message));
                return None;
            }
            if !parameter.kind.holds(view.kind) {
                let message =
                    format!("`{}` is {}, the parameter {}", argument.text, view.kind.name(), parameter.kind.name());
                self.report(fault(Code::Type, message));
                return None;
            }
            let mut domain = Vec::new();
            for (extent, &(low, high)) in parameter.extents.iter().zip(&view.domain) {
                let given = high - low;
                domain.push((0, given));
                let known = match extent {
                    Extent::Integer(value, _) => *value,
                    Extent::Name(size) => inner.sizes.entry(size.text).or_insert((given, size.span)).0,
                };
                if known != given {
                    let message = format!("`{}` has extent {given} where the parameter has {known}", argument.text);
                    self.report_sized(fault(Code::Shape, message));
                    if !self.rough {
                        return None;
                    }
                }
            }
            let view =
                View { tensor: view.tensor, domain, kind: view.kind, span: parameter.name.span, parameter: true };
            inner.tensors.insert(parameter.name.text, view);
        }
        Some(inner)
    }

    /// A new tensor, of a name that is unique in the program.
    pub(super) fn tensor(&mut self, name: &str, shape: Vec<u32>, kind: Type, role: Role, span: Span) -> TensorId {
        // Names of the source have no such suffix, so a number per name is enough.
        let number = self.versions.entry(name.to_string()).or_insert(0);
        let unique = if *number == 0 { name.to_string() } else { format!("{name}.{number}") };
        *number += 1;
        let limits = self.options.limits;
        let elements = shape.iter().fold(1u64, |product, &extent| product.saturating_mul(u64::from(extent)));
        let before = self.elements;
        self.elements = self.elements.saturating_add(elements);
        if shape.len() > limits.rank {
            let message = format!("`{name}` has {} dimensions", shape.len());
            self.report(Diagnostic::new(Code::Limit, span, message).with_label(format!("at most {}", limits.rank)));
        } else if elements > limits.elements {
            let message = format!("`{name}` has {elements} elements");
            self.report_sized(
                Diagnostic::new(Code::Limit, span, message).with_label(format!("at most {}", limits.elements)),
            );
        } else if before <= limits.elements_in_all && self.elements > limits.elements_in_all {
            let message = "the tensors of this program are too large together";
            let label = format!("here they exceed {} elements", limits.elements_in_all);
            self.report_sized(Diagnostic::new(Code::Limit, span, message).with_label(label));
        }
        self.program.tensors.push(Tensor { name: unique, shape, role, element: kind.element(), span });
        TensorId(self.program.tensors.len() - 1)
    }

    /// Coordinates as extents.
    pub(super) fn shape(domain: &[Range]) -> Vec<u32> {
        domain.iter().map(|&(low, high)| u32::try_from(high - low).unwrap_or(u32::MAX)).collect()
    }
}
