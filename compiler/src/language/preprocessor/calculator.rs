//! The calculator: reverse Polish notation on 64-bit integers.
//!
//! ```text
//! !calc($a 1 - $b / 1 +)      1 + (a - 1) / b
//! ```

use arch::{Code, Diagnostic, Span};

const OPERATORS: [&str; 8] = ["+", "-", "*", "/", "%", "^", "min", "max"];

/// Apply an operator to the last two values; the result is the new last one.
///
/// # Errors
/// E-LEX for another word, E-SYNTAX for too few values, E-CONST for division by zero, negative exponents and results that do not fit.
pub(super) fn apply(operator: &str, stack: &mut Vec<i64>, span: Span) -> Result<(), Diagnostic> {
    if !OPERATORS.contains(&operator) {
        let diagnostic = Diagnostic::new(Code::Lex, span, format!("`{operator}` is not an operator of the calculator"));
        let is_name = operator.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '_');
        let help = if is_name {
            format!("did you mean `${operator}`?")
        } else {
            format!("the operators are {}", OPERATORS.join(" "))
        };
        return Err(diagnostic.with_label("neither number nor operator").with_help(help));
    }
    let (Some(b), Some(a)) = (stack.pop(), stack.pop()) else {
        return Err(Diagnostic::new(Code::Syntax, span, format!("`{operator}` has fewer than two operands"))
            .with_label("operands come first")
            .with_help("reverse Polish notation: `a b +`"));
    };
    let fault = |message: &str| Diagnostic::new(Code::Const, span, format!("`{a} {b} {operator}` {message}"));
    let result = match operator {
        "+" => a.checked_add(b),
        "-" => a.checked_sub(b),
        "*" => a.checked_mul(b),
        "/" | "%" if b == 0 => return Err(fault("divides by zero").with_label("zero divisor")),
        "/" => a.checked_div(b),
        "%" => a.checked_rem(b),
        "^" if b < 0 => return Err(fault("has a negative exponent").with_label("the result is not an integer")),
        "^" => power(a, b),
        "min" => Some(a.min(b)),
        _ => Some(a.max(b)),
    };
    stack.push(result.ok_or_else(|| fault("does not fit into 64 bits").with_label("overflow"))?);
    Ok(())
}

/// `base ^ exponent` in steps that grow with the logarithm of the exponent.
fn power(base: i64, exponent: i64) -> Option<i64> {
    match (base, exponent) {
        (_, 0) | (1, _) => Some(1),
        (0, _) => Some(0),
        (-1, _) => Some(if exponent % 2 == 0 { 1 } else { -1 }),
        _ => base.checked_pow(u32::try_from(exponent).ok()?),
    }
}

#[cfg(test)]
mod tests {
    use super::apply;
    use arch::{Code, Span};

    fn calculate(a: i64, b: i64, operator: &str) -> Result<i64, Code> {
        let mut stack = vec![a, b];
        apply(operator, &mut stack, Span::default()).map(|()| stack[0]).map_err(|error| error.code)
    }

    #[test]
    fn division_truncates_and_powers_are_instant() {
        assert_eq!((calculate(-7, 2, "/"), calculate(-7, 2, "%")), (Ok(-3), Ok(-1)));
        assert_eq!(calculate(1, 9_000_000_000_000_000_000, "^"), Ok(1));
        assert_eq!(calculate(-1, 9_000_000_000_000_000_001, "^"), Ok(-1));
        assert_eq!(calculate(2, 63, "^"), Err(Code::Const));
        assert_eq!(calculate(i64::MIN, -1, "/"), Err(Code::Const));
        assert_eq!(calculate(2, -1, "^"), Err(Code::Const));
    }
}
