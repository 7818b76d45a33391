//! Config, program and its settings, read and put together.
//!
//! | module | holds |
//! |---|---|
//! | [`config`] | the TOML of a machine, its board and its numbers |
//! | [`board`] | the board that a configuration names |
//! | [`adapted`] | configurations that were measured with another program |
//! | [`library`] | configurations, boards and programs that are built in |
//! | [`settings`] | the `[train]` table beside a program |
//! | [`recipe`] | what of these a model keeps, so that it predicts without them |
//! | [`plan`] | batch, order, seeds, epochs, constants: who decides them |
//! | `names` | where results go, and what the core is called |
//! | [`store`] | the sample store beside a grid |
//! | [`resident`] | inputs of a function that stay in the grid: who decides them |

pub mod adapted;
pub mod board;
pub mod config;
mod files;
pub mod library;
mod memory;
mod names;
pub mod plan;
pub mod recipe;
pub mod resident;
pub mod sdram;
pub mod settings;
pub mod store;

pub use memory::Texts;

use crate::board::ChosenBoard;
use crate::config::{Config, RecordsPerStep, key_span, value_span};
use crate::failure::{Failure, Source};
use crate::fit::FitRequest;
use crate::imported::Imported;
use crate::plan::{Choices, Plan};
use crate::progress::Progress;
use crate::recipe::Recipe;
use crate::records::calibration::Origin;
use crate::resident::FunctionOptions;
use crate::room::Room;
use crate::serial;
use arch::Machine;
use arch::machine::MachineSpec;
use arch::rtl::CoreName;
use compiler::derived::training::Training;
use compiler::fixed::Numbers;
use compiler::language::{self, Language, Options};
use compiler::optimisations::Disabled;
use compiler::rounding::{LEAST_WORD, Rounding, most_bits};
use compiler::tensor::Program;
use serde_json::Value;
use sim::train::settings::Settings;
use std::path::{Path, PathBuf};

/// What everything begins with.
#[derive(Debug, Clone)]
pub struct Project {
    /// The configuration, or the default one.
    pub config: Config,
    /// Its board.
    pub board: ChosenBoard,
    /// Its file and text.
    pub config_source: Option<(PathBuf, Source)>,
    /// Whether the program is the config's own, so that the config's data is meant for it.
    pub configured: bool,
    /// Path of the program.
    pub path: PathBuf,
    /// Its text.
    pub source: Source,
    /// Its language.
    pub language: Language,
    /// The file that the text stands for, of a model that was imported.
    imported: Option<Imported>,
    /// The TOML beside it, if there is one.
    settings: Option<Source>,
    /// The `[train]` table of a trained model, which takes the place of the one beside the program.
    trained: Option<Box<Settings>>,
    /// How it is read; its constants are those that are asked for.
    reading: Options,
    /// Inputs of a function that stay in the grid, as the command line has them.
    stays_asked: FunctionOptions,
    /// Records per step of a function, as the command line has them.
    records_asked: Option<RecordsPerStep>,
    /// Whether the command line lets a function run in segments.
    segments_asked: bool,
    /// Name of the generated core, as the command line has it.
    core_asked: Option<CoreName>,
    /// Existing grid to compile for.
    target_grid: Option<Machine>,
    /// How many boards share its batches.
    pub divided: Option<u32>,
    /// Records from which the binary points of a function are chosen.
    pub calibrate: Option<Origin>,
    /// Optimisations that are disabled, to see what they bring; of a function only.
    disabled: Disabled,
}

/// What a project is made of, before anything is read.
#[derive(Debug, Clone, Default)]
pub struct Request {
    /// The configuration: a path, or the name of one in `configs/` or built in.
    pub config: Option<PathBuf>,
    /// Keys of its machine and their values as text, stronger than its own.
    pub machine: Vec<(String, String)>,
    /// The program; default: the one the configuration names.
    pub program: Option<PathBuf>,
    /// Its language, whatever its extension is.
    pub language: Option<Language>,
    /// How it is read; `set` overrides the constants of the configuration.
    pub reading: Options,
    /// Inputs of a function that stay in the grid, if the command line names them.
    pub function: FunctionOptions,
    /// Records per step of a function, if the command line says how many.
    pub records: Option<RecordsPerStep>,
    /// Whether a function may run in segments, beside what the configuration says.
    pub segments: bool,
    /// Name of the generated core, if the command line names one.
    pub module: Option<CoreName>,
}

