//! Arguments, config and program put together.

use crate::arguments::{Dialect, Entry, Global, LimitName};
use crate::board::Board;
use crate::config::Config;
use crate::failure::{Failure, Source};
use crate::library;
use crate::output::Talk;
use crate::render;
use crate::settings;
use compiler::language::{self, Language, Options};
use compiler::tensor::Program;
use sim::train::settings::Settings;
use std::path::{Path, PathBuf};

/// What a subcommand works on.
#[derive(Debug, Clone)]
pub struct Project {
    /// The configuration, or the default one.
    pub config: Config,
    /// Its board.
    pub board: Board,
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
    /// How it is read, but for constants.
    reading: Options,
    /// Constants the user has set, weakest first: config, command line.
    set: Vec<(String, f64)>,
}

/// The configuration that the arguments name, or the default one.
///
/// # Errors
/// It cannot be read, or is wrong.
pub fn config(global: &Global) -> Result<(Config, Option<(PathBuf, Source)>), Failure> {
    let Some(name) = &global.config else { return Ok((Config::default(), None)) };
    let path = library::find_config(name)?;
    let source = library::read(&path)?;
    let config = Config::parse(&source).map_err(|diagnostics| Failure::about(&source, diagnostics))?;
    Ok((config, Some((path, source))))
}

impl Project {
    /// Read config and program.
    ///
    /// # Errors
    /// A file cannot be read or the config is wrong; no program is named; its extension is not a language's.
    pub fn open(global: &Global, program: Option<&Path>) -> Result<Project, Failure> {
        let (mut config, config_source) = config(global)?;
        let own = beside(config_source.as_ref(), config.program.as_ref());
        let path = match (program, &own) {
            (Some(path), _) => path.to_owned(),
            (None, Some(path)) => path.clone(),
            (None, None) => {
                let hint = "name a program, or a config that does: tabla-gen --config tiny programs/logistic.t";
                return Err(Failure::Usage(hint.to_owned()));
            }
        };
        let extension = path.extension().and_then(|extension| extension.to_str()).unwrap_or("");
        let Some(language) = global.lang.map(Language::from).or_else(|| Language::of_extension(extension)) else {
            let known: Vec<String> =
                Language::ALL.iter().map(|l| format!(".{} ({})", l.extension(), l.name())).collect();
            let what = path.display();
            return Err(Failure::Usage(format!(
                "`{what}` is not a program: its name must end in {}",
                known.join(", ")
            )));
        };
        let source = library::read(&path)?;
        let board = match &config_source {
            Some((path, text)) => Board::find(&config.board, path, text)?,
            None => Board::default(),
        };
        if let (true, Some((_, text))) = (config.pus_by_board, &config_source) {
            config.machine = board.fill(&config.spec, config.build.microcode, text)?;
            config.spec.pus = Some(config.machine.pus());
        }
        let mut set: Vec<(String, f64)> = config.build.set.iter().map(|(name, &value)| (name.clone(), value)).collect();
        set.extend(global.set.iter().cloned());
        let reading = Options {
            seed_dialect: global.dialect == Dialect::Seed,
            rink_left: global.rink_left,
            gaussian: global.gaussian,
            ..Options::default()
        };
        let configured = own.is_some_and(|own| library::same(&own, &path));
        Ok(Project { config, board, config_source, configured, path, source, language, reading, set })
    }

    /// Read the program; `defaults` are constants that the user may override.
    ///
    /// # Errors
    /// Everything that is wrong with it.
    pub fn parse(&self, defaults: &[(String, f64)], talk: &Talk) -> Result<Program, Failure> {
        let (program, warnings) = self.parse_quietly(defaults)?;
        render::warnings(&self.source, &warnings, talk);
        Ok(program)
    }

    /// As [`Project::parse`], with the warnings for the caller.
    ///
    /// # Errors
    /// Everything that is wrong with it.
    pub fn parse_quietly(&self, defaults: &[(String, f64)]) -> Result<(Program, Vec<arch::Diagnostic>), Failure> {
        self.is_program()?;
        language::parse(self.language, &self.source.text, &self.options(defaults))
            .map_err(|diagnostics| Failure::about(&self.source, diagnostics))
    }

    /// How the program is read; `defaults` are constants that the user may override.
    pub fn options(&self, defaults: &[(String, f64)]) -> Options {
        let mut set: Vec<(String, f64)> = Vec::new();
        for (name, value) in defaults.iter().chain(&self.set) {
            set.retain(|(known, _)| known != name);
            set.push((name.clone(), *value));
        }
        Options { set, ..self.reading.clone() }
    }

    /// Read a function of the program, with other limits.
    ///
    /// # Errors
    /// The language has no functions.
    pub fn enter(&mut self, options: &Entry) -> Result<(), Failure> {
        if let Some(entry) = &options.entry
            && !matches!(self.language, Language::TensorComprehensions | Language::Tile)
        {
            let name = self.language.name();
            return Err(Failure::Usage(format!("--entry {entry}: programs in {name} have no functions")));
        }
        self.reading.entry.clone_from(&options.entry);
        for &(name, value) in &options.limit {
            let limits = &mut self.reading.limits;
            let small = usize::try_from(value).unwrap_or(usize::MAX);
            match name {
                LimitName::Depth => limits.depth = small,
                LimitName::Rank => limits.rank = small,
                LimitName::Elements => limits.elements = value,
                LimitName::ElementsInAll => limits.elements_in_all = value,
                LimitName::Points => limits.points = value,
                LimitName::Errors => limits.errors = small,
            }
        }
        Ok(())
    }

    /// What training needs and the program does not say.
    ///
    /// # Errors
    /// The language has no model, or the file beside the program is missing or wrong.
    pub fn settings(&self) -> Result<Settings, Failure> {
        if self.language != Language::Tabla {
            let (file, language) = (&self.source.name, self.language.name());
            let message =
                format!("{file} has no model to train: programs in {language} keep no values from step to step");
            return Err(Failure::Usage(message + "; `eval`, `build` and `sim` run functions"));
        }
        Ok(settings::read(&self.path)?.0)
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

    /// The constants that config and command line set.
    pub fn settings_of_the_user(&self) -> impl Iterator<Item = (String, f64)> + '_ {
        self.set.iter().cloned()
    }

    /// Name of the program without folder and extension.
    pub fn name(&self) -> String {
        self.path.file_stem().map_or("program".to_owned(), |name| name.to_string_lossy().into_owned())
    }

    /// A path of the config, as seen from the working directory.
    pub fn beside_config(&self, path: Option<&PathBuf>) -> Option<PathBuf> {
        beside(self.config_source.as_ref(), path)
    }

    /// Where `build` writes.
    pub fn out_folder(&self, global: &Global) -> PathBuf {
        let default = || {
            let config = self.config_source.as_ref().and_then(|(path, _)| path.file_stem());
            let name = config.map_or_else(|| self.name(), |name| name.to_string_lossy().into_owned());
            Path::new("out").join(name)
        };
        global.out.clone().or_else(|| self.beside_config(self.config.build.out.as_ref())).unwrap_or_else(default)
    }
}

fn beside(config: Option<&(PathBuf, Source)>, path: Option<&PathBuf>) -> Option<PathBuf> {
    let folder = config.and_then(|(config, _)| config.parent()).unwrap_or(Path::new(""));
    path.map(|path| folder.join(path))
}
