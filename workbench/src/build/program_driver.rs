//! A C driver of one program, or of its segments: arrays of real numbers in, arrays of real numbers out.
//!
//! ```text
//!            ┌─ driver/NAME_VERB.h      prototypes with the user's names, and shapes
//! Sequence ──┴─ driver/NAME_VERB.c      tables of it, and the code that walks them (program_driver/program.c)
//! ```
//!
//! `VERB` is `predict` for a function and for a trained model, `train` for a training. The board's part, where registers are and how the DMA is
//! started, is left to the user: `tabla_exchange` of the header of the core.

use super::layout::{Beats, Layout, Tensor};
use super::sequence::{Place, Run, Sequence};
use crate::writing::Files;
use arch::isa::LEVELS;
use arch::rtl::CoreName;
use compiler::rounding;
use std::collections::BTreeMap;
use std::fmt::Write;

const HEADER: &str = include_str!("program_driver/program.h");
const SOURCE: &str = include_str!("program_driver/program.c");

/// Words that no parameter can be called in C, beside those of Verilog: its own, and names of the template.
const TAKEN: [&str; 40] = [
    "auto",
    "char",
    "double",
    "extern",
    "float",
    "goto",
    "int",
    "long",
    "register",
    "restrict",
    "return",
    "short",
    "sizeof",
    "static",
    "struct",
    "switch",
    "typedef",
    "volatile",
    "inline",
    "bool",
    "class",
    "new",
    "delete",
    "this",
    "template",
    "private",
    "real",
    "given",
    "results",
    "values",
    "run",
    "give_model",
    "NULL",
    "LEVELS",
    "TENSORS",
    "STEPS",
    "RUNS",
    "WORDS_IN",
    "WORDS_OUT",
    "GIVES_MODEL",
];

/// Add both files.
pub(super) fn add(files: &mut Files, core: &CoreName, verb: &str, sequence: &Sequence<'_>) {
    let driver = Driver { core, verb, sequence, names: names(sequence.tensors) };
    let name = |extension: &str| core.text(&format!("driver/tabla_{verb}.{extension}"));
    files.add(name("h"), driver.header());
    files.add(name("c"), driver.source());
}

struct Driver<'a> {
    core: &'a CoreName,
    verb: &'a str,
    sequence: &'a Sequence<'a>,
    /// Of each tensor, as a parameter.
    names: Vec<String>,
}

/// Names of tensors as parameters in C: letters, digits and `_`, each but once.
fn names(tensors: &[Tensor]) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for tensor in tensors {
        let mut name: String = tensor.name.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect();
        if !name.starts_with(|c: char| c.is_ascii_alphabetic()) {
            name.insert(0, 'v');
        }
        while TAKEN.contains(&name.as_str()) || arch::rtl::keywords::is_reserved(&name) || names.contains(&name) {
            name.push('_');
        }
        names.push(name);
    }
    names
}

impl<'a> Driver<'a> {
    /// Beats of a run in the order of the template: the model, input and output of a step, and the model at the end.
    fn groups(&self, run: &Run<'a>) -> [&'a [Beats]; 4] {
        // Only a training changes its model.
        let model_out = if self.verb == "train" { run.model_out() } else { &[] };
        [run.model_in(), run.step_in(), run.step_out(), model_out]
    }

    /// Tensors of the model that the user gives.
    fn model(&self) -> Vec<usize> {
        self.sequence.tensors_of(|run| self.groups(run)[0])
    }

    /// Parameters of the run: given, and results of steps and of the model.
    fn run_parameters(&self) -> [Vec<usize>; 3] {
        [1, 2, 3].map(|group| self.sequence.tensors_of(|run| self.groups(run)[group]))
    }

    fn declared(&self, given: &[usize], results: &[usize]) -> String {
        let given = given.iter().map(|&n| format!("const TABLA_REAL *{}", self.names[n]));
        let results = results.iter().map(|&n| format!("TABLA_REAL *{}", self.names[n]));
        let all: Vec<String> = given.chain(results).collect();
        if all.is_empty() { "void".to_owned() } else { all.join(", ") }
    }

    fn shape(&self, n: usize) -> String {
        let extents = self.sequence.tensors[n].shape.iter();
        extents.fold(format!("   {}", self.names[n]), |text, extent| text + &format!("[{extent}]"))
    }

