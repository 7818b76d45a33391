//! A C driver of one program: arrays of real numbers in, arrays of real numbers out.
//!
//! ```text
//!             ┌─ driver/NAME_VERB.h      prototypes with the user's names, and shapes
//! Layout ─────┤
//! microcode ──┴─ driver/NAME_VERB.c      tables of both, and the code that walks them (program_driver/program.c)
//! ```
//!
//! `VERB` is `predict` for a function and for a trained model, `train` for a training. The board's part, where registers are and how the DMA is
//! started, is left to the user: `tabla_exchange` of the header of the core.

use super::layout::{Beats, Layout, Tensor, Travels};
use crate::writing::Files;
use arch::Image;
use arch::isa::LEVELS;
use arch::rtl::CoreName;
use compiler::rounding;
use std::fmt::Write;

const HEADER: &str = include_str!("program_driver/program.h");
const SOURCE: &str = include_str!("program_driver/program.c");

/// Words that no parameter can be called in C, beside those of Verilog: its own, and names of the template.
const TAKEN: [&str; 43] = [
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
    "MODEL_IN",
    "MODEL_OUT",
    "STEP_IN",
    "STEP_OUT",
    "WORDS_IN",
    "WORDS_OUT",
    "GIVES_MODEL",
];

/// Add both files.
pub fn add(files: &mut Files, core: &CoreName, verb: &str, image: &Image, layout: &Layout) {
    let driver = Driver { core, verb, layout, names: names(&layout.tensors) };
    let name = |extension: &str| core.text(&format!("driver/tabla_{verb}.{extension}"));
    files.add(name("h"), driver.header());
    files.add(name("c"), driver.source(image));
}

struct Driver<'a> {
    core: &'a CoreName,
    verb: &'a str,
    layout: &'a Layout,
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

