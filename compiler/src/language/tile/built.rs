//! Contractions by calls, as statements.
//!
//! ```text
//! O = Contraction().outShape(N).outAccess(i).max(I[2 * i + j]).add_constraint(j < 2).build()
//!
//! O = TensorOutput(N)
//! O[i] >= I[2 * i + j]
//! O.add_constraint(j < 2)
//! ```

use super::ast::{Expression, Form, Name, Statement};
use arch::{Code, Diagnostic, Span};

/// One call of the chain: its name and arguments.
pub(super) type Link<'s> = (Name<'s>, Vec<Expression<'s>>);

/// The statements that a chain of calls stands for.
///
/// # Errors
/// A call that contractions do not have, or one that is missing.
pub(super) fn statements<'s>(
    target: Name<'s>,
    links: Vec<Link<'s>>,
    span: Span,
) -> Result<Vec<Statement<'s>>, Diagnostic> {
    let missing = |what: &str, help: &str| {
        let message = format!("this contraction has no {what}");
        Diagnostic::new(Code::Contract, span, message).with_label("incomplete").with_help(help)
    };
    let (mut shape, mut index, mut body, mut after, mut built) = (Vec::new(), Vec::new(), None, Vec::new(), false);
    for (method, arguments) in links {
        let operator = match method.text {
            "sum" => "+=",
            "product" => "*=",
            "max" => ">=",
            "min" => "<=",
            _ => "=",
        };
        let count = arguments.len();
        match method.text {
            "outShape" => shape = arguments,
            "outAccess" => index = arguments,
            "sum" | "product" | "max" | "min" | "assign" if count == 1 => {
                body = arguments.into_iter().next().map(|value| (operator, value));
            }
            "init" | "add_constraint" | "add_constraints" => {
                let text = if method.text == "init" { "use_default" } else { method.text };
                let method = Name { text, span: method.span };
                after.push(Statement::Method { object: target, method, arguments });
            }
            "simplify" => {}
            "build" => built = true,
            known @ ("sum" | "product" | "max" | "min" | "assign") => {
                let message = format!("`{known}` takes one value");
                return Err(Diagnostic::new(Code::Arity, method.span, message).with_label(format!("{count} given")));
            }
            other => {
                let message = format!("contractions have no method `{other}`");
                return Err(Diagnostic::new(Code::Undef, method.span, message).with_label("unknown"));
            }
        }
    }
    let Some((operator, value)) = body else {
        return Err(missing("value", "call one of `sum`, `product`, `max`, `min` and `assign`"));
    };
    if !built {
        return Err(missing("end", "end it with `.build()`"));
    }
    let function = Name { text: "TensorOutput", span };
    let output = Expression { form: Form::Call { function, arguments: shape }, span };
    let declared = Statement::Assign { targets: vec![target], values: vec![output], span };
    let contracted = Statement::Contract { target, index, operator, value, span };
    Ok([declared, contracted].into_iter().chain(after).collect())
}