/// A configuration and where it is from; the default one without a name. Keys of `machine` are stronger than its own.
///
/// # Errors
/// It cannot be read, or is wrong.
pub fn configuration(
    name: Option<&Path>,
    machine: &[(String, String)],
) -> Result<(Config, Option<(PathBuf, Source)>), Failure> {
    let Some(name) = name else { return Ok((Config::default().with_machine(machine, None)?, None)) };
    let path = library::find_config(name)?;
    let source = library::read(&path)?;
    let config = Config::parse(&source).map_err(|diagnostics| Failure::about(&source, diagnostics))?;
    Ok((config.with_machine(machine, Some(&source))?, Some((path, source))))
}

/// A configuration, and its file and text.
type Configured = (Config, Option<(PathBuf, Source)>);

/// The same of a text in memory.
fn configuration_of_text(text: &str, machine: &[(String, String)]) -> Result<Configured, Failure> {
    let path = PathBuf::from("config.toml");
    let source = Source { name: path.display().to_string(), text: text.to_owned() };
    let config = Config::parse(&source).map_err(|wrong| Failure::about(&source, wrong))?;
    Ok((config.with_machine(machine, Some(&source))?, Some((path, source))))
}

impl Project {
    /// Read config and program.
    ///
    /// # Errors
    /// A file cannot be read or the config is wrong; no program is named, or one of no language; a function of a language without functions.
    pub fn open(request: &Request) -> Result<Project, Failure> {
        Project::opened(request, configuration(request.config.as_deref(), &request.machine)?)
    }

    /// The same with a configuration in memory.
    ///
    /// # Errors
    /// As [`Project::open`].
    pub fn open_with(request: &Request, config: &str) -> Result<Project, Failure> {
        Project::opened(request, configuration_of_text(config, &request.machine)?)
    }

    fn opened(request: &Request, (config, config_source): Configured) -> Result<Project, Failure> {
        let own = beside(config_source.as_ref(), config.program.as_ref());
        let path = match (&request.program, &own) {
            (Some(path), _) | (None, Some(path)) => path.clone(),
            (None, None) => {
                let hint = "name a program, or a config that does: tabla-gen --config tiny programs/logistic.t";
                return Err(Failure::Usage(hint.to_owned()));
            }
        };
        let path = library::find_program(&path)?;
        let language = library::language_of(&path, request.language)?;
        let (imported, source) = match language {
            language if !language.is_text() => {
                Imported::read(&path).map(|(imported, source)| (Some(imported), source))?
            }
            _ => (None, library::read(&path)?),
        };
        let settings = path.with_extension("toml");
        let settings = if library::exists(&settings) { Some(library::read(&settings)?) } else { None };
        let configured = own.is_some_and(|own| library::same(&own, &path));
        let inputs = Inputs { config, config_source, configured, path, source, language, imported, settings };
        let project = Project::new(inputs, request.reading.clone())?;
        Ok(project.asked(request))
    }

    /// The same program on another machine: a configuration by its name or path, or `text` of one; keys of `machine` are stronger.
    ///
    /// # Errors
    /// It cannot be read, or is wrong.
    pub fn on(
        self,
        config: Option<&Path>,
        text: Option<&str>,
        machine: &[(String, String)],
    ) -> Result<Project, Failure> {
        let (config, config_source) = match text {
            None => configuration(config, machine)?,
            Some(text) => configuration_of_text(text, machine)?,
        };
        let own = beside(config_source.as_ref(), config.program.as_ref());
        let configured = own.is_some_and(|own| library::same(&own, &self.path));
        let Project {
            path,
            source,
            language,
            imported,
            settings,
            trained,
            stays_asked,
            records_asked,
            segments_asked,
            calibrate,
            core_asked,
            ..
        } = self;
        let inputs = Inputs { config, config_source, configured, path, source, language, imported, settings };
        let project = Project::new(inputs, self.reading)?;
        Ok(Project { trained, stays_asked, records_asked, segments_asked, core_asked, calibrate, ..project })
    }

    /// The same with fewer means of the compiler, for a function; what trains is compiled as ever.
    pub(crate) fn disabled(self, disabled: Disabled) -> Project {
        Project { disabled, ..self }
    }

    /// The same with another text in place of the TOML beside the program.
    #[must_use]
    pub fn with_settings(self, text: &str) -> Project {
        let name = self.path.with_extension("toml").display().to_string();
        Project { settings: Some(Source { name, text: text.to_owned() }), trained: None, ..self }
    }

