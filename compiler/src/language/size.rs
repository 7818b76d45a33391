//! How much there is to compile. A program of any size can be read and evaluated on real numbers; what goes into canonical form is limited,
//! because the work of its passes grows with the square of the statements and of their expressions.

use super::Limits;
use crate::tensor::Program;
use arch::{Code, Diagnostic};

impl Limits {
    /// Refuse statements that are longer than anybody writes, and programs of more of them.
    ///
    /// # Errors
    /// E-LIMIT with the figure that is too large, and the option that moves the limit.
    pub fn check(&self, program: &Program) -> Result<(), Vec<Diagnostic>> {
        let sizes: Vec<u64> = program.nests.iter().map(|nest| nest.body.tree_size(|_| 1)).collect();
        let too_long = program.nests.iter().zip(&sizes).filter(|(_, size)| **size > self.operands);
        let too_long = too_long.map(|(nest, size)| {
            let limit = self.operands;
            let message = format!("this expression has {size} operands and operations, the limit is {limit}");
            let help = "name parts of it in statements of their own, or raise the limit: --limit operands=N";
            Diagnostic::new(Code::Limit, nest.origin.span(), message).with_help(help)
        });
        let errors: Vec<Diagnostic> = too_long.take(self.errors).collect();
        if !errors.is_empty() {
            return Err(errors);
        }
        let total = sizes.iter().fold(0u64, |total, &size| total.saturating_add(size));
        let whole = [
            (program.nests.len() as u64, self.statements, "statements", "statements"),
            (total, self.operands_in_all, "operands and operations", "operands_in_all"),
        ];
        let too_many = whole.into_iter().filter(|(found, limit, ..)| found > limit);
        let too_many = too_many.map(|(found, limit, what, name)| {
            let message = format!("the program has {found} {what}, the limit is {limit}");
            let way_out = "a tensor with one more dimension takes the place of statements that are alike";
            Diagnostic::global(Code::Limit, message)
                .with_help(format!("{way_out}; or raise the limit: --limit {name}=N"))
        });
        let errors: Vec<Diagnostic> = too_many.collect();
        if errors.is_empty() { Ok(()) } else { Err(errors) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::language::{Language, Options, parse};

    fn program(text: &str) -> Program {
        parse(Language::Tabla, text, &Options::default()).expect("it is a program").0
    }

    fn refused(text: &str, limits: Limits) -> (String, String) {
        let first = limits.check(&program(text)).expect_err("it is too long").remove(0);
        assert_eq!(first.code, Code::Limit);
        (first.message, first.help.expect("there is a way out"))
    }

    #[test]
    fn endless_expressions_are_refused() {
        let text = format!("model_input x; a = x{};", " + x".repeat(20_000));
        let (message, help) = refused(&text, Limits::default());
        assert_eq!(message, "this expression has 40001 operands and operations, the limit is 512");
        assert!(help.contains("--limit operands=N"), "{help}");
        let moved = Limits { operands: 40_001, operands_in_all: 40_001, ..Limits::default() };
        assert_eq!(moved.check(&program(&text)), Ok(()));
        let (message, _) = refused(&text, Limits { operands: 40_000, ..moved });
        assert_eq!(message, "this expression has 40001 operands and operations, the limit is 40000");
    }

    /// Programs of so many statements as nobody writes, and of long ones.
    #[test]
    fn endless_programs_are_refused() {
        let many = (0..16_385).fold(String::from("model_input x; "), |text, n| text + &format!("a{n} = x * {n}; "));
        let (message, help) = refused(&many, Limits::default());
        assert_eq!(message, "the program has 16385 statements, the limit is 16384");
        assert!(help.contains("--limit statements=N"), "{help}");
        assert_eq!(Limits { statements: 16_385, ..Limits::default() }.check(&program(&many)), Ok(()));
        let long = " + x".repeat(124);
        let long = (0..527).fold(String::from("model_input x; "), |text, n| text + &format!("a{n} = x{long}; "));
        let (message, help) = refused(&long, Limits::default());
        assert_eq!(message, "the program has 131223 operands and operations, the limit is 131072");
        assert!(help.contains("--limit operands_in_all=N"), "{help}");
        assert_eq!(Limits { operands_in_all: 131_223, ..Limits::default() }.check(&program(&long)), Ok(()));
    }
}
