//! Passes by name, each on a text of its stage: what `tabla-gen ir --pass-input` runs and `tests/stages` tests.
//!
//!     text of the stage before ──read, laws──▶ value ──pass──▶ value ──laws──▶ text of the stage after
//!
//! | passes | from | to |
//! |---|---|---|
//! | those of [`canonical::PASSES`] | tensor | tensor |
//! | `lower` | tensor, canonical | fixed |
//! | those of [`search::passes::PASSES`] | fixed, placed, jobs, coloured, scheduled | placed, jobs, coloured, scheduled, image |
//!
//! A stage that gets a text form adds its passes to [`passes`].

use crate::canonical::{self, PASSES};
use crate::fixed::{self, Numbers};
use crate::ranges::Ranges;
use crate::search;
use crate::tensor;
use crate::text::read;
use arch::{Diagnostic, Machine};

/// What passes ask for besides their input.
#[derive(Debug, Clone, PartialEq)]
pub struct Settings {
    /// What of a program is wanted.
    pub options: canonical::Options,
    /// The numbers of the machine.
    pub numbers: Numbers,
    /// Largest magnitude of the values of tensors: those that are named, and all others.
    pub magnitudes: (Vec<(String, f64)>, f64),
    /// What the program is compiled for.
    pub machine: Machine,
}

impl Settings {
    /// The ranges of a program's tensors.
    fn ranges(&self, program: &tensor::Program) -> Ranges {
        let (named, others) = &self.magnitudes;
        let magnitude = |name: &str| named.iter().find(|(known, _)| known == name).map_or(*others, |(_, size)| *size);
        let range = |tensor: &tensor::Tensor| Some((-magnitude(&tensor.name), magnitude(&tensor.name)));
        Ranges::of_tensors(program.tensors.iter().map(range).collect())
    }
}

/// Text in, text out, or what is wrong with the text.
type OnText = Box<dyn Fn(&str, &Settings) -> Result<String, Vec<Diagnostic>>>;

/// A pass that can be run on a text.
pub struct Pass {
    /// Its name, that of its function.
    pub name: &'static str,
    /// What it does, in one line.
    pub does: &'static str,
    run: OnText,
}

impl Pass {
    /// Run it.
    ///
    /// # Errors
    /// The text is wrong, breaks a law of its stage (`E-LAW`), or what it says cannot be done.
    pub fn run(&self, text: &str, settings: &Settings) -> Result<String, Vec<Diagnostic>> {
        (self.run)(text, settings)
    }
}

/// Every pass, in the order in which a program meets it.
pub fn passes() -> Vec<Pass> {
    let mut passes: Vec<Pass> = Vec::new();
    for pass in PASSES {
        if passes.iter().all(|known| known.name != pass.name) {
            let run = move |text: &str, settings: &Settings| {
                let program = read(text, tensor::laws)?;
                let result = pass.run(&program, &settings.options)?;
                tensor::verify(&result);
                Ok(result.to_string())
            };
            passes.push(Pass { name: pass.name, does: pass.does, run: Box::new(run) });
        }
    }
    let does = "every rounding is decided: tensor IR becomes fixed-point IR";
    passes.push(Pass { name: "lower", does, run: Box::new(lower) });
    for pass in search::passes::PASSES {
        let run = |text: &str, settings: &Settings| (pass.run)(text, &settings.machine);
        passes.push(Pass { name: pass.name, does: pass.does, run: Box::new(run) });
    }
    passes
}

fn lower(text: &str, settings: &Settings) -> Result<String, Vec<Diagnostic>> {
    let program = read(text, tensor::laws)?;
    let (result, _) = fixed::lower(&program, &settings.ranges(&program), &settings.numbers)?;
    Ok(result.to_string())
}
