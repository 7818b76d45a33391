//! The TOML file next to a program: what its training (`[train]`) or its use as a function (`[function]`) needs and it leaves open.

use crate::config::{from_toml, key_span, value_span};
use crate::failure::{Failure, Source};
use crate::resident::FunctionOptions;
use arch::{Code, Diagnostic};
use compiler::derived::losses::Loss;
use compiler::derived::training::Measure;
use schemars::JsonSchema;
use serde::Deserialize;
use sim::train::settings::Settings;
use std::path::Path;

/// The TOML beside a program.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ProgramFile {
    /// What training needs and the program does not say.
    train: Option<Settings>,
    /// What a function leaves open.
    #[serde(default)]
    function: FunctionOptions,
}

/// The `[train]` table of the TOML beside a program.
///
/// # Errors
/// The file is missing or wrong.
pub fn read(program: &Path, beside: Option<&Source>) -> Result<Settings, Failure> {
    let Some(source) = beside else {
        let message = format!(
            "{} is missing: training needs a [train] table that names the prediction and the loss; see programs/logistic.toml",
            program.with_extension("toml").display()
        );
        return Err(Failure::File(message));
    };
    train_table(source)?.ok_or_else(|| {
        let message = "there is no [train] table, which names the prediction and the loss";
        let help = "programs/logistic.toml is an example";
        Failure::about(source, vec![Diagnostic::global(Code::Config, message).with_help(help)])
    })
}

/// The `[train]` table, if there is one.
///
/// # Errors
/// The file is wrong.
pub fn train_table(source: &Source) -> Result<Option<Settings>, Failure> {
    parse(&source.text).map_err(|error| Failure::about(source, vec![error]))
}

/// The `[function]` table.
///
/// # Errors
/// The file is wrong.
pub fn function_table(source: &Source) -> Result<FunctionOptions, Failure> {
    let file = from_toml::<ProgramFile>(&source.text).map_err(|error| Failure::about(source, vec![error]))?;
    Ok(file.function)
}

