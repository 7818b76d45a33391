//! Inputs of a function that stay in the grid: which they are, and who says so.
//!
//! ```text
//! --resident W,b  ──▶  [function] beside the program  ──▶  [function] of the configuration  ──▶  none
//!    strongest                                                                                 weakest
//!
//! def dense(float(N) x, float(M,N) W, float(M) b) -> (y)       x  input: comes with each record
//!                                                              W, b  states that no step writes: loaded once
//!
//! --state h=h_next    h  a state that takes the value of h_next after each record: a stream
//! ```
//!
//! The model scratchpads hold what stays, as they hold the weights of a training, and it is loaded as those are. Nothing behind this module knows the
//! difference. A `model` of TABLA is resident in any case.

use crate::config::{RecordsPerStep, element_span, key_span};
use crate::failure::{Failure, Source};
use crate::images::line_of;
use crate::project::Project;
use crate::settings::function_table;
use arch::{Code, Diagnostic, Span};
use compiler::language::nearest;
use compiler::tensor::{Program, Role, Tensor, TensorId, Update};
use schemars::JsonSchema;
use serde::Deserialize;
use std::collections::BTreeMap;

/// The `[function]` table.
#[derive(Debug, Clone, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FunctionOptions {
    /// Inputs of a function that are loaded once and stay in the model scratchpads; records carry the others.
    pub resident: Option<Vec<String>>,
    /// The state of a stream: inputs that take the value of a result after each record (`{ h = "h_next" }`). The first record may give their first values; default: 0.
    pub state: Option<BTreeMap<String, String>>,
}

impl FunctionOptions {
    fn is_empty(&self) -> bool {
        self.resident.is_none() && self.state.is_none()
    }
}

/// What stays, and who says so.
struct Stays<'a> {
    options: FunctionOptions,
    /// The TOML; nothing where it stands on the command line.
    source: Option<&'a Source>,
}

/// Where an unfit name stands.
enum Place<'a> {
    /// In the list of resident inputs.
    Resident(usize),
    /// In the table of states.
    State(&'a str),
}

/// Why an input cannot stay, and what may help.
struct Unfit {
    message: String,
    help: Option<String>,
}

impl Project {
    /// `program`, the inputs of which that stay are states; no step writes those that are resident. A training keeps its weights, so tables mean
    /// nothing there.
    ///
    /// # Errors
    /// A name is not an input, or the program computes it, too; a state has another shape than its result; the command line names some for a training.
    pub fn with_stays(&self, program: Program) -> Result<Program, Failure> {
        if !program.descents.is_empty() || !program.updates.is_empty() {
            return self.refuse_stays().map(|()| program);
        }
        let Some(stays) = self.stays()? else { return Ok(program) };
        let mut program = program;
        let (mut unfit, mut updates) = (Vec::new(), Vec::new());
        for (n, name) in stays.options.resident.iter().flatten().enumerate() {
            unfit.extend(self.unfit(&program, name).map(|unfit| (Place::Resident(n), unfit)));
        }
        for (input, result) in stays.options.state.iter().flatten() {
            match self.update(&program, input, result) {
                Ok(update) => updates.push(update),
                Err(wrong) => unfit.push((Place::State(input), wrong)),
            }
        }
        if !unfit.is_empty() {
            return Err(stays.refused(unfit));
        }
        let resident = stays.options.resident.unwrap_or_default();
        for tensor in program.tensors.iter_mut().filter(|tensor| resident.contains(&tensor.name)) {
            tensor.role = Role::State;
        }
        for update in updates {
            program.tensors[update.state.0].role = Role::State;
            program.updates.push(update);
        }
        Ok(program)
    }

    /// Records that a step of a function computes at once.
    pub(crate) fn records_per_step(&self) -> RecordsPerStep {
        self.records_asked.or(self.config.build.records).unwrap_or(RecordsPerStep::Count(1))
    }

    /// Whether a function may run in segments.
    pub fn in_segments(&self) -> bool {
        self.segments_asked || self.config.build.segments.is_some()
    }

