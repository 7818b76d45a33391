//! Names to what they stand for: constants become numbers, subscripts iterators or integers, and everything that needs no order of
//! evaluation is checked (kinds, ranks, declared bounds, bound iterators, links).
//!
//! ```text
//! m = 3; model_input x[m];           x: Input, shape [3]
//! iterator i[0:m];                   i: 0..3
//! h = sum[i](x[i]) + m;              h = sum[i](x[i]) + 3
//! ```

mod assignment;
mod declaration;
mod expression;
mod minimize;
mod names;

use super::ast::{self, Item};
use crate::derived::losses::Loss;
use crate::language::Options;
use crate::tensor::Function;
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
    /// What is minimised: with the values at the end of the program.
    pub(super) minimize: Option<Minimize>,
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

/// `minimize value;`
#[derive(Debug)]
pub(super) struct Minimize {
    pub(super) value: Expression,
    /// Models that have neither a gradient nor a statement of their own.
    pub(super) models: Vec<VariableId>,
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
    Call(Function, Box<Expression>),
    Loss {
        loss: Loss,
        prediction: VariableId,
        label: VariableId,
        span: Span,
    },
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
        learns: items.iter().any(|item| matches!(item, Item::Link(_) | Item::Minimize { .. })),
        bound: Vec::new(),
        mentioned: Vec::new(),
        errors: diagnostics.iter().filter(|diagnostic| !diagnostic.code.is_warning()).count(),
        diagnostics,
    };
    for item in items {
        if resolver.errors >= options.limits.errors {
            break;
        }
        resolver.item(item);
    }
    resolver.finish()
}

/// The constant that is the learning rate.
const RATE: &str = "mu";

/// What cannot be a rate.
fn no_rate(span: Span, what: &str) -> Diagnostic {
    Diagnostic::new(Code::Kind, span, format!("the learning rate `{RATE}` {what}"))
        .with_label("not a number")
        .with_help(format!("`{RATE}` is computed from numbers and constants; rename what is no learning rate"))
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
    /// Whether the program has a gradient or minimises something, so that `mu` is its learning rate.
    learns: bool,
    /// Iterators bound at the current place, outermost first.
    bound: Vec<IteratorId>,
    /// Iterators that the current group's body has mentioned.
    mentioned: Vec<IteratorId>,
    /// How many of the diagnostics are errors.
    errors: usize,
    diagnostics: &'a mut Vec<Diagnostic>,
}

impl<'s> Resolver<'s, '_> {
    fn report(&mut self, diagnostic: Diagnostic) {
        self.errors += usize::from(!diagnostic.code.is_warning());
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
            Item::Minimize { value, span } => self.minimize(value, *span),
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
            Symbol::Constant { integer: false, .. } => "a constant that is not an integer",
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
        if !wrong {
            self.trained_models();
        }
        if let (true, false, Some((Symbol::Variable(_) | Symbol::Iterator(_), span))) =
            (self.learns, wrong, self.names.peek(RATE))
        {
            let what = self.names.get(RATE).map_or("wrong", |symbol| self.describe(symbol));
            self.diagnostics.push(no_rate(span, &format!("is {what}")));
        }
        self.program.rate = match self.names.get(RATE) {
            Some(Symbol::Constant { value, .. }) => Some(value),
            _ => None,
        };
        self.diagnostics.extend(self.names.unused_settings(&self.program));
        self.program
    }
}
