//! `train`: stream a data set through an engine, with the golden model beside it.

use crate::arguments::{EngineName, Format, Global, Train};
use crate::engines::{self, Programs};
use crate::failure::Failure;
use crate::images;
use crate::interrupt;
use crate::model_file::{self, ModelFile};
use crate::output::{self, Talk};
use crate::project::Project;
use crate::render;
use crate::samples::{self, Choice, Samples};
use crate::settings;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use serde_json::{Value, json};
use sim::train::engine::{Comparison, Engine, EngineError, Model};
use sim::train::metrics::Metrics;
use sim::train::settings::Settings;
use sim::train::{Engines, Schedule, Trained, initial_model, predict, train};
use std::collections::BTreeMap;

/// What one engine achieved.
struct Achieved {
    trained: Trained,
    train: Metrics,
    test: Option<Metrics>,
}

/// Train, compare, print.
pub fn run(global: &Global, options: &Train, talk: &Talk) -> Result<(), Failure> {
    if options.stalls.is_some() && !matches!(options.engine, EngineName::Array | EngineName::Rtl) {
        return Err(Failure::Usage("--stalls needs an engine with streams: array or rtl".to_owned()));
    }
    let project = Project::open(global, options.program.as_deref())?;
    let (settings, _) = settings::read(&project.path)?;
    let settings = with_options(settings, options);
    let loaded = options.load.as_deref().map(|path| ModelFile::load(path).map(|file| (path, file))).transpose()?;
    let choice = Choice {
        data: &options.data,
        target: options.target.as_deref(),
        split: options.split,
        seed: options.seed,
        limit: options.limit,
        saved: loaded.as_ref().map(|(_, file)| &file.encoding),
    };
    let samples = Samples::read(&project, settings, choice, talk)?;
    let schedule = samples.schedule(options.seed)?;
    if let Some(left) = samples.left_over(&schedule) {
        talk.say(left);
    }
    let set = constants(&project, &samples);
    let hash = model_file::program_hash(&project.source.text, &set);
    let start = match loaded {
        None => initial_model(&samples.signature, samples.settings.weights, options.seed),
        Some((path, file)) => {
            file.check(path, &hash, &samples.signature.model)?;
            file.model
        }
    };
    let _cooperative = interrupt::Cooperative::begin();
    let programs = Programs::new(&project, &samples, &schedule)?;
    let mut golden = engines::golden(&programs, &samples.signature);
    let reals = achieve("golden", &mut golden, &samples, &schedule, &start, &programs, talk)?;
    let ranges = programs.ranges(&golden);
    let mut results = vec![("golden", reals)];
    let mut comparison = None;
    let mut saturations = BTreeMap::new();
    if options.engine != EngineName::Golden {
        engines::check_bounded(&project, &results[0].1.trained.model)?;
        let name = options.engine.as_str();
        let mut lower = engines::lower(options.engine, &project, &programs, &samples, &ranges, options.stalls, talk)?;
        results.push((name, achieve(name, &mut lower, &samples, &schedule, &start, &programs, talk)?));
        comparison = sim::train::comparison(&lower);
        saturations = images::by_line(&project, &lower.full.saturations());
    }
    let (engine, last) = &results[results.len() - 1];
    if let Some(path) = &options.save {
        let file = ModelFile {
            format_version: model_file::VERSION,
            program: project.name(),
            program_hash: hash,
            engine: (*engine).to_owned(),
            set,
            loss: samples.settings.loss,
            encoding: samples.encoding.clone(),
            ranges,
            model: last.trained.model.clone(),
        };
        file.save(path)?;
        talk.say(format!("wrote {}", path.display()));
    }
    let differs = comparison.as_ref().filter(|comparison| !comparison.agrees());
    let differs = differs.map(|comparison| Failure::Mismatch(mismatch(engine, comparison)));
    match global.format {
        Format::Json => {
            let mut document = document(&results, comparison.as_ref(), &project);
            let line = |(line, results): (&usize, &u64)| json!({ "line": line, "results": results });
            document["saturations"] = saturations.iter().map(line).collect();
            if let Some(failure) = &differs {
                render::add_mismatch(&mut document, failure);
            }
            output::json(&document)?;
        }
        Format::Text => {
            let mut text = table(&results, comparison.as_ref(), &project, &samples);
            for (line, results) in &saturations {
                text.push_str(&format!("line {line}: {results} results were clipped to the word\n"));
            }
            output::result(&text)?;
        }
    }
    differs.map_or(Ok(()), Err)
}

fn mismatch(engine: &str, comparison: &Comparison) -> String {
    let first = comparison.first.as_deref().unwrap_or("");
    let Comparison { words, differing, cycle_counts_differing, .. } = comparison;
    format!(
        "{engine} differs from what stands above it in the ladder: {differing} of {words} words, {cycle_counts_differing} cycle counts; first: {first}"
    )
}

fn with_options(mut settings: Settings, options: &Train) -> Settings {
    settings.epochs = options.epochs.unwrap_or(settings.epochs);
    settings.batch = options.batch.unwrap_or(settings.batch);
    settings.shuffle |= options.shuffle;
    settings
}

/// The constants that make the program what it is: from the data, then from the user.
fn constants(project: &Project, samples: &Samples) -> BTreeMap<String, f64> {
    let mut set: BTreeMap<String, f64> = samples::defaults(&samples.settings, &samples.encoding).into_iter().collect();
    set.extend(project.settings_of_the_user());
    set
}

