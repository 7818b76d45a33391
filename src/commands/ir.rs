//! `ir`: the program after a pass or a stage, as text; or one pass on a text.

use crate::arguments::{Global, Ir, PlanOptions};
use crate::output::{self, Talk};
use crate::subject;
use compiler::canonical::{Batch, Keep, Options};
use compiler::ir::{Settings, passes};
use sim::eval::with_shapes_of;
use std::path::Path;
use workbench::functions::is_function;
use workbench::ir::{Given, known, names, text_after};
use workbench::{Choices, Failure, Records, Source, project, reading};

/// Print what is asked for. A text is printed as it is in either format.
pub fn run(global: &Global, options: &Ir, talk: &Talk) -> Result<(), Failure> {
    let Some(name) = &options.after else {
        let lines = names().into_iter().map(|(name, does)| format!("{name:24} {does}\n"));
        return output::result(&lines.collect::<String>());
    };
    if let Some(path) = &options.pass_input {
        return output::result(&on_text(global, options, name, path)?);
    }
    let target = &options.target;
    let project = subject::target(global, target)?;
    let data = subject::data(target);
    let text = if let Some(path) = &options.evaluate {
        subject::no_training(&target.plan, &target.file, target.columns.as_deref(), target.missing)?;
        let records = Records::open(path)?;
        let inputs = records.one()?;
        let (program, _) = project.read(&with_shapes_of(inputs, project.options(&[])), Some(inputs))?;
        let program = project.with_stays(program)?;
        text_after(&project, Given::Evaluation(&program, inputs), name, talk)?
    } else if is_function(&project, target.data.is_some(), target.inputs.is_some())? {
        subject::no_training(&target.plan, &target.file, target.columns.as_deref(), target.missing)?;
        let records = subject::records(target.inputs.as_deref())?;
        text_after(&project, Given::Function(records.as_ref()), name, talk)?
    } else {
        subject::no_records(target)?;
        project.refuse_stays()?;
        text_after(&project, Given::Training(&data, &target.plan.choices), name, talk)?
    };
    output::result(&text)
}

/// One pass on the text of a file. Tensors whose values decide something are taken to be between -1 and 1.
fn on_text(global: &Global, options: &Ir, name: &str, path: &Path) -> Result<String, Failure> {
    let passes = passes();
    known(name, passes.iter().map(|pass| pass.name))?;
    let text = reading::text_or_stdin(path, reading::DOCUMENT)?;
    let (config, _) = project::configuration(global.config.as_deref(), &global.machine)?;
    let target = &options.target;
    subject::no_training(&PlanOptions::default(), &target.file, target.columns.as_deref(), target.missing)?;
    if let Some(option) = target.plan.given(&["batch", "reduction"]).first() {
        return Err(Failure::Usage(format!("{option} has no effect: one pass on a text trains nothing")));
    }
    let Choices { batch, reduction, .. } = target.plan.choices;
    let batch = Batch { size: batch.unwrap_or(1), reduction: reduction.unwrap_or_default() };
    let settings = Settings {
        options: Options { keep: Keep::AllNames, batch },
        numbers: config.numbers(&config.machine),
        magnitudes: (Vec::new(), 1.0),
        machine: config.machine.clone(),
    };
    let pass = passes.iter().find(|pass| pass.name == name).expect("it is known");
    let source = Source { name: path.display().to_string(), text };
    pass.run(&source.text, &settings).map_err(|diagnostics| Failure::about(&source, diagnostics))
}
