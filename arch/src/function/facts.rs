//! Queries on a function: its row, behind methods.

use super::rows::{NO_SLOPE, ROWS};
use super::{Formula, Function};
use crate::isa::Below;

/// One row of the table of functions; [`Function`]'s methods read it.
pub(super) struct Row {
    /// As texts and messages print it.
    pub(super) name: &'static str,
    /// Names of its arguments in the formulas.
    pub(super) arguments: &'static [&'static str],
    /// By each argument.
    pub(super) derivative: &'static [&'static str],
    /// Where the first argument may lie.
    pub(super) domain: Domain,
    /// How the grid computes it.
    pub(super) hardware: Hardware,
    /// How TABLA spells it.
    pub(super) tabla: &'static [&'static str],
    /// How Tensor Comprehensions spell it.
    pub(super) comprehensions: &'static [&'static str],
    /// How Tile spells it.
    pub(super) tile: &'static [&'static str],
    /// The ONNX operator that is this function of its operands, whatever its settings.
    pub(super) onnx: &'static [&'static str],
}

impl Row {
    /// What a row does not say.
    pub(super) const PLAIN: Row = Row {
        name: "",
        arguments: &[],
        derivative: &[],
        domain: Domain::Reals,
        hardware: Hardware::None,
        tabla: &[],
        comprehensions: &[],
        tile: &[],
        onnx: &[],
    };
}

/// Where a function has a value, in its first argument.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Domain {
    /// Everywhere.
    Reals,
    /// Above this.
    Above(f64),
    /// At this and above.
    From(f64),
    /// Between this and its negative, both included.
    Within(f64),
    /// Between this and its negative, both excluded.
    Inside(f64),
    /// Above the first, below the second.
    Between(f64, f64),
}

impl Domain {
    /// Whether the function has a value here.
    pub fn contains(self, x: f64) -> bool {
        match self {
            Domain::Reals => true,
            Domain::Above(low) => x > low,
            Domain::From(low) => x >= low,
            Domain::Within(end) => x.abs() <= end,
            Domain::Inside(end) => x.abs() < end,
            Domain::Between(low, high) => low < x && x < high,
        }
    }
}

impl std::fmt::Display for Domain {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Domain::Reals => f.write_str("all"),
            Domain::Above(low) => write!(f, "above {low}"),
            Domain::From(low) => write!(f, "from {low}"),
            Domain::Within(end) => write!(f, "-{end} to {end}"),
            Domain::Inside(end) => write!(f, "between -{end} and {end}"),
            Domain::Between(low, high) => write!(f, "between {low} and {high}"),
        }
    }
}

/// How the grid computes a function.
#[derive(Debug, Clone, Copy)]
pub enum Hardware {
    /// A function table.
    Table(Shape),
    /// A formula of other functions.
    WrittenOut(&'static str),
    /// An accumulator, as it rounds a sum to no bits after the point.
    Rounding,
    /// Operations on the binary digits of two whole numbers.
    Digits,
    /// Not at all; the golden evaluator has it.
    None,
}

/// Where the segments of a function's table lie.
#[derive(Debug, Clone, Copy)]
pub enum Shape {
    /// The same number in each octave of positive arguments; the value for other arguments.
    Octaves(Below),
    /// Evenly, between an end and its negative. Beyond `|x| = end(flat, limit)` the function stays within `exp(-flat)` of a constant,
    /// or saturates an output that ends at `limit`.
    Uniform(fn(f64, f64) -> f64),
}

impl Function {
    fn row(self) -> &'static Row {
        &ROWS[self as usize]
    }

