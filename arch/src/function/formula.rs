//! Formulas of the table of functions: small expressions as text, read into a tree.
//!
//!     "y * (1 - y)"      =>      Binary(Multiply, Value, Binary(Subtract, Number(1), Value))
//!
//! From loose to tight: `<`, which gives 1 or 0; `+ -`; `* / //`; prefix `-`. `a // b` is the quotient towards minus infinity,
//! `select(condition, yes, no)` takes `yes` where the condition is not 0. Names are the arguments of the row, `y` its value, and
//! the functions of the table.

use super::Function;

/// A formula of a function's arguments and its value.
#[derive(Debug, Clone, PartialEq)]
pub enum Formula {
    /// A number.
    Number(f64),
    /// An argument, by place.
    Argument(usize),
    /// The value of the function, `y`.
    Value,
    /// `-a`
    Negate(Box<Formula>),
    /// `a operator b`
    Binary(Operator, Box<[Formula; 2]>),
    /// `select(condition, yes, no)`
    Select(Box<[Formula; 3]>),
    /// A function of the table.
    Call(Function, Vec<Formula>),
}

/// Operators on two values.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Operator {
    /// `a + b`
    Add,
    /// `a - b`
    Subtract,
    /// `a * b`
    Multiply,
    /// `a / b`
    Divide,
    /// `a // b`
    DivideDown,
    /// `a < b`
    Less,
}

/// By how loosely they bind.
const LEVELS: [&[(&str, Operator)]; 3] = [
    &[("<", Operator::Less)],
    &[("+", Operator::Add), ("-", Operator::Subtract)],
    &[("//", Operator::DivideDown), ("*", Operator::Multiply), ("/", Operator::Divide)],
];

impl Formula {
    /// Read a formula of these arguments.
    ///
    /// # Panics
    /// The text is not a formula: rows are ours.
    pub fn parse(text: &str, arguments: &[&str]) -> Formula {
        let mut reader = Reader { text, rest: text.trim_start(), arguments };
        let formula = reader.expression(0);
        assert!(reader.rest.is_empty(), "formula `{text}`: `{}` is left", reader.rest);
        formula
    }

    /// The value for these arguments, where the function's is `y`.
    pub fn evaluate(&self, arguments: &[f64], y: f64) -> f64 {
        let of = |formula: &Formula| formula.evaluate(arguments, y);
        match self {
            Formula::Number(value) => *value,
            Formula::Argument(place) => arguments[*place],
            Formula::Value => y,
            Formula::Negate(a) => -of(a),
            Formula::Binary(operator, operands) => {
                let (a, b) = (of(&operands[0]), of(&operands[1]));
                match operator {
                    Operator::Add => a + b,
                    Operator::Subtract => a - b,
                    Operator::Multiply => a * b,
                    Operator::Divide => a / b,
                    Operator::DivideDown => libm::floor(a / b),
                    Operator::Less => f64::from(a < b),
                }
            }
            Formula::Select(parts) => of(if of(&parts[0]) == 0.0 { &parts[2] } else { &parts[1] }),
            Formula::Call(function, operands) => {
                let mut values = [0.0; 3];
                for (value, operand) in values.iter_mut().zip(operands) {
                    *value = of(operand);
                }
                function.value(values)
            }
        }
    }

    /// How many times an argument occurs, at the most.
    pub fn uses_of_an_argument(&self) -> usize {
        (0..3).map(|place| self.uses(place)).max().unwrap_or(0)
    }

    fn uses(&self, place: usize) -> usize {
        match self {
            Formula::Number(_) | Formula::Value => 0,
            Formula::Argument(argument) => usize::from(*argument == place),
            Formula::Negate(a) => a.uses(place),
            Formula::Binary(_, parts) => parts.iter().map(|part| part.uses(place)).sum(),
            Formula::Select(parts) => parts.iter().map(|part| part.uses(place)).sum(),
            Formula::Call(_, parts) => parts.iter().map(|part| part.uses(place)).sum(),
        }
    }
}

/// A formula being read.
struct Reader<'a> {
    text: &'a str,
    rest: &'a str,
    arguments: &'a [&'a str],
}