/// Train on one engine and judge the result.
fn achieve(
    name: &str,
    engines: &mut Engines,
    samples: &Samples,
    schedule: &Schedule,
    start: &Model,
    programs: &Programs,
    talk: &Talk,
) -> Result<Achieved, Failure> {
    let bar = ProgressBar::with_draw_target(Some(schedule.epochs as u64), ProgressDrawTarget::stderr());
    if !talk.shows_progress() {
        bar.set_draw_target(ProgressDrawTarget::hidden());
    }
    if let Ok(style) = ProgressStyle::with_template("{prefix:>8} {bar:32} epoch {pos}/{len}  {msg}  {eta}") {
        bar.set_style(style);
    }
    bar.set_prefix(name.to_owned());
    // The progress shows the loss of some training samples, in real numbers, whatever trains.
    let mut observer = programs.observer(&samples.signature);
    let shown = &samples.train[..samples.train.len().min(256)];
    let trained = train(engines, &samples.train, schedule, start, &mut |epoch, model| {
        if interrupt::requested() {
            return Err(EngineError::Interrupted);
        }
        if talk.shows_progress() || talk.says_details() {
            let loss = samples.judge(&predict(observer.as_mut(), model, shown)?, shown).loss;
            bar.set_message(format!("loss {loss:.5}"));
            if !talk.shows_progress() {
                talk.detail(format!("{name}: epoch {} of {}, loss {loss:.5}", epoch + 1, schedule.epochs));
            }
        }
        bar.inc(1);
        Ok(())
    });
    bar.finish_and_clear();
    let trained = trained?;
    let mut judge = |steps: &[sim::train::engine::Step]| -> Result<Metrics, Failure> {
        let engine: &mut dyn Engine = engines.predict.as_mut();
        Ok(samples.judge(&predict(engine, &trained.model, steps)?, steps))
    };
    let train = judge(&samples.train)?;
    let test = if samples.test.is_empty() { None } else { Some(judge(&samples.test)?) };
    Ok(Achieved { trained, train, test })
}

fn document(results: &[(&str, Achieved)], comparison: Option<&Comparison>, project: &Project) -> Value {
    let part = |metrics: &dyn Fn(&Achieved) -> Option<Metrics>| {
        let each = results.iter().map(|(name, result)| ((*name).to_owned(), json!(metrics(result))));
        Value::Object(each.collect())
    };
    let trained = &results[results.len() - 1].1.trained;
    let per_sample = trained.cycles.map(|cycles| cycles as f64 / trained.samples.max(1) as f64);
    let seconds = trained.cycles.map(|cycles| seconds(cycles, project));
    json!({
        "schema_version": 1,
        "train": part(&|result| Some(result.train)),
        "test": part(&|result| result.test),
        "samples": trained.samples,
        "cycles_per_sample": per_sample,
        "cycles": trained.cycles,
        "clock_mhz": project.board.clock_mhz,
        "seconds": seconds,
        "saturated": trained.saturated,
        "compared_with": comparison.map(|c| c.with.as_str()),
        "words_compared": comparison.map(|c| c.words),
        "words_differing": comparison.map(|c| c.differing),
        "cycle_counts_differing": comparison.map(|c| c.cycle_counts_differing),
    })
}

fn seconds(cycles: u64, project: &Project) -> f64 {
    cycles as f64 / (project.board.clock_mhz * 1e6)
}

fn table(
    results: &[(&str, Achieved)],
    comparison: Option<&Comparison>,
    project: &Project,
    samples: &Samples,
) -> String {
    let (score, _) = score(&results[0].1.train);
    let mut text = format!(
        "{} on {} training and {} test samples, {} epochs, batch {}\n\n",
        project.path.display(),
        samples.train.len(),
        samples.test.len(),
        samples.settings.epochs,
        samples.settings.batch
    );
    text.push_str(&format!(
        "{:8} {:>12} {:>12} {:>12} {:>12}\n",
        "",
        "train loss",
        "test loss",
        score_head("train", score),
        score_head("test", score)
    ));
    for (name, result) in results {
        let test = result.test.as_ref();
        let number = |value: Option<f64>| value.map_or("-".to_owned(), |value| format!("{value:.5}"));
        let show = |metrics: Option<&Metrics>| metrics.map_or("-".to_owned(), |metrics| self::score(metrics).1);
        text.push_str(&format!(
            "{name:8} {:>12} {:>12} {:>12} {:>12}\n",
            number(Some(result.train.loss)),
            number(test.map(|test| test.loss)),
            show(Some(&result.train)),
            show(test)
        ));
    }
    let trained = &results[results.len() - 1].1.trained;
    if let Some(cycles) = trained.cycles {
        let clock = project.board.clock_mhz;
        text.push_str(&format!(
            "\n{:.2} cycles per sample, {cycles} cycles in all, {} at {clock} MHz\n",
            cycles as f64 / trained.samples.max(1) as f64,
            time(seconds(cycles, project)),
        ));
    }
    if let Some(comparison) = comparison {
        text.push_str(&format!(
            "{} words compared with {}, {} differ; {} cycle counts differ\n",
            comparison.words, comparison.with, comparison.differing, comparison.cycle_counts_differing
        ));
    }
    text
}

fn score_head(part: &str, score: &str) -> String {
    format!("{part} {score}")
}

fn score(metrics: &Metrics) -> (&'static str, String) {
    match (metrics.accuracy, metrics.r2) {
        (Some(accuracy), _) => ("accuracy", format!("{:.2} %", 100.0 * accuracy)),
        (None, r2) => ("R2", r2.map_or("-".to_owned(), |r2| format!("{r2:.4}"))),
    }
}

fn time(seconds: f64) -> String {
    match seconds {
        s if s >= 1.0 => format!("{s:.2} s"),
        s if s >= 1e-3 => format!("{:.2} ms", s * 1e3),
        s => format!("{:.2} us", s * 1e6),
    }
}