    /// As texts and messages print it.
    pub fn name(self) -> &'static str {
        self.row().name
    }

    /// Number of arguments.
    pub fn arity(self) -> usize {
        self.row().arguments.len()
    }

    /// Where it has a value, in its first argument.
    pub fn domain(self) -> Domain {
        self.row().domain
    }

    /// How the grid computes it.
    pub fn hardware(self) -> Hardware {
        self.row().hardware
    }

    /// How TABLA spells it; none: the language does not have it.
    pub fn in_tabla(self) -> &'static [&'static str] {
        self.row().tabla
    }

    /// How Tensor Comprehensions spell it; none: the language does not have it.
    pub fn in_comprehensions(self) -> &'static [&'static str] {
        self.row().comprehensions
    }

    /// How Tile spells it; none: the language does not have it.
    pub fn in_tile(self) -> &'static [&'static str] {
        self.row().tile
    }

    /// The operator that it is in an ONNX file; none: an operator has settings, or several operators say it.
    pub fn in_onnx(self) -> &'static [&'static str] {
        self.row().onnx
    }

    /// The function that an ONNX operator is.
    pub fn of_onnx(operator: &str) -> Option<Function> {
        Function::ALL.iter().copied().find(|function| function.in_onnx().contains(&operator))
    }

    /// The derivative by an argument, of the arguments and of the value, if there is one. Where it jumps, one side is taken.
    ///
    /// # Panics
    /// There is no such argument.
    pub fn derivative(self, argument: usize) -> Option<Formula> {
        let text = self.row().derivative[argument];
        (text != NO_SLOPE).then(|| Formula::parse(text, self.row().arguments))
    }

    /// The derivatives as the table writes them, by argument.
    pub fn derivatives(self) -> &'static [&'static str] {
        self.row().derivative
    }

    /// The names of the arguments in the formulas.
    pub fn arguments(self) -> &'static [&'static str] {
        self.row().arguments
    }

    /// The formula that takes its place on the grid, if there is one.
    pub fn written_out(self) -> Option<Formula> {
        match self.hardware() {
            Hardware::WrittenOut(text) => Some(Formula::parse(text, self.row().arguments)),
            _ => None,
        }
    }

    /// Whether a table holds it.
    pub fn has_table(self) -> bool {
        matches!(self.hardware(), Hardware::Table(_))
    }

    /// Whether it is computed from the binary digits of two whole numbers.
    pub fn is_of_digits(self) -> bool {
        matches!(self.hardware(), Hardware::Digits)
    }

    /// Whether its value is a whole number wherever it has one.
    pub fn is_whole(self) -> bool {
        matches!(self, Function::Floor | Function::Rint | Function::Logb) || self.is_of_digits()
    }

    /// Whether it is 0 where all its arguments are.
    pub fn keeps_zero(self) -> bool {
        self.value([0.0; 3]) == 0.0
    }

    /// For tables with segments per octave: the value for arguments that are not positive.
    pub fn below(self) -> Option<Below> {
        match self.hardware() {
            Hardware::Table(Shape::Octaves(below)) => Some(below),
            _ => None,
        }
    }

    /// Beyond `|x| = end` a result with this many bits after the binary point is a constant or saturates.
    pub fn reach(self, word: u32, fraction: i32) -> f64 {
        let unit = libm::ldexp(1.0, -fraction);
        self.domain_end(unit / 8.0, (libm::ldexp(1.0, word as i32 - 1) * unit).max(unit))
    }

    /// Beyond `|x| = end` the function stays within `tolerance` of a constant, or saturates an output that ends at `limit`.
    pub(super) fn domain_end(self, tolerance: f64, limit: f64) -> f64 {
        match self.hardware() {
            Hardware::Table(Shape::Uniform(end)) => end(-libm::log(tolerance), limit),
            _ => f64::INFINITY,
        }
    }

    /// The value of a function of one argument.
    pub(super) fn at(self, x: f64) -> f64 {
        self.value([x, 0.0, 0.0])
    }
}

impl std::fmt::Display for Function {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    /// Places inside the domains of all functions, away from all kinks.
    const FIRST: [f64; 10] = [-2.3, -1.1, -0.7, -0.2, 0.1, 0.3, 0.8, 1.2, 1.6, 2.7];
    const SECOND: [f64; 4] = [-1.77, -0.61, 0.47, 1.93];