    /// A tensor of the model, and the first values of one that only the rounding of updates has.
    fn first(&self, n: usize) -> String {
        let first = match self.sequence.tensors[n].name.as_str() {
            rounding::GENERATOR => {
                format!("   first random, between -{0} and {0}; never all 0", rounding::GENERATOR_BOUND)
            }
            name if rounding::is_of_words(name) => "   first 0".to_owned(),
            _ => String::new(),
        };
        self.shape(n) + &first + "\n"
    }

    /// Prototype of the function that takes the model, if the user gives one.
    fn model_prototype(&self) -> Option<String> {
        let given = self.model();
        (!given.is_empty()).then(|| format!("uint32_t tabla_VERB_model({})", self.declared(&given, &[])))
    }

    fn run_prototype(&self) -> String {
        let [given, of_steps, of_model] = self.run_parameters();
        format!("uint32_t tabla_VERB({})", self.declared(&given, &[of_steps, of_model].concat()))
    }

    fn named(&self, text: &str) -> String {
        let upper = format!("TABLA_{}", self.verb.to_uppercase());
        self.core.text(&text.replace("TABLA_VERB", &upper).replace("VERB", self.verb))
    }

    fn header(&self) -> String {
        let [given, of_steps, of_model] = self.run_parameters();
        let call = |numbers: &[usize]| numbers.iter().map(|&n| self.names[n].as_str()).collect::<Vec<_>>().join(", ");
        let lines = |numbers: &[usize]| numbers.iter().map(|&n| self.shape(n) + "\n").collect::<String>();
        let mut example = String::new();
        let mut prototypes = String::new();
        if let Some(prototype) = self.model_prototype() {
            let model = self.model();
            let keeps = match self.sequence.runs.len() {
                1 => "the next run loads and the accelerator keeps",
                _ => "each run loads part by part: its words are kept here",
            };
            let _ = writeln!(example, "       tabla_VERB_model({});", call(&model));
            let _ = write!(
                prototypes,
                "/* Give the model, which {keeps}.\n{}*/\n{prototype};\n\n",
                model.iter().map(|&n| self.first(n)).collect::<String>()
            );
        }
        let results = [of_steps.clone(), of_model.clone()].concat();
        let _ = write!(example, "       cause = tabla_VERB({});", call(&[given.clone(), results].concat()));
        let shapes = lines(&given) + &lines(&of_steps) + &lines(&of_model);
        let null =
            if of_steps.is_empty() && of_model.is_empty() { "" } else { " A result that is not wanted is NULL." };
        let (one, steps) = match self.verb {
            "train" => ("of one batch", String::new()),
            _ => ("of TABLA_VERB_STEPS steps, one behind the other in each array", STEPS.to_owned()),
        };
        let _ = write!(prototypes, "/* One run, {one}.{null}\n{shapes}*/\n{};\n", self.run_prototype());
        let text = HEADER.replace("/*EXAMPLE*/", &example).replace("/*PROTOTYPES*/", &prototypes);
        self.named(&text.replace("/*STEPS*/\n", &steps).replace("/*MEMORY*/", &self.memory()))
    }

    /// What the host needs, for people.
    fn memory(&self) -> String {
        let Amounts { model_in, step_in, step_out, model_out } = self.amounts();
        let Sequence { kept_words, runs, .. } = self.sequence;
        let of_step = step_in + step_out + kept_words;
        let kept = match runs.len() {
            1 => String::new(),
            runs => format!(" ({kept_words} of them from program to program, of which there are {runs})"),
        };
        let model = model_in + model_out + self.model_words();
        format!("   Memory of the host, in words: {of_step} for each step{kept}, {model} for models, and constants.")
    }

    /// Words of the model that the host keeps.
    fn model_words(&self) -> u64 {
        let kept = (0..self.sequence.tensors.len()).filter(|&n| self.sequence.keeps_model(n));
        kept.map(|n| self.sequence.tensors[n].elements()).sum()
    }

