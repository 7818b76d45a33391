//! Projects in memory: text or a model, with settings and a configuration that may be text, too.

use super::{Inputs, Project, Request, configuration, configuration_of_text, library};
use crate::failure::{Failure, Source};
use crate::imported::Imported;
use compiler::language::Language;
use std::path::PathBuf;

/// What of a project is in memory.
#[derive(Debug, Clone, Copy, Default)]
pub struct Texts<'a> {
    /// The program.
    pub program: &'a str,
    /// The TOML with its `[train]` and `[function]` tables.
    pub settings: Option<&'a str>,
    /// The configuration.
    pub config: Option<&'a str>,
}

impl Project {
    /// A program in memory, called `name`, whose extension says its language; `settings` is the TOML with its `[train]` and `[function]` tables.
    ///
    /// # Errors
    /// The config is wrong; the name's extension is no language's.
    pub fn in_memory(name: &str, text: &str, settings: Option<&str>, config: Option<&str>) -> Result<Project, Failure> {
        let request = Request { program: Some(name.into()), ..Request::default() };
        Project::of_texts(&request, &Texts { program: text, settings, config })
    }

    /// A program in memory; the request names it, says how it is read, and names the configuration if that is not in memory.
    ///
    /// # Errors
    /// As [`Project::in_memory`]; a configuration that is named cannot be read.
    pub fn of_texts(request: &Request, texts: &Texts<'_>) -> Result<Project, Failure> {
        let path = request.program.clone().unwrap_or_else(|| PathBuf::from("program.t"));
        let language = library::language_of(&path, request.language)?;
        if !language.is_text() {
            return Err(Failure::data(path.display().to_string(), vec![compiler::language::not_text(language)]));
        }
        let source = Source { name: path.display().to_string(), text: texts.program.to_owned() };
        Project::of_memory(request, texts, path, language, (None, source))
    }

    /// An ONNX or `TFLite` model in memory; the text of the program in `texts` is not used.
    ///
    /// # Errors
    /// As [`Project::of_texts`]; the bytes are no model.
    pub fn of_model(request: &Request, texts: &Texts<'_>, bytes: Vec<u8>) -> Result<Project, Failure> {
        let path = request.program.clone().unwrap_or_else(|| PathBuf::from("model.onnx"));
        let language = library::language_of(&path, request.language)?;
        let (imported, source) = Imported::of_bytes(&path, bytes)?;
        Project::of_memory(request, texts, path, language, (Some(imported), source))
    }

    fn of_memory(
        request: &Request,
        texts: &Texts<'_>,
        path: PathBuf,
        language: Language,
        (imported, source): (Option<Imported>, Source),
    ) -> Result<Project, Failure> {
        let settings_path = path.with_extension("toml");
        let (config, config_source) = match texts.config {
            None => configuration(request.config.as_deref(), &request.machine)?,
            Some(text) => configuration_of_text(text, &request.machine)?,
        };
        let inputs = Inputs {
            config,
            config_source,
            configured: texts.config.is_some() || request.config.is_none(),
            language,
            imported,
            settings: texts
                .settings
                .map(|text| Source { name: settings_path.display().to_string(), text: text.to_owned() }),
            source,
            path,
        };
        let project = Project::new(inputs, request.reading.clone())?;
        Ok(project.asked(request))
    }
}
