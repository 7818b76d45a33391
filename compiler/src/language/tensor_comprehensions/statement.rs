//! One statement: its index variables and their ranges, the tensor it makes, its Nest.

use super::ast::{Assign, Binary, Clause, Expression, Extent, Form, Name, Operator, Prefix, Reduction};
use super::lower::Lowering;
use super::ranges::{self, Explanation, Failure, Range};
use super::scope::{Scope, View};
use super::types::INT;
use super::value::{Frame, Value, divided};
use crate::tensor::{self, Affine, Aggregate, Body, IterId, Iterator, Nest, Node, Role, Start, TensorId};
use arch::{Code, Diagnostic};

impl<'s> Lowering<'s, '_> {
    /// `target(index) operator value where clauses`
    pub(super) fn assign(&mut self, assign: &Assign<'s>, scope: &mut Scope<'s>) {
        let target = assign.target;
        let mut good = self.check_target(target, scope);
        let mut frame = Frame::default();
        let index = assign.index.as_deref().unwrap_or_default();
        let most = self.options.limits.rank;
        if let Some(beyond) = index.get(most) {
            let message = format!("`{}` has {} dimensions", target.text, index.len());
            let label = format!("at most {most}");
            self.report(Diagnostic::new(Code::Limit, beyond.span, message).with_label(label));
            return;
        }
        for name in index {
            good &= self.check_index(*name, &frame, scope);
            frame.variables.push(*name);
            frame.stated.push(None);
        }
        good &= self.clauses(&assign.clauses, &mut frame, scope);
        let Some(value) = self.value(&assign.value, scope, &mut frame) else { return };
        if !good {
            return;
        }
        let reduces = frame.variables.len() > index.len();
        if reduces && assign.operator == Operator::Assign {
            let extra = frame.variables[index.len()];
            self.report(
                Diagnostic::new(Code::Reduce, target.span, format!("`{}` does not stand on the left side", extra.text))
                    .with_label("a reduction operator is needed")
                    .with_note(extra.span, "this index variable is reduced over")
                    .with_help("write `+=!`, `*=!`, `min=!` or `max=!` instead of `=`"),
            );
            return;
        }
        if let Some(old) = scope.tensors.get(target.text)
            && old.domain.len() != index.len()
        {
            let message = format!("`{}` has {} dimensions, {} given", target.text, old.domain.len(), index.len());
            let note = old.span;
            self.report(Diagnostic::new(Code::Rank, target.span, message).with_note(note, "assigned before"));
            return;
        }
        Self::bound_by_target(target, index.len(), &mut frame, scope);
        let Some(ranges) = self.ranges(target, &frame, scope) else { return };
        if self.settle_guarded(&mut frame, &ranges).is_none() {
            return;
        }
        let domain = ranges[..index.len()].to_vec();
        if !self.check_domain(target, &domain, scope) {
            return;
        }
        if domain.iter().any(|&(low, _)| low != 0) && !self.rough {
            let written: Vec<String> = domain.iter().map(|(low, high)| format!("{low}:{high}")).collect();
            self.report(
                Diagnostic::new(Code::WarnNonZeroBase, target.span, format!("`{}` does not start at 0", target.text))
                    .with_label(format!("coordinates {}", written.join(", ")))
                    .with_help("outside the program its first element is element 0; state a range with `where` to choose another"),
            );
        }
        self.write(assign, value, frame, &ranges, scope);
    }

    /// The coordinates of a tensor that was assigned before, or whose extents the head of the function states.
    pub(super) fn known_domain(target: Name<'s>, scope: &Scope<'s>) -> Option<Vec<Range>> {
        if let Some(old) = scope.tensors.get(target.text) {
            return Some(old.domain.clone());
        }
        let extent = |extent: &Extent<'s>| match extent {
            Extent::Integer(value, _) => Some((0, *value)),
            Extent::Name(name) => scope.sizes.get(name.text).map(|&(value, _)| (0, value)),
        };
        scope.stated.get(target.text)?.extents.iter().map(extent).collect()
    }

    /// What nothing else bounds runs over the tensor that is updated.
    fn bound_by_target(target: Name<'s>, rank: usize, frame: &mut Frame<'s>, scope: &Scope<'s>) {
        for (variable, &range) in Self::known_domain(target, scope).unwrap_or_default().iter().enumerate() {
            let of_it =
                |constraint: &ranges::Constraint| constraint.index.terms.iter().any(|term| term.0.0 == variable);
            if variable < rank && !frame.constraints.iter().any(of_it) {
                frame.stated[variable].get_or_insert(range);
            }
        }
    }

    /// Make the tensor and the Nest.
    fn write(
        &mut self,
        assign: &Assign<'s>,
        value: Value,
        mut frame: Frame<'s>,
        ranges: &[Range],
        scope: &mut Scope<'s>,
    ) {
        let (target, free) = (assign.target, assign.index.as_ref().map_or(0, Vec::len));
        let domain = ranges[..free].to_vec();
        let out_index: Vec<Affine> =
            (0..free).map(|n| Affine { offset: -domain[n].0, terms: vec![(IterId(n), 1)] }).collect();
        let reduces = frame.variables.len() > free;
        let mut kind = value.kind;
        let mut node = value.node;
        let (mut aggregate, mut start, mut in_place) = (Aggregate::Assign, Start::Identity, None);
        if let Operator::Reduce { reduction, initialise } = assign.operator {
            let old = if initialise { None } else { self.old_contents(assign, value, &domain, scope) };
            if !initialise && old.is_none() {
                return;
            }
            if let Some((old, old_kind)) = old {
                kind = old_kind.promote(kind);
                in_place = (self.program.tensors[old.0].role == Role::InOut).then_some(old);
            }
            if reduces {
                aggregate = aggregate_of(reduction);
                start = old.map_or(Start::Identity, |(tensor, _)| Start::Element { tensor, index: out_index.clone() });
            } else if let Some((tensor, _)) = old {
                let old = frame.body.push(Node::Read { tensor, index: out_index.clone() });
                node = frame.body.push(Node::Binary(operator_of(reduction), old, node));
            }
        }
        if let Some(annotated) = self.annotation(target, &domain, kind, scope) {
            kind = annotated;
        }
        let span = assign.span;
        let out = match in_place {
            // A tensor that the host fills is updated where it is, by statements that read no other element of it.
            Some(tensor) if !reads_others(&frame.body, tensor, &out_index) => tensor,
            _ => {
                let name = format!("{}{}", scope.prefix, target.text);
                self.tensor(&name, Self::shape(&domain), kind, Role::Temporary, target.span)
            }
        };
        let iterators = frame.variables.iter().zip(ranges);
        let iterators: Vec<Iterator> =
            iterators.map(|(name, &(low, high))| Iterator { name: name.text.to_string(), low, high }).collect();
        let points = iterators.iter().fold(1u64, |product, iterator| product.saturating_mul(iterator.extent()));
        if points > self.options.limits.points {
            let message = format!("this loops over more than {} points", self.options.limits.points);
            self.report_sized(Diagnostic::new(Code::Limit, span, message).with_label("too much work"));
        }
        let body = frame.body.rooted(node);
        self.program.nests.push(Nest {
            iterators,
            free,
            guards: Vec::new(),
            out,
            out_index,
            aggregate,
            start,
            body,
            origin: span.into(),
        });
        let view = View { tensor: out, domain, kind, span: target.span, parameter: false };
        scope.assign(target.text, view);
    }

    /// The contents that a reduction without `!` goes on from: an earlier statement's, or the host's.
    fn old_contents(
        &mut self,
        assign: &Assign<'s>,
        value: Value,
        domain: &[Range],
        scope: &Scope<'s>,
    ) -> Option<(TensorId, super::types::Type)> {
        let target = assign.target;
        if let Some(old) = scope.tensors.get(target.text) {
            return Some((old.tensor, old.kind));
        }
        if self.depth > 0 {
            self.report(
                Diagnostic::new(
                    Code::UndefVal,
                    target.span,
                    format!("`{}` has no value to accumulate onto", target.text),
                )
                .with_label("first assignment in a called function")
                .with_help("write `!` after the operator to start from nothing"),
            );
            return None;
        }
        self.report(
            Diagnostic::new(
                Code::WarnUninit,
                target.span,
                format!("`{}` accumulates onto what the host supplies", target.text),
            )
            .with_label("no earlier assignment")
            .with_help("write `!` after the operator to start from nothing"),
        );
        let kind = self.annotation(target, domain, value.kind, scope).unwrap_or(value.kind);
        let tensor = self.tensor(target.text, Self::shape(domain), kind, Role::InOut, target.span);
        Some((tensor, kind))
    }

    /// A target is neither a parameter nor a size nor a function.
    pub(super) fn check_target(&mut self, target: Name<'s>, scope: &Scope<'s>) -> bool {
        if let Some(view) = scope.tensors.get(target.text)
            && view.parameter
        {
            let note = view.span;
            self.report(
                Diagnostic::new(Code::Immut, target.span, format!("the input `{}` cannot be assigned", target.text))
                    .with_label("assigned here")
                    .with_note(note, "declared here"),
            );
            return false;
        }
        if let Some(&(_, first)) = scope.sizes.get(target.text) {
            self.report(
                Diagnostic::new(Code::Redef, target.span, format!("`{}` is a size variable", target.text))
                    .with_label("assigned here")
                    .with_note(first, "introduced here"),
            );
            return false;
        }
        self.forbid_function_name(target).is_some()
    }

    /// An index variable has a name of its own.
    fn check_index(&mut self, name: Name<'s>, frame: &Frame<'s>, scope: &Scope<'s>) -> bool {
        let first = scope
            .place(name.text)
            .or_else(|| frame.variable(name.text).map(|variable| frame.variables[variable.0].span));
        let Some(first) = first else { return self.forbid_function_name(name).is_some() };
        self.report(
            Diagnostic::new(Code::Redef, name.span, format!("`{}` cannot be an index variable here", name.text))
                .with_label("the name is taken")
                .with_note(first, "by this"),
        );
        false
    }

    /// The result a call gives to a name of the caller.
    pub(super) fn assign_view(&mut self, target: Name<'s>, view: View, scope: &mut Scope<'s>) {
        let domain = view.domain.clone();
        let _ = self.annotation(target, &domain, view.kind, scope);
        scope.assign(target.text, view);
    }

    /// A tensor keeps its coordinates.
    pub(super) fn check_domain(&mut self, target: Name<'s>, domain: &[Range], scope: &Scope<'s>) -> bool {
        let Some(old) = scope.tensors.get(target.text) else { return true };
        let span = old.span;
        if old.domain.len() != domain.len() {
            let message = format!("`{}` has {} dimensions, {} given", target.text, old.domain.len(), domain.len());
            self.report(Diagnostic::new(Code::Rank, target.span, message).with_note(span, "assigned before"));
            return false;
        }
        if old.domain != domain && !self.rough {
            let written = |domain: &[Range]| {
                domain.iter().map(|(low, high)| format!("{low}:{high}")).collect::<Vec<_>>().join(", ")
            };
            let message =
                format!("`{}` has coordinates {}, here {}", target.text, written(&old.domain), written(domain));
            self.report(Diagnostic::new(Code::Shape, target.span, message).with_note(span, "assigned before"));
            return false;
        }
        true
    }

    /// The type that the head of the function states for a result, which must hold the value.
    fn annotation(
        &mut self,
        target: Name<'s>,
        domain: &[Range],
        kind: super::types::Type,
        scope: &Scope<'s>,
    ) -> Option<super::types::Type> {
        let stated = scope.stated.get(target.text)?;
        let fault = |code: Code, message: String| {
            Diagnostic::new(code, target.span, message).with_note(stated.name.span, "declared here")
        };
        if stated.extents.len() != domain.len() {
            let message = format!("`{}` is declared with {} dimensions", target.text, stated.extents.len());
            self.report(fault(Code::Rank, message).with_label(format!("{} given", domain.len())));
            return None;
        }
        for (extent, &(low, high)) in stated.extents.iter().zip(domain) {
            let declared = match extent {
                Extent::Integer(value, _) => *value,
                Extent::Name(name) => {
                    let Some(&(value, _)) = scope.sizes.get(name.text) else {
                        self.undefined(*name, "size", scope);
                        return None;
                    };
                    value
                }
            };
            if declared != high - low {
                let message = format!("`{}` has extent {}, declared is {declared}", target.text, high - low);
                self.report_sized(fault(Code::Shape, message));
            }
        }
        if !stated.kind.holds(kind) {
            let message = format!("`{}` is {}, declared is {}", target.text, kind.name(), stated.kind.name());
            let help = format!("narrowing needs a cast: `{}(...)`", stated.kind.name());
            self.report(fault(Code::Type, message).with_help(help));
            return None;
        }
        Some(stated.kind)
    }

    /// Stated ranges first, then bindings, then what takes part in inference only.
    fn clauses(&mut self, clauses: &[Clause<'s>], frame: &mut Frame<'s>, scope: &Scope<'s>) -> bool {
        let mut good = true;
        for clause in clauses {
            let Clause::Range { name, low, high } = clause else { continue };
            let taken = frame.variable(name.text).is_some_and(|variable| frame.stated[variable.0].is_some());
            if taken || scope.place(name.text).is_some() {
                self.report(
                    Diagnostic::new(Code::Redef, name.span, format!("`{}` cannot get a range here", name.text))
                        .with_label(if taken { "it has one already" } else { "no index variable" }),
                );
                good = false;
                continue;
            }
            let (Some(from), Some(to)) = (self.size(low, scope), self.size(high, scope)) else {
                good = false;
                continue;
            };
            let Some(variable) = self.index_variable(*name, frame) else { return false };
            if from >= to {
                let span = name.span;
                self.report_sized(
                    Diagnostic::new(Code::Range, span, format!("the range {from}:{to} of `{}` is empty", name.text))
                        .with_label("no values"),
                );
                good &= self.rough;
            }
            frame.stated[variable.0] = Some((from, to.max(from.saturating_add(1))));
        }
        for clause in clauses {
            match clause {
                Clause::Range { .. } => {}
                Clause::Let { name, value } => {
                    let taken = scope.place(name.text).is_some()
                        || frame.variable(name.text).is_some()
                        || frame.lets.contains_key(name.text);
                    if taken {
                        let message = format!("`{}` cannot be bound here", name.text);
                        self.report(Diagnostic::new(Code::Redef, name.span, message).with_label("the name is taken"));
                        good = false;
                    } else if self.forbid_function_name(*name).is_none() {
                        good = false;
                    } else {
                        self.bind(*name, value, scope, frame);
                        good &= frame.lets.contains_key(name.text);
                    }
                }
                // Not evaluated: nothing refers to its nodes.
                Clause::Exists(value) => good &= self.value(value, scope, frame).is_some(),
            }
        }
        good
    }

    /// The value of a size expression.
    fn size(&mut self, expression: &Expression<'s>, scope: &Scope<'s>) -> Option<i64> {
        let bad = |code: Code, message: &str| Diagnostic::new(code, expression.span, message).with_label("in a bound");
        let value = match &expression.form {
            Form::Integer(value) => Some(*value),
            Form::Name(name) if scope.sizes.contains_key(name.text) => {
                scope.sizes.get(name.text).map(|&(value, _)| value)
            }
            Form::Extent { tensor, dimension } => return self.extent(*tensor, *dimension, expression.span, scope),
            Form::Cast { kind, value } if *kind == INT => return self.size(value, scope),
            Form::Prefix { operators, value } if operators.iter().all(|operator| *operator == Prefix::Neg) => {
                let value = self.size(value, scope)?;
                if operators.len() % 2 == 0 { Some(value) } else { value.checked_neg() }
            }
            Form::Chain { first, rest } => {
                let mut left = self.size(first, scope);
                for (operator, operand) in rest {
                    let right = self.size(operand, scope)?;
                    left = match (operator, left?) {
                        (Binary::Add, left) => left.checked_add(right),
                        (Binary::Sub, left) => left.checked_sub(right),
                        (Binary::Mul, left) => left.checked_mul(right),
                        (Binary::Div | Binary::Rem, _) if right == 0 => {
                            self.report(
                                Diagnostic::new(Code::Const, operand.span, "division by zero").with_label("zero"),
                            );
                            return None;
                        }
                        (Binary::Div, left) => Some(divided(left, right).0),
                        (Binary::Rem, left) => Some(divided(left, right).1),
                        _ => {
                            self.report(bad(Code::Type, "a bound is an integer"));
                            return None;
                        }
                    }
                    .filter(|value| value.abs() < 1 << 31);
                }
                left
            }
            Form::Float(_) => {
                self.report(bad(Code::Type, "a bound is an integer"));
                return None;
            }
            _ => {
                self.report(
                    bad(Code::Kind, "a bound must not depend on indices or data")
                        .with_help("sizes, extents such as `A.0` and integers may stand in it"),
                );
                return None;
            }
        };
        if value.is_none() {
            self.report(bad(Code::Const, "this size does not fit"));
        }
        value
    }

    /// Infer the ranges of all index variables and check every access.
    fn ranges(&mut self, target: Name<'s>, frame: &Frame<'s>, scope: &Scope<'s>) -> Option<Vec<Range>> {
        let name = |variable: usize| frame.variables[variable].text;
        let (ranges, rounds) = match ranges::infer(&frame.stated, &frame.constraints) {
            Ok(found) => found,
            Err(Failure::Empty { variable, range: (low, high), span }) => {
                if self.rough {
                    // With made-up sizes an empty range means nothing; go on with any range.
                    return Some(vec![(0, 1); frame.variables.len()]);
                }
                self.report(
                    Diagnostic::new(Code::Range, span, format!("there is no value for `{}`", name(variable)))
                        .with_label(format!("the accesses leave {low}:{high}"))
                        .with_help(format!("state a range: `where {} in 0:...`", name(variable))),
                );
                return None;
            }
            Err(Failure::Unknown(unknown)) => {
                self.report(unknown_range(&unknown, target, frame, scope));
                return None;
            }
        };
        if !self.rough {
            for (variable, &(low, high)) in ranges.iter().enumerate() {
                self.explanations.push(Explanation {
                    variable: name(variable).to_owned(),
                    target: target.text.to_owned(),
                    low,
                    high,
                    round: rounds[variable],
                    span: frame.variables[variable].span,
                    because: ranges::reasons(variable, &ranges, &rounds, &frame.constraints),
                });
            }
        }
        let known: Vec<Option<Range>> = ranges.iter().copied().map(Some).collect();
        for constraint in frame.constraints.iter().filter(|constraint| !constraint.guarded) {
            let (low, high) = ranges::extremes(&constraint.index, &known);
            if low < i128::from(constraint.low) || high >= i128::from(constraint.high) {
                self.report_sized(
                    Diagnostic::new(Code::Bounds, constraint.span, "this access leaves its tensor")
                        .with_label(format!(
                            "index {low}:{}, coordinates {}:{}",
                            high + 1,
                            constraint.low,
                            constraint.high
                        ))
                        .with_help("restrict an index variable: `where i in a:b`"),
                );
                if !self.rough {
                    return None;
                }
            }
        }
        Some(ranges)
    }
}

