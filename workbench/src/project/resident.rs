//! Inputs of a function that stay in the grid: which they are, and who says so.
//!
//! ```text
//! --resident W,b  ──▶  [function] beside the program  ──▶  [function] of the configuration  ──▶  none
//!    strongest                                                                                 weakest
//!
//! def dense(float(N) x, float(M,N) W, float(M) b) -> (y)       x  input: comes with each record
//!                                                              W, b  states that no step writes: loaded once
//! ```
//!
//! The model scratchpads hold what is resident, as they hold the weights of a training, and it is loaded as those are. Nothing behind
//! this module knows the difference. A `model` of TABLA is resident in any case.

use crate::config::element_span;
use crate::failure::{Failure, Source};
use crate::images::line_of;
use crate::project::Project;
use crate::settings::function_table;
use arch::{Code, Diagnostic};
use compiler::language::nearest;
use compiler::tensor::{Program, Role, Tensor};
use schemars::JsonSchema;
use serde::Deserialize;

/// The `[function]` table.
#[derive(Debug, Clone, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FunctionOptions {
    /// Inputs of a function that are loaded once and stay in the model scratchpads; records carry the others.
    pub resident: Option<Vec<String>>,
}

/// Names of resident inputs, and who gives them.
struct Resident<'a> {
    names: Vec<String>,
    /// The TOML; nothing where they stand on the command line.
    source: Option<&'a Source>,
}

/// Why a name cannot be resident, and what may help.
struct Unfit {
    message: String,
    help: Option<String>,
}

impl Project {
    /// `program`, the resident inputs of which are states that no step writes. A training keeps its weights, so tables mean nothing there.
    ///
    /// # Errors
    /// A name is not an input, or the program computes it, too; the command line names some for a training.
    pub fn with_resident(&self, program: Program) -> Result<Program, Failure> {
        if !program.descents.is_empty() || !program.updates.is_empty() {
            return self.refuse_resident().map(|()| program);
        }
        let Some(resident) = self.resident()? else { return Ok(program) };
        let unfit = resident.names.iter().enumerate().filter_map(|(n, name)| Some((n, self.unfit(&program, name)?)));
        let unfit: Vec<(usize, Unfit)> = unfit.collect();
        if !unfit.is_empty() {
            return Err(resident.refused(unfit));
        }
        let mut program = program;
        for tensor in program.tensors.iter_mut().filter(|tensor| resident.names.contains(&tensor.name)) {
            tensor.role = Role::State;
        }
        Ok(program)
    }

    /// Refuse `--resident` for a program that trains.
    ///
    /// # Errors
    /// It is given.
    pub fn refuse_resident(&self) -> Result<(), Failure> {
        match &self.resident_asked {
            Some(names) => Err(Failure::Usage(format!(
                "--resident {}: this is for functions; a training keeps its weights in the grid",
                names.join(",")
            ))),
            None => Ok(()),
        }
    }

    fn resident(&self) -> Result<Option<Resident<'_>>, Failure> {
        if let Some(names) = &self.resident_asked {
            return Ok(Some(Resident { names: names.clone(), source: None }));
        }
        let found = |names: Option<Vec<String>>, source| names.map(|names| Resident { names, source: Some(source) });
        if let Some(source) = &self.settings
            && let Some(resident) = found(function_table(source)?.resident, source)
        {
            return Ok(Some(resident));
        }
        let config = self.config_source.as_ref().map(|(_, source)| source);
        Ok(config.and_then(|source| found(self.config.function.resident.clone(), source)))
    }

    /// Why `name` cannot be resident; nothing if it can.
    fn unfit(&self, program: &Program, name: &str) -> Option<Unfit> {
        let line = |tensor: &Tensor| match line_of(self, tensor.span) {
            0 => String::new(),
            line => format!(" (line {line})"),
        };
        let given = |role: &Role| matches!(role, Role::Input | Role::Label | Role::State);
        let tensor = program.tensors.iter().find(|tensor| tensor.name == name);
        let computed = program.names.iter().find(|(known, _)| known == name).map(|(_, id)| &program.tensors[id.0]);
        let only = Some("only what no record changes and the program does not assign can be resident".to_owned());
        match (tensor, computed) {
            (Some(tensor), _) if given(&tensor.role) => None,
            (Some(tensor), _) if tensor.role == Role::InOut => {
                let message = format!("`{name}`{} is an output, too: the program assigns it", line(tensor));
                Some(Unfit { message, help: only })
            }
            (Some(tensor), _) | (None, Some(tensor)) => Some(Unfit {
                message: format!("`{name}`{} is no input: the program computes it", line(tensor)),
                help: only,
            }),
            (None, None) => {
                let known =
                    program.tensors.iter().filter(|tensor| given(&tensor.role)).map(|tensor| tensor.name.as_str());
                let help = match nearest(name, known.clone()) {
                    Some(near) => format!("did you mean `{near}`?"),
                    None => format!("its inputs are {}", known.collect::<Vec<_>>().join(", ")),
                };
                Some(Unfit { message: format!("the program has no input `{name}`"), help: Some(help) })
            }
        }
    }
}

impl Resident<'_> {
    /// What is wrong with the list: of a table with its place, of the command line as a wrong argument.
    fn refused(&self, unfit: Vec<(usize, Unfit)>) -> Failure {
        let Some(source) = self.source else {
            let said = unfit.into_iter().map(|(_, Unfit { message, help })| {
                help.map_or_else(|| message.clone(), |help| format!("{message}; {help}"))
            });
            return Failure::Usage(format!(
                "--resident {}: {}",
                self.names.join(","),
                said.collect::<Vec<_>>().join("; ")
            ));
        };
        let diagnostics = unfit.into_iter().map(|(n, Unfit { message, help })| {
            let span = element_span(&source.text, &["function", "resident"], n).unwrap_or_default();
            let diagnostic = Diagnostic::new(Code::Config, span, message).with_label("to be resident");
            match help {
                Some(help) => diagnostic.with_help(help),
                None => diagnostic,
            }
        });
        Failure::about(source, diagnostics.collect())
    }
}