    fn new(inputs: Inputs, reading: Options) -> Result<Project, Failure> {
        let Inputs { mut config, config_source, configured, path, source, language, imported, settings } = inputs;
        let board = match &config_source {
            Some((path, text)) => ChosenBoard::find(&config.board, path, text)?,
            None => ChosenBoard::default(),
        };
        if let (true, Some((_, text))) = (config.pus_by_board, &config_source) {
            config.machine = board.fill(&config.spec, config.build.microcode, text)?;
            config.spec.pus = Some(config.machine.pus());
        }
        if let Some((_, text)) = &config_source {
            config.spec.output_words = board.output_words(&config.spec, &config.machine);
            config.machine =
                Machine::try_from(config.spec.clone()).expect("any number that divides the rows is possible");
            board.takes_output(&config.machine, text)?;
        }
        if let Some(entry) = &reading.entry
            && !matches!(language, Language::TensorComprehensions | Language::Tile)
        {
            let name = language.name();
            return Err(Failure::Usage(format!("--entry {entry}: programs in {name} have no functions")));
        }
        let (stays_asked, records_asked, target_grid) = (FunctionOptions::default(), None, None);
        Ok(Project {
            config,
            board,
            config_source,
            configured,
            path,
            source,
            language,
            imported,
            settings,
            reading,
            trained: None,
            stays_asked,
            records_asked,
            segments_asked: false,
            core_asked: None,
            target_grid,
            divided: None,
            calibrate: None,
            disabled: Disabled::NOTHING,
        })
    }

    /// The same as a model was trained: with its `[train]` table, and where no configuration is named with its machine and numbers; keys
    /// of `machine` are stronger.
    ///
    /// # Errors
    /// With these keys, the machine is impossible.
    pub fn as_trained(self, recipe: &Recipe, machine: &[(String, String)]) -> Result<Project, Failure> {
        let config = if self.config_source.is_some() {
            self.config
        } else {
            let impossible = |why| Failure::Usage(format!("the configuration of the model is impossible: {why}"));
            recipe.config().map_err(impossible)?.with_machine(machine, None)?
        };
        Ok(Project { config, trained: Some(Box::new(recipe.train.clone())), ..self })
    }

    /// What a model that is trained here keeps of it.
    pub(crate) fn recipe(&self, train: &Settings) -> Recipe {
        let (machine, numbers) = (self.spec_of_numbers().of_programs(), self.config.numbers.clone());
        Recipe { train: train.clone(), machine, numbers }
    }

    /// The machine as it is specified: what is left out is fitted to the programs. An existing grid leaves nothing out.
    pub fn spec(&self) -> MachineSpec {
        self.target_grid.clone().map_or_else(|| self.config.spec.clone(), MachineSpec::from)
    }

    /// The room on its board, if it has one.
    fn room(&self) -> Option<Room> {
        self.board.facts().map(|facts| Room::new(facts, self.config.build.microcode))
    }