impl Reader<'_> {
    /// Take a symbol and the blanks behind it, if it comes next.
    fn take(&mut self, symbol: &str) -> bool {
        let Some(rest) = self.rest.strip_prefix(symbol) else { return false };
        self.rest = rest.trim_start();
        true
    }

    /// Take as many characters as belong together.
    fn word(&mut self, belongs: impl Fn(char) -> bool) -> &str {
        let length = self.rest.find(|c| !belongs(c)).unwrap_or(self.rest.len());
        let (word, rest) = self.rest.split_at(length);
        self.rest = rest.trim_start();
        word
    }

    /// Operators of this level and of tighter ones, from left to right.
    fn expression(&mut self, level: usize) -> Formula {
        let Some(operators) = LEVELS.get(level) else { return self.operand() };
        let mut left = self.expression(level + 1);
        while let Some(&(_, operator)) = operators.iter().find(|(symbol, _)| self.take(symbol)) {
            let right = self.expression(level + 1);
            left = Formula::Binary(operator, Box::new([left, right]));
        }
        left
    }

    fn operand(&mut self) -> Formula {
        if self.take("-") {
            return match self.operand() {
                Formula::Number(value) => Formula::Number(-value),
                other => Formula::Negate(Box::new(other)),
            };
        }
        if self.take("(") {
            let inner = self.expression(0);
            assert!(self.take(")"), "formula `{}`: `)` is missing", self.text);
            return inner;
        }
        if self.rest.starts_with(|c: char| c.is_ascii_digit()) {
            let number = self.word(|c| c.is_ascii_digit() || c == '.').parse();
            return Formula::Number(number.unwrap_or_else(|error| panic!("formula `{}`: {error}", self.text)));
        }
        self.name()
    }

    /// An argument, `y`, or a call.
    fn name(&mut self) -> Formula {
        let name = self.word(|c| c.is_ascii_alphanumeric() || c == '_').to_owned();
        if let Some(place) = self.arguments.iter().position(|argument| *argument == name) {
            return Formula::Argument(place);
        }
        if name == "y" {
            return Formula::Value;
        }
        let operands = self.operands(&name);
        if name == "select" {
            let parts: [Formula; 3] = operands.try_into().expect("`select` has three operands");
            return Formula::Select(Box::new(parts));
        }
        let function = Function::ALL.iter().find(|function| function.name() == name);
        let function = *function.unwrap_or_else(|| panic!("formula `{}`: unknown name `{name}`", self.text));
        assert_eq!(operands.len(), function.arity(), "formula `{}`: operands of `{name}`", self.text);
        Formula::Call(function, operands)
    }

    fn operands(&mut self, name: &str) -> Vec<Formula> {
        assert!(self.take("("), "formula `{}`: unknown name `{name}`", self.text);
        let mut operands = vec![self.expression(0)];
        while self.take(",") {
            operands.push(self.expression(0));
        }
        assert!(self.take(")"), "formula `{}`: `)` is missing", self.text);
        operands
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operators_bind_as_in_arithmetic() {
        let value = |text: &str| Formula::parse(text, &["a", "b"]).evaluate(&[7.0, -2.0], 10.0);
        assert_eq!(value("a - b - 1"), 8.0);
        assert_eq!(value("a + b * y"), -13.0);
        assert_eq!(value("-a * -b"), -14.0);
        assert_eq!(value("a // b"), -4.0);
        assert_eq!(value("a / b * 2"), -7.0);
        assert_eq!(value("b < a - 9"), 0.0);
        assert_eq!(value("select(b < 0, abs(b), 0.25)"), 2.0);
        assert_eq!(value("(a - 1) * 0.5"), 3.0);
    }

    #[test]
    fn uses_are_counted_by_argument() {
        let uses = |text: &str| Formula::parse(text, &["a", "b"]).uses_of_an_argument();
        assert_eq!(uses("a * b + y"), 1);
        assert_eq!(uses("sqrt(a * a + b * b)"), 2);
    }

    #[test]
    #[should_panic(expected = "unknown name `c`")]
    fn unknown_names_are_not_formulas() {
        Formula::parse("a + c", &["a"]);
    }
}