    /// Arguments for which a function has a value, with it.
    fn samples(function: Function) -> Vec<([f64; 3], f64)> {
        let others = if function.arity() > 1 { &SECOND[..] } else { &SECOND[..1] };
        let pairs = FIRST.iter().flat_map(|&a| others.iter().map(move |&b| [a, b, 1.4]));
        let inside = pairs.filter(|arguments| function.domain().contains(arguments[0]));
        inside.map(|arguments| (arguments, function.value(arguments))).collect()
    }

    fn near(a: f64, b: f64, tolerance: f64) -> bool {
        (a - b).abs() <= tolerance * (1.0 + b.abs())
    }

    #[test]
    fn rows_are_whole() {
        let mut names = BTreeSet::new();
        for &function in Function::ALL {
            let row = function.row();
            assert!(names.insert(row.name), "{function}: twice");
            assert!(!row.arguments.is_empty() && row.derivative.len() == row.arguments.len(), "{function}");
            assert!(!row.arguments.contains(&"y"), "{function}: `y` is the value");
            assert!(samples(function).len() >= 3, "{function}");
            assert_eq!(function.below().is_some(), function.has_table() && function.domain() != Domain::Reals);
        }
        for spellings in [Function::in_tabla, Function::in_comprehensions, Function::in_tile] {
            let all: Vec<&str> = Function::ALL.iter().flat_map(|function| spellings(*function)).copied().collect();
            assert_eq!(all.iter().collect::<BTreeSet<_>>().len(), all.len(), "{all:?}");
        }
    }

    /// Central differences of the value.
    #[test]
    fn derivatives_are_the_slopes_of_the_values() {
        const STEP: f64 = 1e-6;
        for &function in Function::ALL {
            for argument in 0..function.arity() {
                let Some(formula) = function.derivative(argument) else { continue };
                for (arguments, y) in samples(function) {
                    let beside = |step: f64| {
                        let mut moved = arguments;
                        moved[argument] += step;
                        function.value(moved)
                    };
                    let slope = (beside(STEP) - beside(-STEP)) / (2.0 * STEP);
                    let value = formula.evaluate(&arguments, y);
                    assert!(near(value, slope, 1e-6), "{function} at {arguments:?} by {argument}: {value} {slope}");
                }
            }
        }
    }

    #[test]
    fn what_is_written_out_has_the_value_of_the_function() {
        let written = Function::ALL.iter().filter_map(|&function| Some((function, function.written_out()?)));
        for (function, formula) in written {
            for (arguments, y) in samples(function) {
                let value = formula.evaluate(&arguments, f64::NAN);
                assert!(near(value, y, 1e-12), "{function} at {arguments:?}: {value}, not {y}");
            }
        }
    }

    /// What the grid is to compute ends at functions that it has.
    #[test]
    fn formulas_for_the_grid_end_there() {
        fn ends(formula: &Formula) -> bool {
            match formula {
                Formula::Number(_) | Formula::Argument(_) => true,
                Formula::Value => false,
                Formula::Negate(a) => ends(a),
                Formula::Binary(_, parts) => parts.iter().all(ends),
                Formula::Select(parts) => parts.iter().all(ends),
                Formula::Call(function, parts) => computed(*function) && parts.iter().all(ends),
            }
        }
        fn computed(function: Function) -> bool {
            match function.hardware() {
                Hardware::Table(_) | Hardware::Rounding | Hardware::Digits => true,
                Hardware::WrittenOut(_) => function.written_out().is_some_and(|formula| ends(&formula)),
                Hardware::None => false,
            }
        }
        let written = Function::ALL.iter().filter(|function| matches!(function.hardware(), Hardware::WrittenOut(_)));
        for &function in written {
            assert!(computed(function), "{function}");
        }
    }
}