    fn source(&self) -> String {
        let [given, of_steps, of_model] = self.run_parameters();
        let mut functions = String::new();
        let array = |kind: &str, numbers: &[usize], name: &str| {
            let mut text = format!("    {kind} {name}[TENSORS] = {{0}};\n\n");
            for &n in numbers {
                let _ = writeln!(text, "    {name}[{n}] = {};", self.names[n]);
            }
            text
        };
        if let Some(prototype) = self.model_prototype() {
            let model = self.model();
            let body = array("const real *", &model, "values");
            let _ = write!(functions, "{prototype}\n{{\n{body}    return give_model(values);\n}}\n\n");
        }
        let wanted: Vec<&str> = of_model.iter().map(|&n| self.names[n].as_str()).collect();
        let emit = match wanted[..] {
            [] => "0".to_owned(),
            _ => wanted.iter().map(|name| format!("{name} != NULL")).collect::<Vec<_>>().join(" || "),
        };
        let results = [of_steps, of_model].concat();
        let _ = write!(
            functions,
            "{}\n{{\n    real *results[TENSORS] = {{0}};\n{}{}    return run(given, results, {emit});\n}}\n",
            self.run_prototype(),
            array("const real *", &given, "given"),
            results.iter().fold(String::new(), |text, &n| text + &format!("    results[{n}] = {};\n", self.names[n])),
        );
        let tables = self.tables();
        let text = SOURCE
            .replace("/*TABLES*/\n", &tables)
            .replace("typedef TABLA_REAL real;\n", &format!("typedef TABLA_REAL real;\n\n#define LEVELS {LEVELS}\n"))
            .replace("/*FUNCTIONS*/\n", &functions);
        self.named(&text)
    }

    /// Microcode, tensors, what runs, and how much of all.
    fn tables(&self) -> String {
        let mut text = String::new();
        for (n, image) in self.sequence.images.iter().enumerate() {
            let _ = writeln!(text, "static const struct tabla_write microcode_{n}[] = {{");
            for (address, data) in image.control_writes() {
                let _ = writeln!(text, "    {{{address:#x}u, {data:#x}u}},");
            }
            text += "};\n\n";
        }
        text += "static const struct image images[] = {\n";
        for n in 0..self.sequence.images.len() {
            let _ = writeln!(text, "    {{microcode_{n}, sizeof microcode_{n} / sizeof *microcode_{n}}},");
        }
        text += "};\n\n";
        text + &self.constants() + &self.tensors() + &self.runs() + &self.sizes()
    }

    /// Words that tensors have before anything runs, and places behind binary points.
    fn constants(&self) -> String {
        let mut text = String::new();
        for (n, tensor) in self.sequence.tensors.iter().enumerate() {
            if !tensor.more_fraction_bits.is_empty() {
                let _ = write!(text, "static const int8_t more_{n}[] = {{{}}};\n\n", list(&tensor.more_fraction_bits));
            }
            if let Some(words) = &tensor.constant {
                let _ = write!(text, "static const tabla_word constant_{n}[] = {{{}}};\n\n", list(words));
            }
        }
        text
    }

    fn tensors(&self) -> String {
        let Sequence { tensors, kept, kept_words, .. } = self.sequence;
        let steps = if self.verb == "train" { "1u" } else { "(TABLA_VERB_STEPS + 0u)" };
        let mut text = format!("/* Steps of a run, each a batch. */\n#define STEPS {steps}\n");
        if *kept_words > 0 {
            let _ =
                writeln!(text, "/* What runs leave for later ones. */\nstatic tabla_word kept[STEPS * {kept_words}u];");
        }
        if self.model_words() > 0 {
            let _ = writeln!(text, "static tabla_word model[{}];", self.model_words());
        }
        text += "\nstatic const struct tensor tensors[] = {\n";
        let mut model_words = 0;
        for (n, tensor) in tensors.iter().enumerate() {
            let more = if tensor.more_fraction_bits.is_empty() { "NULL".to_owned() } else { format!("more_{n}") };
            let words = if tensor.constant.is_some() {
                format!("constant_{n}, NULL, 0")
            } else if let Some(at) = kept[n] {
                format!("kept + {at}, kept + {at}, {kept_words}u")
            } else if self.sequence.keeps_model(n) {
                let at = model_words;
                model_words += tensor.elements();
                format!("model + {at}, model + {at}, 0")
            } else {
                "NULL, NULL, 0".to_owned()
            };
            let _ =
                writeln!(text, "    {{{}u, (real)0x1p{}, {more}, {words}}},", tensor.elements(), tensor.fraction_bits);
        }
        let _ = write!(text, "}};\n#define TENSORS {}u\n\n", tensors.len());
        text
    }