/// No range follows for these variables: the first that no access bounds, or the first of all.
fn unknown_range<'s>(unknown: &[usize], target: Name<'s>, frame: &Frame<'s>, scope: &Scope<'s>) -> Diagnostic {
    let name = |variable: usize| frame.variables[variable].text;
    let lonely = unknown.iter().copied().find(|&variable| {
        !frame.constraints.iter().any(|constraint| constraint.index.terms.iter().any(|term| term.0.0 == variable))
    });
    let variable = lonely.unwrap_or(unknown[0]);
    let span = if lonely.is_some() { frame.variables[variable].span } else { target.span };
    let message = format!("cannot infer the range of `{}`", name(variable));
    let mut diagnostic = Diagnostic::new(Code::Range, span, message).with_label("no access bounds it alone").with_help(
        match scope.nearest(name(variable)) {
            Some(near) if lonely.is_some() => {
                format!("did you mean `{near}`? Otherwise add `where {} in 0:...`", name(variable))
            }
            _ => format!("add `where {} in 0:...`", name(variable)),
        },
    );
    for constraint in frame.constraints.iter().filter(|c| c.index.terms.iter().any(|term| term.0.0 == variable)).take(4)
    {
        diagnostic = diagnostic.with_note(constraint.span, "it occurs here, together with others");
    }
    diagnostic
}

/// Whether an element of a tensor is read that does not lie at `index`.
fn reads_others(body: &Body, tensor: TensorId, index: &[Affine]) -> bool {
    body.nodes.iter().any(|node| match node {
        Node::Read { tensor: read, index: at } => *read == tensor && at != index,
        Node::Gather { tensor: read, .. } => *read == tensor,
        _ => false,
    })
}

fn aggregate_of(reduction: Reduction) -> Aggregate {
    match reduction {
        Reduction::Add => Aggregate::Add,
        Reduction::Mul => Aggregate::Mul,
        Reduction::Min => Aggregate::Min,
        Reduction::Max => Aggregate::Max,
    }
}

fn operator_of(reduction: Reduction) -> tensor::Binary {
    match reduction {
        Reduction::Add => tensor::Binary::Add,
        Reduction::Mul => tensor::Binary::Mul,
        Reduction::Min => tensor::Binary::Min,
        Reduction::Max => tensor::Binary::Max,
    }
}