    /// What images are made for.
    pub fn fit_request(&self) -> FitRequest<'static> {
        let (spec, board, disabled) = (self.spec(), self.room(), self.disabled);
        FitRequest { spec, board, disabled, machines: None, input: None }
    }

    /// What words look like, and what the user decided about them.
    pub fn numbers(&self) -> Numbers {
        let machine = Machine::try_from(self.spec_of_numbers()).unwrap_or_else(|_| self.config.machine.clone());
        // Left out, the program decides whether its grid has them, and how large the table memory is.
        let spec = self.spec();
        let squares = spec.squares.unwrap_or(true);
        let numbers = self.config.numbers(&machine);
        let (first, most) = match (self.config.spec.table_entries, &self.target_grid) {
            (Some(_), _) => (numbers.table_entries, numbers.table_entries),
            // As they were chosen for this grid.
            (None, Some(_)) => {
                (numbers.table_entries.min(Numbers::of_width(numbers.word).table_entries), numbers.table_entries)
            }
            (None, None) => (numbers.table_entries, 2 * numbers.table_entries),
        };
        Numbers {
            squares,
            table_entries: first,
            most_table_entries: most,
            spares_steps: self.room().is_none(),
            rounding: self.training().ok().flatten().map_or_else(Rounding::default, |training| training.rounding),
            disabled: self.disabled,
            ..numbers
        }
    }

    /// The machine that decides numbers. Binary points are chosen before a machine is fitted, so they do not depend on the accumulators
    /// of an existing grid: those were fitted to programs with these binary points.
    fn spec_of_numbers(&self) -> MachineSpec {
        MachineSpec { accumulator: self.config.spec.accumulator, ..self.spec() }
    }

    /// Make programs for an existing grid, which the configuration must describe.
    ///
    /// # Errors
    /// It is another grid.
    pub fn adopt(&mut self, board: &serial::AttachedBoard) -> Result<(), Failure> {
        board.check_config(&self.config, self.config_source.as_ref())?;
        self.target_grid = Some(board.machine().clone());
        Ok(())
    }

    /// Let the program decide all depths that it can decide, whatever the configuration says of them.
    pub fn fit_memories(&mut self) {
        let MachineSpec { model_depth, data_depth, temporary_depth, gradient_depth, program_depth, .. } =
            &mut self.config.spec;
        for depth in [model_depth, data_depth, temporary_depth, gradient_depth, program_depth] {
            *depth = None;
        }
    }

    /// Read the program; `defaults` are constants that the user may override.
    ///
    /// # Errors
    /// Everything that is wrong with it.
    pub fn parse(&self, defaults: &[(String, f64)], progress: &dyn Progress) -> Result<Program, Failure> {
        let (program, warnings) = self.parse_quietly(defaults)?;
        progress.warnings(&self.source, &warnings);
        Ok(program)
    }

    /// As [`Project::parse`], with the warnings for the caller.
    ///
    /// # Errors
    /// Everything that is wrong with it.
    pub fn parse_quietly(&self, defaults: &[(String, f64)]) -> Result<(Program, Vec<arch::Diagnostic>), Failure> {
        self.is_program()?;
        let options = Options { training: self.training()?, ..self.options(defaults) };
        self.read(&options, None)
    }

    /// The program and its warnings, read with these options; `record` has the host's values, which decide sizes in some languages.
    ///
    /// # Errors
    /// Everything that is wrong with it.
    pub fn read(&self, options: &Options, record: Option<&Value>) -> Result<(Program, Vec<arch::Diagnostic>), Failure> {
        let parsed = match &self.imported {
            Some(imported) => imported.parse(options, record),
            None => language::parse(self.language, &self.source.text, options),
        };
        match parsed {
            Ok(parsed) => Ok(parsed),
            Err(wrong) => Err(self.without_effect(&wrong).unwrap_or_else(|| Failure::about(&self.source, wrong))),
        }
    }

    /// A key of a table that does nothing in the program, such as a constant that it does not have, where it stands.
    fn without_effect(&self, wrong: &[arch::Diagnostic]) -> Option<Failure> {
        let typed = |name: &String| self.reading.set.iter().any(|(typed, _)| typed == name);
        let config = self.config_source.as_ref().map(|(_, source)| source);
        wrong.iter().filter_map(|wrong| Some((wrong, wrong.setting.as_ref().filter(|name| !typed(name))?))).find_map(
            |(wrong, name)| {
                let place = |table: &str| {
                    let (source, path) = match table {
                        "train" => (self.settings.as_ref()?, vec!["train", name]),
                        "sizes" => (self.settings.as_ref()?, vec!["train", "sizes", name]),
                        _ => (config?, vec!["build", "set", name]),
                    };
                    Some((source, key_span(&source.text, &path)?))
                };
                let (source, span) = ["train", "sizes", "set"].into_iter().find_map(place)?;
                let message = match wrong.code {
                    arch::Code::Config => wrong.message.clone(),
                    _ => format!("`{name}` has no effect: the program has no such constant"),
                };
                let diagnostic = arch::Diagnostic::new(arch::Code::Config, span, message);
                Some(Failure::about(source, vec![arch::Diagnostic { help: wrong.help.clone(), ..diagnostic }]))
            },
        )
    }

    /// Refuse a program that would take too long to compile.
    ///
    /// # Errors
    /// It has more statements or operations than the limits allow.
    pub fn check_size(&self, program: &Program) -> Result<(), Failure> {
        self.reading.limits.check(program).map_err(|diagnostics| Failure::about(&self.source, diagnostics))
    }

    /// The file of a model that was imported.
    pub fn imported(&self) -> Option<&Imported> {
        self.imported.as_ref()
    }

    /// How the program is read; `defaults` are constants that the user may override.
    pub fn options(&self, defaults: &[(String, f64)]) -> Options {
        Options { set: self.constants(defaults), ..self.reading.clone() }
    }

    /// What the `[train]` table says about gradients, if there is one.
    fn training(&self) -> Result<Option<Training>, Failure> {
        if let Some(settings) = &self.trained {
            return Ok(Some(settings.training()));
        }
        let Some(source) = &self.settings else { return Ok(None) };
        Ok(settings::train_table(source)?.map(|settings| settings.training()))
    }

    /// Whether the program has weights, or a `[train]` table names some.
    ///
    /// # Errors
    /// The table is wrong.
    pub fn trains(&self) -> Result<bool, Failure> {
        let named = self.training()?.is_some_and(|training| training.objective.is_some());
        Ok(named || self.language == Language::Tabla)
    }

    /// What training needs and the program leaves open.
    ///
    /// # Errors
    /// The program has no weights, or the file beside it is missing or wrong.
    pub fn settings(&self) -> Result<Settings, Failure> {
        if !self.trains()? {
            let (file, language) = (&self.source.name, self.language.name());
            let message =
                format!("{file} has no model to train: programs in {language} keep no values from step to step");
            let help = "; `eval`, `build` and `sim` run functions; `weights` and `loss` in a [train] table beside it train one";
            return Err(Failure::Usage(message + help));
        }
        match &self.trained {
            Some(settings) => Ok((**settings).clone()),
            None => settings::read(&self.path, self.settings.as_ref()),
        }
    }

    /// Refuse wrong tables beside the program, if there are any.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn check_settings(&self) -> Result<(), Failure> {
        match &self.settings {
            Some(source) => settings::train_table(source).map(drop),
            None => Ok(()),
        }
    }

    /// Refuse a file that is not a program but text with variables.
    ///
    /// # Errors
    /// It is one.
    pub fn is_program(&self) -> Result<(), Failure> {
        if self.language == Language::Preprocessor {
            let file = &self.source.name;
            return Err(Failure::Usage(format!("{file} has definitions and text, but no program; `eval` expands it")));
        }
        Ok(())
    }

    /// The constants of the program; `derived` are those that its `[train]` table takes from the data.
    pub fn constants(&self, derived: &[(String, f64)]) -> Vec<(String, f64)> {
        plan::constants(&self.config.build, derived, &self.reading.set)
    }

    /// The `[train]` table, and how a training goes.
    ///
    /// # Errors
    /// As [`Project::settings`].
    pub fn plan(&self, asked: &Choices) -> Result<(Settings, Plan), Failure> {
        let settings = self.settings()?;
        self.check_rounding(settings.rounding)?;
        let plan = Plan::decide(asked, &settings, &self.config.build);
        Ok((settings, plan))
    }

    /// Refuse a master that has no more bits than a word, or more than its two words hold, and dithers in words that do not hold the generator.
    fn check_rounding(&self, rounding: Rounding) -> Result<(), Failure> {
        let word = self.numbers().word;
        let Some(source) = &self.settings else { return Ok(()) };
        let bits = word as usize + 1..=most_bits(word) as usize;
        let (key, message) = match rounding {
            Rounding::Nearest { master } if master != 0 && !bits.contains(&master) => {
                let (least, most) = bits.into_inner();
                ("master", format!("`master` must lie between {least} and {most}: words have {word} bits"))
            }
            Rounding::Stochastic if word < LEAST_WORD => {
                ("rounding", format!("stochastic rounding needs words of at least {LEAST_WORD} bits"))
            }
            _ => return Ok(()),
        };
        let span = value_span(&source.text, &["train", key]).unwrap_or_default();
        Err(Failure::about(source, vec![arch::Diagnostic::new(arch::Code::Config, span, message)]))
    }

    /// Name of the program without folder and extension.
    pub fn name(&self) -> String {
        self.path.file_stem().map_or("program".to_owned(), |name| name.to_string_lossy().into_owned())
    }

    /// A path of the config, as seen from the working directory.
    pub fn beside_config(&self, path: Option<&PathBuf>) -> Option<PathBuf> {
        beside(self.config_source.as_ref(), path)
    }
}

fn beside(config: Option<&(PathBuf, Source)>, path: Option<&PathBuf>) -> Option<PathBuf> {
    let folder = config.and_then(|(config, _)| config.parent()).unwrap_or(Path::new(""));
    path.map(|path| folder.join(path))
}

/// What a project is made of, read.
struct Inputs {
    config: Config,
    config_source: Option<(PathBuf, Source)>,
    configured: bool,
    path: PathBuf,
    source: Source,
    language: Language,
    imported: Option<Imported>,
    settings: Option<Source>,
}