fn parse(text: &str) -> Result<Option<Settings>, Diagnostic> {
    let file = from_toml::<ProgramFile>(text);
    let wrong = |key: &str, idle: bool, message: &str| {
        let span = if idle { key_span } else { value_span };
        Diagnostic::new(Code::Config, span(text, &["train", key]).unwrap_or_default(), message)
    };
    // What does not go together has no place of its own.
    if file.is_err()
        && let Ok(table) = text.parse::<toml::Table>()
        && let Some(found) = table.get("train").and_then(toml::Value::as_table).and_then(Settings::wrong_choice)
    {
        return Err(wrong(found.key, found.idle, &found.message));
    }
    let Some(settings) = file?.train else { return Ok(None) };
    if let Some((key, message)) = settings.impossible() {
        return Err(wrong(key, false, message));
    }
    if let Some((key, message)) = settings.without_effect() {
        return Err(wrong(key, true, &format!("`{key}` has no effect: {message}")));
    }
    // These losses compare the prediction with the number of a class, so they must know the classes.
    let (name, labels) = match settings.loss {
        Measure::Library(Loss::Logistic) => ("logistic", "{ 0 = 0, 1 = 1 }"),
        Measure::Library(Loss::Hinge) => ("hinge", "{ 0 = -1, 1 = 1 }"),
        _ => return Ok(Some(settings)),
    };
    if settings.labels.as_ref().is_some_and(|labels| !labels.is_empty()) {
        return Ok(Some(settings));
    }
    let span = value_span(text, &["train", "loss"]).unwrap_or_default();
    let message = format!("the loss `{name}` needs `labels`: what stands in the target column, and its number");
    Err(Diagnostic::new(Code::Config, span, message).with_help(format!("for example labels = {labels}")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::library;

    #[test]
    fn the_examples_of_the_manual_can_be_read() {
        let manual = include_str!("../../../docs/command-line.md");
        let mut examples = manual.split("```toml").skip(1).filter_map(|rest| rest.split("```").next());
        let function = examples.next().unwrap();
        assert!(from_toml::<ProgramFile>(function).unwrap().function.resident.is_some());
        for training in examples {
            assert!(parse(training).unwrap().is_some(), "{training}");
        }
    }

    #[test]
    fn a_loss_of_classes_needs_labels() {
        let text = |rest: &str| format!("[train]\nprediction = \"h\"\n{rest}\n");
        let error = parse(&text("loss = \"hinge\"")).unwrap_err();
        assert_eq!(error.code, Code::Config);
        assert_eq!(arch::diagnostic::line_column(&text("loss = \"hinge\""), error.span.unwrap().start), (3, 8));
        assert_eq!(error.help.as_deref(), Some("for example labels = { 0 = -1, 1 = 1 }"));
        assert!(parse(&text("loss = \"logistic\"\nlabels = {}")).is_err());
        assert!(parse(&text("loss = \"logistic\"\nlabels = { a = 0, b = 1 }")).is_ok());
        assert!(parse(&text("loss = \"squared\"")).is_ok());
    }

    #[test]
    fn impossible_values_are_refused_in_their_place() {
        for (wrong, column) in [
            ("batch = 0", 9),
            ("split = 1.5", 9),
            ("mu = inf", 6),
            ("labels = { a = 1, b = 1 }", 10),
            ("labels = { a = nan, b = 1 }", 10),
            ("weights = { uniform = nan }", 11),
            ("initial = { w = { uniform = nan } }", 11),
            ("validation = 1.0", 14),
            ("patience = 0", 12),
            ("optimiser = 'adamw'", 13),
            ("optimiser = 'adam'\nmomentum = 1.0", 12),
            ("optimiser = 'adam'\ndecay = -0.1", 9),
            ("optimiser = 'adam'\nepsilon = 0.0", 11),
            ("optimiser = 'adam'\nepsilon = 'small'", 11),
            ("batch = 'four'", 9),
            ("clip = 0.0", 8),
            ("clip_norm = -1.0", 13),
            ("weight_decay = inf", 16),
            ("schedule = 'step'\nschedule_factor = 0.0", 19),
            ("schedule = 'step'\nschedule_epochs = 0", 19),
            ("schedule = 'step'\nschedule_epochs = 1.5", 19),
            ("weights = { uniform = -1.0 }", 11),
            ("rounding = 'up'", 12),
            ("master = 1.5", 10),
            ("master = -1", 10),
        ] {
            let text = format!("[train]\nprediction = \"h\"\nloss = \"squared\"\n{wrong}\n");
            let error = parse(&text).expect_err(wrong);
            assert_eq!(error.code, Code::Config, "{wrong}");
            let line = 3 + wrong.lines().count();
            assert_eq!(arch::diagnostic::line_column(&text, error.span.unwrap().start), (line, column), "{wrong}");
        }
    }

    /// Each setting beside each case that does not have it: the key is named, where it stands, with the cases that have it.
    #[test]
    fn a_key_without_effect_is_refused_where_it_stands() {
        let mut idle = vec![
            ("first_class = 1".to_owned(), "first_class", "`cross_entropy`"),
            ("patience = 3".to_owned(), "patience", "`validation` is 0"),
            ("clip = 1.0\nclip_norm = 1.0".to_owned(), "clip_norm", "`clip`"),
            ("momentum = 0.9".to_owned(), "momentum", "`nesterov`"),
            ("schedule_factor = 0.5".to_owned(), "schedule_factor", "`inverse`"),
            ("rounding = 'stochastic'\nmaster = 20".to_owned(), "master", "`nearest`"),
        ];
        let optimisers = [
            ("sgd", &["momentum", "decay", "epsilon"][..]),
            ("momentum", &["decay", "epsilon"]),
            ("nesterov", &["decay", "epsilon"]),
            ("adagrad", &["momentum", "decay"]),
            ("rmsprop", &["momentum"]),
            ("adam", &[]),
            ("lion", &["epsilon"]),
        ];
        let schedules = [
            ("constant", &["schedule_factor", "schedule_epochs"][..]),
            ("step", &[]),
            ("cosine", &["schedule_factor", "schedule_epochs"]),
            ("inverse", &["schedule_epochs"]),
        ];
        for (tag, cases) in [("optimiser", &optimisers[..]), ("schedule", &schedules)] {
            for (case, keys) in cases {
                let idle_keys =
                    keys.iter().map(|key| (format!("{tag} = '{case}'\n{key} = 0.5"), *key, "is a setting of"));
                idle.extend(idle_keys.clone());
                // In whichever order.
                idle.extend(keys.iter().map(|key| (format!("{key} = 0.5\n{tag} = '{case}'"), *key, "is a setting of")));
            }
        }
        for (lines, key, says) in idle {
            let text = format!("[train]\nprediction = \"h\"\nloss = \"squared\"\n{lines}\n");
            let error = parse(&text).expect_err(&lines);
            assert!(error.code == Code::Config && error.message.contains(says), "{lines}: {}", error.message);
            let span = error.span.unwrap();
            assert_eq!(&text[span.start..span.end], key, "{lines}");
        }
        let scalar = parse("[train]\nprediction = \"h\"\nloss = \"e\"\nlabel = \"y\"\n").unwrap_err();
        assert!(scalar.message.contains("`label` has no effect"), "{}", scalar.message);
    }

    #[test]
    fn every_program_of_the_library_can_train() {
        for (path, _) in library::PROGRAMS
            .iter()
            .filter(|(path, _)| Path::new(path).extension().is_some_and(|extension| extension == "t"))
        {
            let table = library::read(&Path::new(path).with_extension("toml")).unwrap();
            read(Path::new(path), Some(&table)).unwrap_or_else(|failure| panic!("{path}: {failure:?}"));
        }
    }
}
