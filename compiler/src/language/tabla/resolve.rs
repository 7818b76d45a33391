//! Names to what they stand for: constants become numbers, subscripts iterators or integers, and everything that needs no order of
//! evaluation is checked (kinds, ranks, declared bounds, bound iterators, links).
//!
//! ```text
//! m = 3; model_input x[m];           x: Input, shape [3]
//! iterator i[0:m];                   i: 0..3
//! h = sum[i](x[i]) + m;              h = sum[i](x[i]) + 3
//! ```

mod expression;
mod names;

use super::ast::{self, Bound, Item};
use crate::language::Options;
use arch::{Code, Diagnostic, Span};
use names::{Names, Symbol};
use std::collections::BTreeMap;

/// A data variable (index into `Resolved::variables`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct VariableId(pub(super) usize);

/// A declared iterator (index into `Resolved::iterators`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct IteratorId(pub(super) usize);

/// A program without names.
#[derive(Debug, Default)]
pub(super) struct Resolved<'s> {
    pub(super) variables: Vec<Variable<'s>>,
    pub(super) iterators: Vec<Range<'s>>,
    pub(super) statements: Vec<Statement>,
    /// The learning rate, if a constant `mu` exists.
    pub(super) rate: Option<f64>,
}

/// A declared or interim variable.
#[derive(Debug)]
pub(super) struct Variable<'s> {
    pub(super) name: &'s str,
    pub(super) span: Span,
    pub(super) kind: Kind,
    /// Declared extents; of an interim, one more than the largest index ever assigned.
    pub(super) shape: Vec<u32>,
    pub(super) assigned: bool,
    pub(super) read: bool,
}

/// What a variable is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Input,
    /// `model_output` that the program never assigns.
    Label,
    /// `model_output` that the program assigns.
    Output,
    Model,
    Gradient {
        model: VariableId,
        link: Span,
    },
    Interim,
}

/// A declared iterator and its half-open range.
#[derive(Debug)]
pub(super) struct Range<'s> {
    pub(super) name: &'s str,
    pub(super) low: i64,
    pub(super) high: i64,
    span: Span,
    used: bool,
}

/// `target[subscripts] = value`
#[derive(Debug)]
pub(super) struct Statement {
    pub(super) target: VariableId,
    pub(super) subscripts: Vec<Subscript>,
    /// Distinct iterators of the left side, in order.
    pub(super) left: Vec<IteratorId>,
    pub(super) value: Expression,
    pub(super) span: Span,
}

/// One subscript.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Subscript {
    Constant(i64),
    Iterator(IteratorId),
}

/// An element that is read.
#[derive(Debug)]
pub(super) struct Read {
    pub(super) variable: VariableId,
    pub(super) subscripts: Vec<Subscript>,
    pub(super) span: Span,
}

/// An expression without names.
#[derive(Debug)]
pub(super) enum Expression {
    Number(f64),
    Read(Read),
    Chain {
        first: Box<Expression>,
        rest: Vec<(ast::Operator, Expression)>,
    },
    Group(Group),
    /// `norm(e)`
    Square(Box<Expression>),
    Call(ast::Nonlinear, Box<Expression>),
}

/// `sum[i](e)` and its sisters.
#[derive(Debug)]
pub(super) struct Group {
    pub(super) kind: ast::Group,
    pub(super) iterator: IteratorId,
    /// Iterators bound outside that the body mentions, outermost first.
    pub(super) free: Vec<IteratorId>,
    pub(super) body: Box<Expression>,
    pub(super) span: Span,
}

/// The program without names, with warnings and errors in `diagnostics`.
pub(super) fn resolve<'s>(items: &[Item<'s>], options: &Options, diagnostics: &mut Vec<Diagnostic>) -> Resolved<'s> {
    let mut resolver = Resolver {
        options,
        names: Names::new(options),
        assigned_somewhere: assigned_names(items),
        program: Resolved::default(),
        linked: BTreeMap::new(),
        bound: Vec::new(),
        mentioned: Vec::new(),
        diagnostics,
    };
    for item in items {
        if resolver.diagnostics.iter().filter(|diagnostic| !diagnostic.code.is_warning()).count()
            >= options.limits.errors
        {
            break;
        }
        resolver.item(item);
    }
    resolver.finish()
}

