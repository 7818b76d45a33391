//! Front ends: text to tensor IR. One folder per language.
//!
//! | folder | language | extension |
//! |---|---|---|
//! | [`tabla`] | TABLA | `.t` |
//! | [`tensor_comprehensions`] | Tensor Comprehensions | `.tc` |
//! | [`tile`] | Tile, the text form | `.tile` |
//! | [`rink`] | Rink's tensor model language | `.tml` |
//! | [`preprocessor`] | `$` variables, under all the others | `.pp` |
//! | crate `onnx` | ONNX models, which are files and not text | `.onnx` |
//! | crate `tflite` | `TFLite` models, likewise | `.tflite` |
//!
//! Every front end has the same signature, [`parse`]: program text in, tensor IR and warnings out, or everything that is wrong with
//! the text, in source order. Nothing behind this module knows which language a program was written in.

mod expected;
mod nesting;
pub mod preprocessor;
pub mod rink;
mod size;
pub mod tabla;
pub mod tensor_comprehensions;
pub mod tile;

use crate::derived::Objective;
use crate::derived::training::{Training, with_training};
use crate::tensor::Program;
use arch::{Code, Diagnostic};

pub use crate::text::nearest::nearest;

/// The input languages.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Language {
    /// TABLA.
    Tabla,
    /// Tensor Comprehensions.
    TensorComprehensions,
    /// Tile, the text form.
    Tile,
    /// Rink's tensor model language.
    Rink,
    /// The `$` preprocessor alone.
    Preprocessor,
    /// ONNX: a binary file, read by the crate `onnx`.
    Onnx,
    /// `TFLite`: a binary file, read by the crate `tflite`.
    Tflite,
}

impl Language {
    /// Every language, in the order of the manual.
    pub const ALL: &[Language] = &[
        Language::Tabla,
        Language::TensorComprehensions,
        Language::Tile,
        Language::Rink,
        Language::Preprocessor,
        Language::Onnx,
        Language::Tflite,
    ];

    /// Extension of its files, without the dot.
    pub fn extension(self) -> &'static str {
        match self {
            Language::Tabla => "t",
            Language::TensorComprehensions => "tc",
            Language::Tile => "tile",
            Language::Rink => "tml",
            Language::Preprocessor => "pp",
            Language::Onnx => "onnx",
            Language::Tflite => "tflite",
        }
    }

    /// Another name of it on the command line, for languages whose extension is not the name.
    pub fn alias(self) -> Option<&'static str> {
        match self {
            Language::Tabla => Some("tabla"),
            Language::Rink => Some("rink"),
            _ => None,
        }
    }

    /// Whether its programs are text; models of other tools are files of bytes.
    pub fn is_text(self) -> bool {
        !matches!(self, Language::Onnx | Language::Tflite)
    }

    /// The language of a file, by the extension (without the dot).
    pub fn of_extension(extension: &str) -> Option<Language> {
        Language::ALL.iter().copied().find(|language| language.extension() == extension)
    }

    /// Name for people.
    pub fn name(self) -> &'static str {
        match self {
            Language::Tabla => "TABLA",
            Language::TensorComprehensions => "Tensor Comprehensions",
            Language::Tile => "Tile",
            Language::Rink => "Rink",
            Language::Preprocessor => "the $ preprocessor",
            Language::Onnx => "ONNX",
            Language::Tflite => "TFLite",
        }
    }
}

/// What the command line can say about how a program is read.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Options {
    /// Values of compile-time constants (`--set k=v`); they replace the program's own.
    pub set: Vec<(String, f64)>,
    /// Shapes of the host's values by name, for languages whose sizes come with them (Tensor Comprehensions, Tile).
    pub shapes: Vec<(String, Vec<u32>)>,
    /// Integers of the host by name (integer parameters of Tile).
    pub integers: Vec<(String, i64)>,
    /// The function to translate, where a file has several (`--entry`); the last one otherwise.
    pub entry: Option<String>,
    /// TABLA as the seed document defines it, without decimal literals (`--std=seed`).
    pub seed_dialect: bool,
    /// The model language without E-AMBIG: operators associate to the left, whatever they are (`--rink-left`).
    pub rink_left: bool,
    /// The model language as this version of cfdlang reads it, 1 or 2 (`--cfdlang`).
    pub cfdlang: Option<u8>,
    /// Mean and deviation of TABLA's `gaussian` (`--gaussian`); default: 0 and 1.
    pub gaussian: Option<(f64, f64)>,
    /// Sizes beyond which a program is refused.
    pub limits: Limits,
    /// What is trained, if the program does not say it, and how.
    pub training: Option<Training>,
}

