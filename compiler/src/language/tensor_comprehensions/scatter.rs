//! Computed places and numbers on the left side: statements that compare every place with them.
//!
//! ```text
//! o(k(i)) += v(i)      =>  o(c) += k(i) == c ? v(i) : 0          where c in the range of o
//! o(0, j) = v(j)       =>  o(c, j) = 0 == c ? v(j) : o(c, j)
//! o(k(i)) max= v(i)    =>  o(c) max= k(i) == c ? v(i) : o(c)
//! ```
//!
//! Places outside of the tensor take nothing.

use super::ast::{Assign, Binary, Clause, Expression, Form, Name, Operator, Reduction, Scatter};
use super::lower::Lowering;
use super::scope::Scope;
use super::value::Frame;
use arch::{Code, Diagnostic, Span};

/// Names of the index variables in place of computed places.
const PLACES: &[&str] = &["place_1", "place_2", "place_3", "place_4", "place_5", "place_6", "place_7", "place_8"];

impl<'s> Lowering<'s, '_> {
    pub(super) fn scatter(&mut self, scatter: &Scatter<'s>, scope: &mut Scope<'s>) {
        let Scatter { target, places, operator, value, clauses, span } = scatter;
        let Some(domain) = Self::known_domain(*target, scope) else {
            self.report(
                Diagnostic::new(Code::UndefVal, target.span, format!("`{}` has no ranges yet", target.text))
                    .with_label("its places are computed")
                    .with_help("assign all of it before, or state its extents: `-> (float(N) o)`"),
            );
            return;
        };
        let computed = places.iter().filter(|place| !matches!(place.form, Form::Name(_))).count();
        if domain.len() != places.len() || computed > PLACES.len() {
            let message = format!("`{}` has {} dimensions, {} given", target.text, domain.len(), places.len());
            self.report(Diagnostic::new(Code::Rank, target.span, message));
            return;
        }
        let mut clauses = clauses.clone();
        let (mut index, mut conditions) = (Vec::new(), Vec::new());
        for (place, &(low, high)) in places.iter().zip(&domain) {
            if let Form::Name(name) = place.form {
                index.push(name);
                continue;
            }
            if !self.is_place(place, scope) {
                return;
            }
            let name = Name { text: PLACES[conditions.len()], span: place.span };
            let end = |value| Expression { form: Form::Integer(value), span: place.span };
            clauses.push(Clause::Range { name, low: end(low), high: end(high) });
            conditions.push(chain(place.clone(), Binary::Eq, named(name)));
            index.push(name);
        }
        let condition = conditions.into_iter().reduce(|all, one| chain(all, Binary::And, one));
        let Some(condition) = condition else { return };
        let constant = |form| Expression { form, span: target.span };
        let otherwise = match *operator {
            Operator::Reduce { reduction: Reduction::Add, .. } => constant(Form::Integer(0)),
            Operator::Reduce { reduction: Reduction::Mul, .. } => constant(Form::Integer(1)),
            Operator::Reduce { reduction: Reduction::Min, initialise: true } => constant(Form::Float(f64::INFINITY)),
            Operator::Reduce { reduction: Reduction::Max, initialise: true } => {
                constant(Form::Float(f64::NEG_INFINITY))
            }
            _ => {
                let arguments = index.iter().map(|&name| named(name)).collect();
                constant(Form::Apply { name: *target, arguments })
            }
        };
        let cases = vec![(condition, value.clone())];
        let value = Expression { form: Form::Choice { cases, otherwise: Box::new(otherwise) }, span: value.span };
        let assign = Assign { target: *target, index: Some(index), operator: *operator, value, clauses, span: *span };
        self.assign(&assign, scope);
    }

    /// Whether the expression is an integer; else it is told.
    fn is_place(&mut self, place: &Expression<'s>, scope: &Scope<'s>) -> bool {
        let Some(value) = self.value(place, scope, &mut Frame::default()) else { return false };
        if !value.kind.is_integer() {
            let message = format!("a place is an integer, this is {}", value.kind.name());
            self.report(Diagnostic::new(Code::Type, place.span, message).with_help("convert it: `int32(...)`"));
        }
        value.kind.is_integer()
    }
}

fn named(name: Name<'_>) -> Expression<'_> {
    Expression { form: Form::Name(name), span: name.span }
}

fn chain<'s>(first: Expression<'s>, operator: Binary, second: Expression<'s>) -> Expression<'s> {
    let span = Span::new(first.span.start, second.span.end.max(first.span.end));
    Expression { form: Form::Chain { first: Box::new(first), rest: vec![(operator, second)] }, span }
}
