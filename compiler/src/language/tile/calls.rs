//! Calls of functions of the file: their statements, with names of their own.
//!
//! ```text
//! def gelu(X):                       hides the built-in function below this line (W-SHADOW)
//!   return X * sigmoid(1.702 * X)
//! def f(A):
//!   return gelu(A + 1.0)             X = A + 1.0;  out0 = X * sigmoid(1.702 * X)
//! ```
//!
//! A function calls those above it, so that no call is endless.

use super::ast::{Expression, Form, Name};
use super::elementwise;
use super::lower::Lowering;
use super::scope::Entry;
use arch::{Code, Diagnostic, Origin};

/// Statements that the calls of a file may expand to.
const MOST_STATEMENTS: usize = 1 << 16;

/// A call of a function of the file.
pub(super) struct Call<'e, 's> {
    name: Name<'s>,
    place: usize,
    arguments: &'e [Expression<'s>],
}

impl<'s> Lowering<'s, '_> {
    /// Warn of functions with the name of a built-in one.
    pub(super) fn warn_shadows(&mut self) {
        for function in self.functions {
            if elementwise::is_built_in(function.name.text) {
                let message = format!("`{}` takes the place of the built-in function", function.name.text);
                self.report(
                    Diagnostic::new(Code::WarnShadow, function.name.span, message)
                        .with_label("defined here")
                        .with_help("in functions below, the name means this definition"),
                );
            }
        }
    }

    /// An expression as a call of a function above; of several with one name the last one counts.
    pub(super) fn called<'e>(&self, expression: &'e Expression<'s>) -> Option<Call<'e, 's>> {
        let Form::Call { function, arguments } = &expression.form else { return None };
        let above = &self.functions[..self.visible];
        let place = above.iter().rposition(|known| known.name.text == function.text)?;
        Some(Call { name: *function, place, arguments })
    }

    /// What a call returns: `wanted` values.
    pub(super) fn call(&mut self, call: &Call<'_, 's>, wanted: usize) -> Option<Vec<Entry>> {
        let functions = self.functions;
        let function = &functions[call.place];
        let count = |what: &str, expected: usize, given: usize| {
            let plural = if expected == 1 { "" } else { "s" };
            Diagnostic::new(Code::Arity, call.name.span, format!("`{}` has {expected} {what}{plural}", call.name.text))
                .with_label(format!("{given} given"))
                .with_note(function.name.span, "the function")
        };
        if call.arguments.len() != function.parameters.len() {
            self.report(count("argument", function.parameters.len(), call.arguments.len()));
            return None;
        }
        self.called_statements += function.statements.len();
        if self.called_statements > MOST_STATEMENTS {
            let message = format!("calls expand to more than {MOST_STATEMENTS} statements");
            self.report(Diagnostic::new(Code::Limit, call.name.span, message).with_label("in this function"));
            return None;
        }
        let arguments: Vec<Option<Entry>> =
            call.arguments.iter().zip(&function.parameters).map(|(value, name)| self.argument(value, *name)).collect();
        let arguments: Vec<Entry> = arguments.into_iter().collect::<Option<_>>()?;
        let parameters = function.parameters.iter().map(|parameter| parameter.text);
        let names = std::mem::replace(&mut self.names, parameters.zip(arguments).collect());
        let visible = std::mem::replace(&mut self.visible, call.place);
        let first = self.program.nests.len();
        self.depth += 1;
        let results = self.body(function);
        self.depth -= 1;
        self.visible = visible;
        self.names = names;
        // Its own line in the function, and that of the call.
        for nest in &mut self.program.nests[first..] {
            nest.origin.join(&Origin::of(call.name.span));
        }
        if !results.is_empty() && results.len() != wanted {
            self.report(count("result", results.len(), wanted));
            return None;
        }
        Some(results)
    }

    /// The value of a parameter: a size, an index variable, or a tensor.
    fn argument(&mut self, value: &Expression<'s>, parameter: Name<'s>) -> Option<Entry> {
        if self.is_size(value) {
            return self.size(value).map(Entry::Integer);
        }
        if let Form::Name(name) = value.form
            && let Some(Entry::Index) = self.entry(name.text)
        {
            return Some(Entry::Index);
        }
        self.elementwise(value, parameter.text, value.span).map(Entry::Value)
    }
}