    /// Refuse `--resident` and `--state` for a program that trains.
    ///
    /// # Errors
    /// One is given.
    pub fn refuse_stays(&self) -> Result<(), Failure> {
        if self.records_asked.is_some() {
            let says = "--records: a step of a function computes so many; a training has --batch";
            return Err(Failure::Usage(says.to_owned()));
        }
        if self.segments_asked {
            return Err(Failure::Usage("segments: only functions run in segments".to_owned()));
        }
        if self.stays_asked.is_empty() {
            return Ok(());
        }
        let asked = Stays { options: self.stays_asked.clone(), source: None }.asked();
        Err(Failure::Usage(format!("{asked}: this is for functions; a training keeps its weights in the grid")))
    }

    fn stays(&self) -> Result<Option<Stays<'_>>, Failure> {
        if !self.stays_asked.is_empty() {
            return Ok(Some(Stays { options: self.stays_asked.clone(), source: None }));
        }
        let found = |options: FunctionOptions, source| {
            if options.is_empty() { None } else { Some(Stays { options, source: Some(source) }) }
        };
        if let Some(source) = &self.settings
            && let Some(stays) = found(function_table(source)?, source)
        {
            return Ok(Some(stays));
        }
        let config = self.config_source.as_ref().map(|(_, source)| source);
        Ok(config.and_then(|source| found(self.config.function.clone(), source)))
    }

    /// The update of a state after each record, if `input` can be one.
    fn update(&self, program: &Program, input: &str, result: &str) -> Result<Update, Unfit> {
        if let Some(unfit) = self.unfit(program, input) {
            return Err(unfit);
        }
        let computed = program.names.iter().rev().find(|(known, _)| known == result).map(|(_, id)| *id);
        let Some(next) = computed.filter(|id| program.tensors[id.0].role.is_computed()) else {
            let known = program.names.iter().map(|(name, _)| name.as_str());
            let help = nearest(result, known).map(|near| format!("did you mean `{near}`?"));
            return Err(Unfit { message: format!("the program computes no `{result}`"), help });
        };
        let own = program.tensors.iter().position(|tensor| tensor.name == input).expect("an input");
        let (shape, other) = (&program.tensors[own].shape, &program.tensors[next.0].shape);
        if shape != other {
            let message = format!("`{input}` has shape {shape:?}, `{result}` has {other:?}");
            let help = Some("a state and the result whose value it takes have the same shape".to_owned());
            return Err(Unfit { message, help });
        }
        Ok(Update { state: TensorId(own), next })
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

impl Stays<'_> {
    /// What is asked for, as the command line has it.
    fn asked(&self) -> String {
        let FunctionOptions { resident, state } = &self.options;
        let resident = resident.iter().map(|names| format!("--resident {}", names.join(",")));
        let pairs = |state: &BTreeMap<String, String>| {
            state.iter().map(|(input, result)| format!("{input}={result}")).collect::<Vec<_>>().join(",")
        };
        let state = state.iter().map(|state| format!("--state {}", pairs(state)));
        resident.chain(state).collect::<Vec<_>>().join(" ")
    }

    /// What is wrong: of a table with its place, of the command line as a wrong argument.
    fn refused(&self, unfit: Vec<(Place<'_>, Unfit)>) -> Failure {
        let Some(source) = self.source else {
            let said = unfit.into_iter().map(|(_, Unfit { message, help })| {
                help.map_or_else(|| message.clone(), |help| format!("{message}; {help}"))
            });
            return Failure::Usage(format!("{}: {}", self.asked(), said.collect::<Vec<_>>().join("; ")));
        };
        let span_of = |place: &Place<'_>| -> Option<Span> {
            match place {
                Place::Resident(n) => element_span(&source.text, &["function", "resident"], *n),
                Place::State(name) => key_span(&source.text, &["function", "state", name]),
            }
        };
        let diagnostics = unfit.into_iter().map(|(place, Unfit { message, help })| {
            let span = span_of(&place).unwrap_or_default();
            let diagnostic = Diagnostic::new(Code::Config, span, message).with_label("to stay in the grid");
            match help {
                Some(help) => diagnostic.with_help(help),
                None => diagnostic,
            }
        });
        Failure::about(source, diagnostics.collect())
    }
}
