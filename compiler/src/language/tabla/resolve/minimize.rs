//! Objectives of `minimize`: losses of the library, and the models that are trained.
//!
//! ```text
//! minimize logistic(h, y) + 0.01 * norm[i](w[i]);      a loss compares whole variables, the rest is an expression
//! ```

use super::{Expression, Kind, Minimize, Resolver, Symbol, VariableId};
use crate::derived::losses::Loss;
use crate::language::nearest;
use crate::language::tabla::ast;
use arch::{Code, Diagnostic, Span};

impl<'s> Resolver<'s, '_> {
    pub(super) fn minimize(&mut self, value: &ast::Expression<'s>, span: Span) {
        if let Some(first) = &self.program.minimize {
            let first = first.span;
            self.report(
                Diagnostic::new(Code::Redef, span, "`minimize` stands twice")
                    .with_label("second")
                    .with_note(first, "first")
                    .with_help("minimise a weighted sum: `minimize a + 0.5 * b;`"),
            );
            return;
        }
        if let Some(value) = self.expression(value) {
            self.program.minimize = Some(Minimize { value, models: Vec::new(), span });
        }
    }

    /// `squared(h, y)`
    pub(super) fn loss(
        &mut self,
        name: ast::Name<'s>,
        prediction: &ast::Variable<'s>,
        label: &ast::Variable<'s>,
        span: Span,
    ) -> Option<Expression> {
        let Some(loss) = Loss::of_name(name.text) else {
            let names: Vec<&str> = Loss::ALL.iter().map(|loss| loss.name()).collect();
            let help = match nearest(name.text, names.iter().copied()) {
                Some(near) => format!("did you mean `{near}`?"),
                None => format!("the losses are {}", names.join(", ")),
            };
            let message = format!("`{}` is not a loss", name.text);
            self.report(Diagnostic::new(Code::Undef, name.span, message).with_label("unknown loss").with_help(help));
            return None;
        };
        let (prediction, label) = (self.whole(prediction), self.whole(label));
        Some(Expression::Loss { loss, prediction: prediction?, label: label?, span })
    }

    /// A variable without subscripts.
    fn whole(&mut self, variable: &ast::Variable<'s>) -> Option<VariableId> {
        let symbol = self.lookup(variable.name)?;
        let Symbol::Variable(id) = symbol else {
            let message = format!("a loss compares variables, `{}` is {}", variable.name.text, self.describe(symbol));
            self.report(Diagnostic::new(Code::Kind, variable.span, message).with_label("not a variable"));
            return None;
        };
        if !variable.subscripts.is_empty() {
            let message = "a loss compares whole variables".to_owned();
            self.report(
                Diagnostic::new(Code::Rank, variable.span, message)
                    .with_label("subscripts")
                    .with_help(format!("write `{}`, or assign the part to a name of its own", variable.name.text)),
            );
            return None;
        }
        self.program.variables[id.0].read = true;
        Some(id)
    }

    /// The models that `minimize` trains: those that the program does not see to itself.
    pub(super) fn trained_models(&mut self) {
        let Some(minimize) = &mut self.program.minimize else { return };
        let variables = &self.program.variables;
        let models = (0..variables.len()).map(VariableId).filter(|id| {
            variables[id.0].kind == Kind::Model && !variables[id.0].assigned && !self.linked.contains_key(id)
        });
        minimize.models = models.collect();
        if minimize.models.is_empty() {
            let span = minimize.span;
            self.report(
                Diagnostic::new(Code::Link, span, "nothing is left to be trained")
                    .with_label("every model has a gradient or is assigned")
                    .with_help("declare a model without a gradient: `model w[m];`"),
            );
        }
    }
}