macro_rules! limits {
    ($($(#[$doc:meta])+ $name:ident: $type:ty = $default:expr;)+) => {
        /// Sizes beyond which a program is refused (E-LIMIT), so that a typing error does not eat the memory of the computer.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub struct Limits {
            $($(#[$doc])+ pub $name: $type,)+
        }

        impl Default for Limits {
            fn default() -> Limits {
                Limits { $($name: $default),+ }
            }
        }

        impl Limits {
            /// Their names.
            pub const NAMES: &[&str] = &[$(stringify!($name)),+];

            /// Move the one of this name, if there is one.
            pub fn set(&mut self, name: &str, value: u64) {
                match name {
                    $(stringify!($name) => self.$name = <$type>::try_from(value).unwrap_or(<$type>::MAX),)+
                    _ => {}
                }
            }
        }
    };
}

limits! {
    /// Nested parentheses and operators.
    depth: usize = 256;
    /// Dimensions of a tensor.
    rank: usize = 16;
    /// Elements of one tensor.
    elements: u64 = 1 << 24;
    /// Elements of all tensors.
    elements_in_all: u64 = 1 << 26;
    /// Points of one loop nest.
    points: u64 = 1 << 32;
    /// Errors reported in one run.
    errors: usize = 20;
    /// Statements, those that a front end makes of one included: some passes look at every pair of them.
    statements: u64 = 1 << 14;
    /// Operands and operations of one statement: the work of the passes grows with their square.
    operands: u64 = 512;
    /// Operands and operations of all statements.
    operands_in_all: u64 = 1 << 17;
}

/// A program and its warnings, or everything that is wrong with it.
pub type Parsed = Result<(Program, Vec<Diagnostic>), Vec<Diagnostic>>;

/// Read a program in any language, with its gradients. A pure preprocessor file is checked and gives an empty program; [`preprocessor::preprocess`] gives its contents.
pub fn parse(language: Language, text: &str, options: &Options) -> Parsed {
    let (program, warnings) = read(language, text, options)?;
    match &options.training {
        Some(training) => Ok((with_training(&program, training)?, warnings)),
        None => Ok((program, warnings)),
    }
}

/// Read a program as it is written, without its gradients, and what it minimises, if it says that or `options.training` does;
/// [`derive`](crate::derived::derive) makes gradients of the two.
///
/// # Errors
/// As [`parse`].
pub fn source(
    language: Language,
    text: &str,
    options: &Options,
) -> Result<(Program, Option<Objective>), Vec<Diagnostic>> {
    if language == Language::Tabla {
        return tabla::source(text, options);
    }
    let (program, _) = read(language, text, options)?;
    match options.training.as_ref().and_then(|training| training.objective.as_ref()) {
        Some(minimised) => minimised.of(&program).map(|(program, objective)| (program, Some(objective))),
        None => Ok((program, None)),
    }
}

/// The refusal of a model whose language is not text.
pub fn not_text(language: Language) -> Diagnostic {
    let (name, extension) = (language.name(), language.extension());
    let refused = Diagnostic::global(Code::Data, format!("a model of {name} is a file, not a text"));
    refused.with_help(format!("give its path: tabla-gen check model.{extension}"))
}

fn read(language: Language, text: &str, options: &Options) -> Parsed {
    match language {
        Language::Tabla => tabla::parse(text, options),
        Language::TensorComprehensions => tensor_comprehensions::parse(text, options),
        Language::Rink => rink::parse(text, options),
        Language::Preprocessor => preprocessor::preprocess(text, options).map(|_| (Program::default(), Vec::new())),
        Language::Tile => tile::parse(text, options),
        Language::Onnx | Language::Tflite => Err(vec![not_text(language)]),
    }
}

/// Complaints about what `--set` gives to names that the program does not define, with those that it does.
fn unknown_settings(options: &Options, defined: &[&str]) -> Vec<Diagnostic> {
    let unknown = options.set.iter().filter(|(name, _)| !defined.contains(&name.as_str()));
    let complaint = |(name, _): &(String, f64)| {
        let message = format!("--set {name}: the program defines no `{name}` that could be set");
        let diagnostic = Diagnostic::global(Code::Undef, message).with_setting(name);
        match nearest(name, defined.iter().copied()) {
            Some(near) => diagnostic.with_help(format!("did you mean `{near}`?")),
            None => diagnostic,
        }
    };
    unknown.map(complaint).collect()
}

/// In source order, what has no place last; if there are errors, only these, and not more than the limit.
fn in_source_order(mut diagnostics: Vec<Diagnostic>, options: &Options) -> Vec<Diagnostic> {
    let error = |diagnostic: &Diagnostic| !diagnostic.code.is_warning();
    if diagnostics.iter().any(error) {
        diagnostics.retain(error);
    }
    diagnostics.sort_by_key(|diagnostic| diagnostic.span.map_or(usize::MAX, |span| span.start));
    diagnostics.truncate(options.limits.errors);
    diagnostics
}