impl Driver<'_> {
    /// Numbers of the tensors that these beats carry and the user knows, each once.
    fn tensors_of(&self, feeds: &[Beats]) -> Vec<usize> {
        let mut numbers: Vec<usize> = Vec::new();
        for number in feeds.iter().filter_map(|feed| self.number(feed)) {
            let tensor = &self.layout.tensors[number];
            if tensor.constant.is_none() && !matches!(tensor.role, Travels::Constant) && !numbers.contains(&number) {
                numbers.push(number);
            }
        }
        numbers
    }

    fn number(&self, feed: &Beats) -> Option<usize> {
        self.layout.tensors.iter().position(|tensor| tensor.name == feed.tensor)
    }

    /// Parameters of the run: given, and results of steps and of the model.
    fn run_parameters(&self) -> [Vec<usize>; 3] {
        [self.steps_in(), self.steps_out(), self.models_out()].map(|feeds| self.tensors_of(feeds))
    }

    fn models_in(&self) -> &[Beats] {
        if self.layout.entries.load_model.is_some() { &self.layout.model_in } else { &[] }
    }

    fn steps_in(&self) -> &[Beats] {
        if self.layout.entries.step_load.is_some() { &self.layout.step_in } else { &[] }
    }

    fn steps_out(&self) -> &[Beats] {
        if self.layout.entries.emit_step.is_some() { &self.layout.step_out } else { &[] }
    }

    fn models_out(&self) -> &[Beats] {
        // Only a training changes its model.
        if self.verb == "train" && self.layout.entries.emit_model.is_some() { &self.layout.model_out } else { &[] }
    }

    fn declared(&self, given: &[usize], results: &[usize]) -> String {
        let given = given.iter().map(|&n| format!("const TABLA_REAL *{}", self.names[n]));
        let results = results.iter().map(|&n| format!("TABLA_REAL *{}", self.names[n]));
        let all: Vec<String> = given.chain(results).collect();
        if all.is_empty() { "void".to_owned() } else { all.join(", ") }
    }

    fn shape(&self, n: usize, is_of_batch: bool) -> String {
        let tensor = &self.layout.tensors[n];
        let steps = Some(self.layout.tiles).filter(|&tiles| tiles > 1 && is_of_batch);
        let extents = steps.iter().chain(&tensor.shape);
        extents.fold(format!("   {}", self.names[n]), |text, extent| text + &format!("[{extent}]"))
    }

    /// A tensor of the model, and the first values of one that only the rounding of updates has.
    fn first(&self, n: usize) -> String {
        let first = match self.layout.tensors[n].name.as_str() {
            rounding::GENERATOR => {
                format!("   first random, between -{0} and {0}; never all 0", rounding::GENERATOR_BOUND)
            }
            name if rounding::is_of_words(name) => "   first 0".to_owned(),
            _ => String::new(),
        };
        self.shape(n, false) + &first + "\n"
    }

    /// Prototype of the function that takes the model, if the user gives one.
    fn model_prototype(&self) -> Option<String> {
        let given = self.tensors_of(self.models_in());
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
        let lines =
            |numbers: &[usize], of_batch| numbers.iter().map(|&n| self.shape(n, of_batch) + "\n").collect::<String>();
        let mut example = String::new();
        let mut prototypes = String::new();
        if let Some(prototype) = self.model_prototype() {
            let model = self.tensors_of(self.models_in());
            let _ = writeln!(example, "       tabla_VERB_model({});", call(&model));
            let _ = write!(
                prototypes,
                "/* Give the model, which the next run loads and the accelerator keeps.\n{}*/\n{prototype};\n\n",
                model.iter().map(|&n| self.first(n)).collect::<String>()
            );
        }
        let results = [of_steps.clone(), of_model.clone()].concat();
        let _ = write!(example, "       cause = tabla_VERB({});", call(&[given.clone(), results].concat()));
        let shapes = lines(&given, true) + &lines(&of_steps, true) + &lines(&of_model, false);
        let null =
            if of_steps.is_empty() && of_model.is_empty() { "" } else { " A result that is not wanted is NULL." };
        let _ = write!(prototypes, "/* One run, of one batch.{null}\n{shapes}*/\n{};\n", self.run_prototype());
        self.named(&HEADER.replace("/*EXAMPLE*/", &example).replace("/*PROTOTYPES*/", &prototypes))
    }

    fn source(&self, image: &Image) -> String {
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
            let model = self.tensors_of(self.models_in());
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
        let tables = self.tables(image);
        let text = SOURCE
            .replace("/*TABLES*/\n", &tables)
            .replace("typedef TABLA_REAL real;\n", &format!("typedef TABLA_REAL real;\n\n#define LEVELS {LEVELS}\n"))
            .replace("/*FUNCTIONS*/\n", &functions);
        self.named(&text)
    }

    /// Microcode, tensors, feeds.
    fn tables(&self, image: &Image) -> String {
        let mut text = "static const struct tabla_write microcode[] = {\n".to_owned();
        for (address, data) in image.control_writes() {
            let _ = writeln!(text, "    {{{address:#x}u, {data:#x}u}},");
        }
        text += "};\n\n";
        for (n, tensor) in self.layout.tensors.iter().enumerate() {
            if !tensor.more_fraction_bits.is_empty() {
                let _ = write!(text, "static const int8_t more_{n}[] = {{{}}};\n\n", list(&tensor.more_fraction_bits));
            }
            if let Some(words) = &tensor.constant {
                let _ = write!(text, "static const tabla_word constant_{n}[] = {{{}}};\n\n", list(words));
            }
        }
        text += "static const struct tensor tensors[] = {\n";
        for (n, tensor) in self.layout.tensors.iter().enumerate() {
            let named = |is_there: bool, name: &str| if is_there { format!("{name}_{n}") } else { "NULL".to_owned() };
            let elements: u64 = tensor.extents.iter().map(|&extent| u64::from(extent)).product();
            let (more, constant) =
                (named(!tensor.more_fraction_bits.is_empty(), "more"), named(tensor.constant.is_some(), "constant"));
            let _ = writeln!(text, "    {{{elements}u, (real)0x1p{}, {more}, {constant}}},", tensor.fraction_bits);
        }
        let _ = write!(text, "}};\n#define TENSORS {}\n\n", self.layout.tensors.len());
        let (dimensions, feeds) = self.feeds();
        let _ = write!(
            text,
            "static const struct dimension dimensions[] = {{\n{dimensions}    {{0, 0, 0, 0, {{0}}}}\n}};\n\n{feeds}\n"
        );
        text + &self.amounts()
    }

    /// Words and steps of a batch.
    fn amounts(&self) -> String {
        let words = |feeds: &[Beats], lanes: u32| {
            let beats = feeds.iter().map(|feed| feed.counts.iter().map(|&n| u64::from(n)).product::<u64>());
            beats.sum::<u64>() * u64::from(lanes)
        };
        let Layout { tiles, stream_words, output_words, .. } = self.layout;
        let steps = u64::from(*tiles);
        let words_in = words(self.models_in(), *stream_words) + steps * words(self.steps_in(), *stream_words);
        let words_out = words(self.models_out(), *output_words) + steps * words(self.steps_out(), *output_words);
        format!(
            "/* Steps of a batch. */\n#define STEPS {tiles}u\n/* Whether the user gives the model. */\n#define GIVES_MODEL {}\n#define WORDS_IN {}u\n#define WORDS_OUT {}u\n\n",
            u8::from(!self.tensors_of(self.models_in()).is_empty()),
            words_in.max(1),
            words_out.max(1)
        )
    }

    /// Dimensions of all feeds, and the feeds that point to them.
    fn feeds(&self) -> (String, String) {
        let mut dimensions = String::new();
        let mut first = 0;
        let mut feeds = String::new();
        let groups = [
            ("model_in", self.models_in()),
            ("step_in", self.steps_in()),
            ("step_out", self.steps_out()),
            ("model_out", self.models_out()),
        ];
        for (name, group) in groups {
            let _ = writeln!(feeds, "#define {} {}u", name.to_uppercase(), group.len());
            let _ = writeln!(feeds, "static const struct feed {name}[] = {{");
            for feed in group {
                for (index, extent) in
                    feed.index.iter().zip(&self.layout.tensors[self.number(feed).unwrap_or(0)].extents)
                {
                    let loops = list(&index.per_loop);
                    let _ = writeln!(
                        dimensions,
                        "    {{{extent}, {}, {}, {}, {{{loops}}}}},",
                        index.offset, index.per_lane, index.per_row
                    );
                }
                let _ = writeln!(
                    feeds,
                    "    {{{}u, {first}u, {}u, {}u, {{{}}}}},",
                    self.number(feed).unwrap_or(0),
                    feed.index.len(),
                    feed.row_lanes,
                    list(&feed.counts)
                );
                first += feed.index.len();
            }
            // C has no empty arrays.
            if group.is_empty() {
                feeds += "    {0, 0, 0, 1, {0}}\n";
            }
            feeds += "};\n";
        }
        (dimensions, feeds)
    }
}

/// Numbers with commas.
fn list<N: std::fmt::Display>(numbers: &[N]) -> String {
    numbers.iter().map(N::to_string).collect::<Vec<_>>().join(", ")
}