/// Names that some statement assigns, and where first.
fn assigned_names<'s>(items: &[Item<'s>]) -> BTreeMap<&'s str, Span> {
    let mut names = BTreeMap::new();
    for item in items {
        if let Item::Assign { target, .. } = item {
            names.entry(target.name.text).or_insert(target.name.span);
        }
    }
    names
}

struct Resolver<'s, 'a> {
    options: &'a Options,
    names: Names<'s>,
    assigned_somewhere: BTreeMap<&'s str, Span>,
    program: Resolved<'s>,
    /// Models and their gradient.
    linked: BTreeMap<VariableId, Span>,
    /// Iterators bound at the current place, outermost first.
    bound: Vec<IteratorId>,
    /// Iterators that the current group's body has mentioned.
    mentioned: Vec<IteratorId>,
    diagnostics: &'a mut Vec<Diagnostic>,
}

impl<'s> Resolver<'s, '_> {
    fn report(&mut self, diagnostic: Diagnostic) {
        self.diagnostics.push(diagnostic);
    }

    fn item(&mut self, item: &Item<'s>) {
        match item {
            Item::Declare { role, variables } => {
                for variable in variables {
                    let kind = match role {
                        ast::Declared::Input => Kind::Input,
                        ast::Declared::Model => Kind::Model,
                        ast::Declared::Output if self.assigned_somewhere.contains_key(variable.name.text) => {
                            Kind::Output
                        }
                        ast::Declared::Output => Kind::Label,
                    };
                    self.declare(variable, kind);
                }
            }
            Item::Link(links) => {
                for (gradient, model) in links {
                    self.link(gradient, model);
                }
            }
            Item::Iterate(iterators) => {
                for iterator in iterators {
                    self.iterate(iterator);
                }
            }
            Item::Assign { target, value, span } => self.assign(target, value, *span),
        }
    }

    /// Enter a variable into the namespace, unless its extents are wrong or its name is taken.
    fn declare(&mut self, variable: &ast::Variable<'s>, kind: Kind) -> Option<VariableId> {
        let shape = self.extents(variable);
        if !self.free_name(variable.name) {
            return None;
        }
        let Some(shape) = shape else {
            self.names.insert(variable.name.text, Symbol::Broken, variable.name.span);
            return None;
        };
        let id = self.variable(variable.name, kind, shape);
        Some(id)
    }

    fn variable(&mut self, name: ast::Name<'s>, kind: Kind, shape: Vec<u32>) -> VariableId {
        let id = VariableId(self.program.variables.len());
        self.names.insert(name.text, Symbol::Variable(id), name.span);
        self.program.variables.push(Variable {
            name: name.text,
            span: name.span,
            kind,
            shape,
            assigned: false,
            read: false,
        });
        id
    }

    /// Report a name that is declared twice.
    fn free_name(&mut self, name: ast::Name<'s>) -> bool {
        let Some((_, first)) = self.names.peek(name.text) else { return true };
        self.diagnostics.push(
            Diagnostic::new(Code::Redef, name.span, format!("`{}` is declared twice", name.text))
                .with_label("second declaration")
                .with_note(first, "first declaration"),
        );
        false
    }

    fn extents(&mut self, variable: &ast::Variable<'s>) -> Option<Vec<u32>> {
        let limits = self.options.limits;
        let mut shape = Vec::new();
        for extent in &variable.subscripts {
            let value = self.constant(extent, "an extent")?;
            if value < 1 {
                self.report(
                    Diagnostic::new(Code::Range, extent.span(), format!("an extent is at least 1, not {value}"))
                        .with_label("no elements"),
                );
                return None;
            }
            shape.push(u32::try_from(value).unwrap_or(u32::MAX));
        }
        self.fits(variable.name.text, variable.span, &shape, &limits).then_some(shape)
    }

    /// Check rank and number of elements.
    fn fits(&mut self, name: &str, span: Span, shape: &[u32], limits: &crate::language::Limits) -> bool {
        if shape.len() > limits.rank {
            self.report(
                Diagnostic::new(Code::Limit, span, format!("`{name}` has {} dimensions", shape.len()))
                    .with_label(format!("at most {} dimensions", limits.rank)),
            );
            return false;
        }
        let elements = shape.iter().fold(1u64, |product, &extent| product.saturating_mul(u64::from(extent)));
        if elements > limits.elements {
            self.report(
                Diagnostic::new(Code::Limit, span, format!("`{name}` has more than {} elements", limits.elements))
                    .with_label("too large"),
            );
            return false;
        }
        true
    }

    /// The integer that a bound, an extent or a constant subscript stands for.
    fn constant(&mut self, bound: &Bound<'s>, what: &str) -> Option<i64> {
        match bound {
            Bound::Integer(value, _) => Some(*value),
            Bound::Name(name) => match self.lookup(*name)? {
                Symbol::Constant { value, integer: true } => Some(value as i64),
                symbol => {
                    let found = self.describe(symbol);
                    self.report(
                        Diagnostic::new(
                            Code::Kind,
                            name.span,
                            format!("{what} is an integer constant, `{}` is {found}", name.text),
                        )
                        .with_label("no integer constant"),
                    );
                    None
                }
            },
        }
    }

    /// What a name stands for; an unknown one is reported once.
    fn lookup(&mut self, name: ast::Name<'s>) -> Option<Symbol> {
        match self.names.get(name.text) {
            Some(Symbol::Broken) => None,
            Some(symbol) => Some(symbol),
            None => {
                let mut diagnostic =
                    Diagnostic::new(Code::Undef, name.span, format!("`{}` is not defined here", name.text));
                if let Some(&later) = self.assigned_somewhere.get(name.text) {
                    let label = if later.start > name.span.start {
                        "used before its first assignment"
                    } else {
                        "not defined yet"
                    };
                    diagnostic = diagnostic.with_label(label).with_note(later, "assigned here");
                } else {
                    diagnostic = diagnostic.with_label("unknown name");
                    if let Some(near) = self.names.nearest(name.text) {
                        diagnostic = diagnostic.with_help(format!("did you mean `{near}`?"));
                    }
                }
                self.report(diagnostic);
                if !self.assigned_somewhere.contains_key(name.text) {
                    self.names.insert(name.text, Symbol::Broken, name.span);
                }
                None
            }
        }
    }

    fn describe(&self, symbol: Symbol) -> &'static str {
        match symbol {
            Symbol::Constant { integer: true, .. } => "an integer constant",
            Symbol::Constant { integer: false, .. } => "a constant that is no integer",
            Symbol::Iterator(_) => "an iterator",
            Symbol::Broken => "wrong",
            Symbol::Variable(id) => match self.program.variables[id.0].kind {
                Kind::Input => "a model input",
                Kind::Label | Kind::Output => "a model output",
                Kind::Model => "a model",
                Kind::Gradient { .. } => "a gradient",
                Kind::Interim => "a computed value",
            },
        }
    }

    fn iterate(&mut self, iterator: &ast::Iterator<'s>) {
        let low = self.constant(&iterator.low, "a bound");
        let high = self.constant(&iterator.high, "a bound");
        if !self.free_name(iterator.name) {
            return;
        }
        let symbol = match (low, high) {
            (Some(low), Some(high)) if low < high => {
                let id = IteratorId(self.program.iterators.len());
                let name = iterator.name.text;
                self.program.iterators.push(Range { name, low, high, span: iterator.name.span, used: false });
                Symbol::Iterator(id)
            }
            (Some(low), Some(high)) => {
                let span = iterator.low.span().to(iterator.high.span());
                self.report(
                    Diagnostic::new(Code::Range, span, format!("the range {low}:{high} is empty"))
                        .with_label(format!("{low}, ..., {}", i128::from(high) - 1))
                        .with_help("the last value is one below the second bound"),
                );
                Symbol::Broken
            }
            _ => Symbol::Broken,
        };
        self.names.insert(iterator.name.text, symbol, iterator.name.span);
    }

    fn link(&mut self, gradient: &ast::Variable<'s>, target: &ast::Variable<'s>) {
        let shape = self.extents(gradient);
        let model = self.lookup(target.name);
        let fault = |label: String| {
            let name = gradient.name.text;
            Diagnostic::new(
                Code::Link,
                target.span,
                format!("gradient `{name}` cannot be linked to `{}`", target.name.text),
            )
            .with_label(label)
        };
        let mut linked = None;
        match (model, &shape) {
            (Some(Symbol::Variable(model)), Some(shape)) if self.program.variables[model.0].kind == Kind::Model => {
                let declared = self.program.variables[model.0].shape.clone();
                let written = if target.subscripts.is_empty() { Some(declared.clone()) } else { self.extents(target) };
                if let Some(&first) = self.linked.get(&model) {
                    self.report(fault("this model has a gradient already".into()).with_note(first, "first gradient"));
                } else if *shape != declared || written.is_some_and(|written| written != declared) {
                    let span = self.program.variables[model.0].span;
                    self.report(
                        fault(format!("the gradient has shape {shape:?}, the model {declared:?}"))
                            .with_note(span, "the model"),
                    );
                } else {
                    self.linked.insert(model, gradient.name.span);
                    linked = Some(model);
                }
            }
            (Some(Symbol::Variable(model)), None) if self.program.variables[model.0].kind == Kind::Model => {}
            (Some(symbol), _) => {
                let found = self.describe(symbol);
                self.report(fault(format!("{found}, not a model")));
            }
            (None, _) => {}
        }
        if let (Some(model), Some(shape)) = (linked, shape) {
            if self.free_name(gradient.name) {
                self.variable(gradient.name, Kind::Gradient { model, link: gradient.span.to(target.span) }, shape);
            }
        } else if self.names.peek(gradient.name.text).is_none() {
            self.names.insert(gradient.name.text, Symbol::Broken, gradient.name.span);
        }
    }

    fn assign(&mut self, target: &ast::Variable<'s>, value: &ast::Expression<'s>, span: Span) {
        let name = target.name;
        let known = self.names.get(name.text);
        if let (ast::Form::Number { value, integer }, true) = (&value.form, target.subscripts.is_empty())
            && matches!(known, None | Some(Symbol::Constant { .. }))
        {
            self.define(name, *value, *integer);
            return;
        }
        // The left side's iterators are bound in the value, but its name is not defined there yet.
        let subscripts = self.subscripts(&target.subscripts, None);
        let mut left = Vec::new();
        for subscript in subscripts.iter().flatten() {
            if let Subscript::Iterator(iterator) = *subscript
                && !left.contains(&iterator)
            {
                left.push(iterator);
            }
        }
        self.bound.clone_from(&left);
        let value = if subscripts.is_some() { self.expression(value) } else { None };
        self.bound.clear();
        self.mentioned.clear();
        let target_id = self.target(target, known, subscripts.as_deref());
        if let (Some(target), Some(subscripts), Some(value)) = (target_id, subscripts, value) {
            self.program.statements.push(Statement { target, subscripts, left, value, span });
        }
    }

    /// `m = 3;`
    fn define(&mut self, name: ast::Name<'s>, value: f64, integer: bool) {
        let overridden = self.names.overridden(name.text);
        if let (None, Some((Symbol::Constant { .. }, first))) = (overridden, self.names.peek(name.text)) {
            self.report(
                Diagnostic::new(
                    Code::WarnConstRedef,
                    name.span,
                    format!("the constant `{}` is defined again", name.text),
                )
                .with_label("changes its value from here on; extents declared above stay")
                .with_note(first, "defined here before"),
            );
        }
        let symbol = overridden.unwrap_or(Symbol::Constant { value, integer });
        self.names.insert(name.text, symbol, name.span);
    }

    /// The variable a statement assigns; a new name becomes an interim.
    fn target(
        &mut self,
        target: &ast::Variable<'s>,
        known: Option<Symbol>,
        subscripts: Option<&[Subscript]>,
    ) -> Option<VariableId> {
        let name = target.name;
        let fault =
            |code: Code, message: String, label: &str| Diagnostic::new(code, name.span, message).with_label(label);
        let id = match known {
            Some(Symbol::Broken) => return None,
            Some(Symbol::Iterator(_)) => {
                self.report(fault(
                    Code::Kind,
                    format!("`{}` is an iterator and cannot be assigned", name.text),
                    "an iterator",
                ));
                return None;
            }
            Some(Symbol::Variable(id)) => id,
            Some(Symbol::Constant { .. }) if !target.subscripts.is_empty() => {
                self.report(fault(
                    Code::Kind,
                    format!("`{}` is a constant and has no elements", name.text),
                    "a constant",
                ));
                return None;
            }
            Some(Symbol::Constant { .. }) | None => {
                let Some(subscripts) = subscripts else {
                    self.names.insert(name.text, Symbol::Broken, name.span);
                    return None;
                };
                self.variable(name, Kind::Interim, vec![0; subscripts.len()])
            }
        };
        let variable = &self.program.variables[id.0];
        if variable.kind == Kind::Input {
            let declared = variable.span;
            self.report(
                fault(Code::Immut, format!("`{}` is a model input and cannot be assigned", name.text), "assigned here")
                    .with_note(declared, "declared here")
                    .with_help("assign another name; it needs no declaration"),
            );
            return None;
        }
        self.program.variables[id.0].assigned = true;
        let subscripts = subscripts?;
        let rank = self.program.variables[id.0].shape.len();
        if rank != target.subscripts.len() {
            self.rank_mismatch(target, id);
            return None;
        }
        let inside = self.inside(target, id, subscripts);
        inside.then_some(id)
    }

    /// Grow an interim to hold what is assigned, or check the declared bounds.
    fn inside(&mut self, target: &ast::Variable<'s>, id: VariableId, subscripts: &[Subscript]) -> bool {
        if self.program.variables[id.0].kind != Kind::Interim {
            return self.bounds(target, id, subscripts);
        }
        let mut shape = std::mem::take(&mut self.program.variables[id.0].shape);
        let mut good = true;
        for ((extent, subscript), place) in shape.iter_mut().zip(subscripts).zip(&target.subscripts) {
            let (low, high) = self.values(*subscript);
            if low < 0 {
                self.report(
                    Diagnostic::new(Code::Bounds, place.span(), format!("index {low} is below 0"))
                        .with_label("negative index"),
                );
                good = false;
            }
            *extent = (*extent).max(u32::try_from(high.max(1)).unwrap_or(u32::MAX));
        }
        good = good && self.fits(target.name.text, target.span, &shape, &self.options.limits);
        self.program.variables[id.0].shape = shape;
        good
    }

    fn rank_mismatch(&mut self, variable: &ast::Variable<'s>, id: VariableId) {
        let declared = &self.program.variables[id.0];
        let (span, rank, count) = (declared.span, declared.shape.len(), variable.subscripts.len());
        let plural = if rank == 1 { "" } else { "s" };
        self.report(
            Diagnostic::new(
                Code::Rank,
                variable.span,
                format!("`{}` has {rank} dimension{plural}", variable.name.text),
            )
            .with_label(format!("{count} given"))
            .with_note(span, "its first place"),
        );
    }

    fn finish(mut self) -> Resolved<'s> {
        // What is missing may be missing because of another error: complain about it only if there is none.
        let wrong = self.diagnostics.iter().any(|diagnostic| !diagnostic.code.is_warning());
        for variable in &self.program.variables {
            let Variable { name, span, kind, .. } = *variable;
            if matches!(kind, Kind::Gradient { .. }) && !variable.assigned && !wrong {
                self.diagnostics.push(
                    Diagnostic::new(Code::Output, span, format!("the gradient `{name}` is never assigned"))
                        .with_label("declared here, without any statement for it"),
                );
            }
            if matches!(kind, Kind::Input | Kind::Label) && !variable.read {
                self.diagnostics.push(
                    Diagnostic::new(Code::WarnUnused, span, format!("`{name}` is never read"))
                        .with_label("declared here"),
                );
            }
        }
        for iterator in self.program.iterators.iter().filter(|iterator| !iterator.used) {
            self.diagnostics.push(
                Diagnostic::new(
                    Code::WarnUnused,
                    iterator.span,
                    format!("the iterator `{}` is never used", iterator.name),
                )
                .with_label("declared here"),
            );
        }
        self.program.rate = match self.names.get("mu") {
            Some(Symbol::Constant { value, .. }) => Some(value),
            _ => None,
        };
        self.diagnostics.extend(self.names.unused_settings(&self.program));
        self.program
    }
}