    /// Words of the streams of the runs that have most.
    fn amounts(&self) -> Amounts {
        let words = |feeds: &[Beats], lanes: u32| {
            let beats = feeds.iter().map(|feed| feed.counts.iter().map(|&n| u64::from(n)).product::<u64>());
            beats.sum::<u64>() * u64::from(lanes)
        };
        let of = |run: &Run<'a>| {
            let Layout { stream_words, output_words, .. } = run.layout;
            let [model_in, step_in, step_out, model_out] = self.groups(run);
            Amounts {
                model_in: words(model_in, *stream_words),
                step_in: words(step_in, *stream_words),
                step_out: words(step_out, *output_words),
                model_out: words(model_out, *output_words),
            }
        };
        self.sequence.runs.iter().map(of).fold(Amounts::default(), |a, b| Amounts {
            model_in: a.model_in.max(b.model_in),
            step_in: a.step_in.max(b.step_in),
            step_out: a.step_out.max(b.step_out),
            model_out: a.model_out.max(b.model_out),
        })
    }

    /// How large the buffers are.
    fn sizes(&self) -> String {
        let Amounts { model_in, step_in, step_out, model_out } = self.amounts();
        // C has no empty arrays.
        let words = |of_model: u64, of_step: u64| match (of_model, of_step) {
            (0, 0) => "1u".to_owned(),
            _ => format!("({of_model}u + STEPS * {of_step}u)"),
        };
        format!(
            "/* Whether the user gives the model. */\n#define GIVES_MODEL {}\n#define WORDS_IN {}\n#define WORDS_OUT {}\n\n",
            u8::from(!self.model().is_empty()),
            words(model_in, step_in),
            words(model_out, step_out)
        )
    }

    /// What runs, its feeds, and their dimensions.
    fn runs(&self) -> String {
        let (mut runs, mut feeds, mut first_feed) = (String::new(), String::new(), 0);
        let mut dimensions = Dimensions::default();
        for run in &self.sequence.runs {
            let groups = self.groups(run);
            for feed in groups.into_iter().flatten() {
                let (place, extents) = run.place(feed);
                let first = dimensions.first(feed, place, extents);
                let (loops, count) = (list(&feed.counts), feed.index.len());
                let (tensor, element, lanes) = (place.tensor, place.first, feed.row_lanes);
                let _ = writeln!(feeds, "    {{{tensor}u, {element}u, {first}u, {count}u, {lanes}u, {{{loops}}}}},");
            }
            let counts = groups.map(|group| format!("{}u", group.len())).join(", ");
            let (image, tiles) = (run.image, run.layout.tiles);
            let _ = writeln!(runs, "    {{{image}u, {tiles}u, {first_feed}u, {counts}}},");
            first_feed += groups.iter().map(|group| group.len()).sum::<usize>();
        }
        let Dimensions { text: dimensions, .. } = dimensions;
        format!(
            "static const struct dimension dimensions[] = {{\n{dimensions}    {{0, 0, 0, 0, 0, {{0}}}}\n}};\n\n\
             static const struct feed feeds[] = {{\n{feeds}    {{0, 0, 0, 0, 1, {{0}}}}\n}};\n\n\
             static const struct run runs[] = {{\n{runs}}};\n#define RUNS {}u\n\n",
            self.sequence.runs.len()
        )
    }
}

/// Words of the streams of a run.
#[derive(Default)]
struct Amounts {
    model_in: u64,
    step_in: u64,
    step_out: u64,
    model_out: u64,
}

/// The table of dimensions, in which feeds of the same form share their rows.
#[derive(Default)]
struct Dimensions {
    text: String,
    rows: usize,
    known: BTreeMap<String, usize>,
}

impl Dimensions {
    /// Where those of a feed begin.
    fn first(&mut self, feed: &Beats, place: &Place, extents: &[u32]) -> usize {
        let mut text = String::new();
        for ((index, extent), stride) in feed.index.iter().zip(extents).zip(&place.strides) {
            let loops = list(&index.per_loop);
            let (offset, lane, row) = (index.offset, index.per_lane, index.per_row);
            let _ = writeln!(text, "    {{{extent}, {stride}, {offset}, {lane}, {row}, {{{loops}}}}},");
        }
        if let Some(&first) = self.known.get(&text) {
            return first;
        }
        let first = self.rows;
        self.rows += feed.index.len();
        self.text += &text;
        self.known.insert(text, first);
        first
    }
}

/// What the header says of steps, where the user chooses how many there are.
const STEPS: &str = "/* Steps of a run: records of a function. Another number is for this file and for yours (-D TABLA_VERB_STEPS=...). */
#ifndef TABLA_VERB_STEPS
#define TABLA_VERB_STEPS 1u
#endif

";

/// Numbers with commas.
fn list<N: std::fmt::Display>(numbers: &[N]) -> String {
    numbers.iter().map(N::to_string).collect::<Vec<_>>().join(", ")
}
