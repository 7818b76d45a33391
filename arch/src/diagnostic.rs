//! Diagnostics for the user: stable codes, spans, labels, help.
//!
//! A `Diagnostic` is for the user's mistake. Our own mistakes are panics in verifiers; the two never share a type.

use serde::Serialize;

/// A piece of source text, in bytes: `start..end`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, PartialOrd, Ord, Serialize)]
pub struct Span {
    /// First byte.
    pub start: usize,
    /// One past the last byte.
    pub end: usize,
}

impl Span {
    /// The span `start..end`.
    pub fn new(start: usize, end: usize) -> Span {
        Span { start, end }
    }

    /// The smallest span that holds both.
    #[must_use]
    pub fn to(self, other: Span) -> Span {
        Span { start: self.start.min(other.start), end: self.end.max(other.end) }
    }
}

macro_rules! codes {
    ($(#[doc = $meaning:literal] $name:ident = $text:literal => $remedy:literal),* $(,)?) => {
        /// Stable diagnostic codes. `E-` stops the tool, `W-` does not. docs/errors.md is generated from this list.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum Code { $(#[doc = $meaning] $name),* }

        impl Code {
            /// Every code, in the order of the reference manual.
            pub const ALL: &[Code] = &[$(Code::$name),*];

            /// The code as it is printed, e.g. `E-LEX`.
            pub fn as_str(self) -> &'static str {
                match self { $(Code::$name => $text),* }
            }

            /// What it means, in one sentence.
            pub fn meaning(self) -> &'static str {
                match self { $(Code::$name => $meaning.trim_ascii()),* }
            }

            /// What the user can usually do about it.
            pub fn remedy(self) -> &'static str {
                match self { $(Code::$name => $remedy),* }
            }

            /// The code that is printed as `text`.
            pub fn named(text: &str) -> Option<Code> {
                Code::ALL.iter().copied().find(|code| code.as_str() == text)
            }
        }
    };
}

codes! {
    /// Illegal character or malformed token.
    Lex = "E-LEX" => "Remove the character, or spell the number or name as the language's page in docs/languages describes.",
    /// Token sequence not in the grammar.
    Syntax = "E-SYNTAX" => "Compare the statement with the grammar of the language in docs/languages; the help names the usual replacement.",
    /// Name not declared or not yet defined.
    Undef = "E-UNDEF" => "Declare or assign the name before this line, or correct its spelling; the help suggests the nearest known name.",
    /// Name declared or defined twice.
    Redef = "E-REDEF" => "Rename one of the two, or delete the second declaration.",
    /// Name of the wrong kind.
    Kind = "E-KIND" => "Use the name as what it was declared as. A number that varies with an index goes in as an input.",
    /// Wrong number of subscripts, or dimension number out of range.
    Rank = "E-RANK" => "Give one subscript for each dimension, or use a scalar.",
    /// Extents do not agree.
    Shape = "E-SHAPE" => "Make the extents equal, or state the range explicitly.",
    /// An index provably leaves its tensor.
    Bounds = "E-BOUNDS" => "Shorten the range of the iterator, or enlarge the tensor. The first element has index 0.",
    /// Empty, reversed or not inferable range; extent below 1.
    Range = "E-RANGE" => "Give a range with at least one value; the upper bound is exclusive.",
    /// Index or iterator not bound by anything.
    FreeIndex = "E-FREEINDEX" => "Put the index on the left side, or reduce over it.",
    /// A group operator re-binds a bound iterator.
    Shadow = "E-SHADOW" => "Declare a second iterator with the same range for the inner operator.",
    /// Reduction index without a reduction operator.
    Reduce = "E-REDUCE" => "Use a reduction operator for indices that are missing on the left side.",
    /// Scalar type error.
    Type = "E-TYPE" => "Convert the value explicitly, for example with `int32(...)`.",
    /// Wrong number of arguments or results.
    Arity = "E-ARITY" => "Pass as many arguments as the signature in docs/languages states.",
    /// Element read before it has a value; missing host value.
    UndefVal = "E-UNDEFVAL" => "Assign every element that is read, or supply the value as an input.",
    /// Compile-time arithmetic error.
    Const = "E-CONST" => "Use a value that fits: 64 bits for integers, finite double precision for reals.",
    /// Assignment to an input.
    Immut = "E-IMMUT" => "Assign to a new name; inputs keep the value the host supplies.",
    /// Gradient/model link wrong.
    Link = "E-LINK" => "Link each gradient to one declared `model` of the same shape.",
    /// What is minimised has no derivative there.
    Gradient = "E-GRADIENT" => "Use operations with a derivative, or write the gradient by hand.",
    /// Declared result never assigned.
    Output = "E-OUTPUT" => "Assign the result, or remove its declaration.",
    /// Form not allowed in a Tile contraction or constraint.
    Contract = "E-CONTRACT" => "Put element-wise work on a line of its own and use its result in the contraction.",
    /// `assign` aggregation writes an element twice.
    MultiAssign = "E-MULTIASSIGN" => "State how values combine: `+=`, `*=`, `>=` or `<=`.",
    /// Index expression not affine.
    NonAffine = "E-NONAFFINE" => "Write the index as a sum of index variables times integers.",
    /// An index variable has infinitely many valid values.
    Unbounded = "E-UNBOUNDED" => "Add a constraint that bounds the variable.",
    /// Needs parentheses.
    Ambig = "E-AMBIG" => "Add parentheses.",
    /// A size limit of the tool is exceeded.
    Limit = "E-LIMIT" => "Reduce the size named in the message; docs/languages lists the limits.",
    /// Recognised but outside our subset.
    Unsupported = "E-UNSUPPORTED" => "Rewrite the line with supported forms; docs/languages lists what each language leaves out.",
    /// Valid program, but this machine or number format cannot run it.
    Backend = "E-BACKEND" => "Follow the help: it names a machine or a number format that can run the program, or the construct to replace.",
    /// A text of an intermediate form breaks a law of the form.
    Law = "E-LAW" => "Correct the text; the module documentation of the stage lists its laws.",
    /// A configuration file, key or value is wrong.
    Config = "E-CONFIG" => "Correct the key; configs/reference.toml lists every key with its range and default.",
    /// A data file is wrong.
    Data = "E-DATA" => "Correct the cell, line or column that the message names.",
    /// The arguments, or what is asked of a program, make no sense.
    Usage = "E-USAGE" => "Correct the option that the message names; `tabla-gen COMMAND --help` lists the options.",
    /// A file or a device cannot be read or written.
    File = "E-FILE" => "Check the path, its permissions and the space on the disk; of a board, its port and its power.",
    /// An external tool is missing or failed.
    Tool = "E-TOOL" => "Run `scripts/setup`; `tabla-gen doctor` says which tools are found.",
    /// Two engines that have to agree differ.
    Mismatch = "E-MISMATCH" => "Report it with the command, the config and the program: it is a bug, or a board that does not compute what it should.",
    /// Values were clipped to their words, and `--deny-saturation` was given.
    Saturated = "E-SATURATED" => "Use a wider word, more headroom or a fixed binary point for the tensors that the result names under `saturations`.",
    /// The words do not suffice for the values of this run, and `--deny-inaccuracy` was given.
    Inaccurate = "E-INACCURATE" => "Use words of the width that the message names, or wider input ranges: `tabla-gen explain W-ACCURACY` says more.",
    /// A bug of the tool.
    Internal = "E-INTERNAL" => "Report it with the command, the config and the program.",
    /// The user interrupted the command.
    Interrupted = "E-INTERRUPTED" => "Start it again; a training with `--checkpoint` goes on with `--resume`.",
    /// Updates of a weight are less than half of a last place and round to nothing.
    WarnStall = "W-STALL" => "Use a larger rate, more bits after the binary point of the weight, or the wider words that the message names.",
    /// A data file holds what a training can hardly use, or was read in a way that may not be meant.
    WarnData = "W-DATA" => "Look at the column that the message names; `--drop` leaves it out, `--header` says whether the first line names columns.",
    /// Binary points were chosen from few records.
    WarnCalibration = "W-CALIBRATION" => "Give the command at least 32 records of what the hardware will see: `--calibrate FILE`, or `--inputs FILE` with a list.",
    /// Some gradient elements are never assigned.
    WarnPartial = "W-PARTIAL" => "Assign all elements of the gradient if all weights are to be trained.",
    /// A constant is defined again.
    WarnConstRedef = "W-CONSTREDEF" => "Delete one of the definitions; the last one counts.",
    /// Accumulation into a tensor without a value.
    WarnUninit = "W-UNINIT" => "Initialise the tensor, or write `!` after the operator to start from its identity.",
    /// A result's domain does not start at 0.
    WarnNonZeroBase = "W-NONZEROBASE" => "State a range with `where` if element 0 matters outside the program.",
    /// A dimension that a model leaves open was given a size that nobody asked for.
    WarnShape = "W-SHAPE" => "Give the dimension a size with `--shape NAME=N`, or give values of the size that is meant with `--inputs`.",
    /// A contraction without any valid index.
    WarnEmpty = "W-EMPTY" => "Check offsets and extents: no index makes every access valid, so the result is zero.",
    /// Code without effect.
    WarnDead = "W-DEAD" => "Delete the statement, or use its result.",
    /// A declared name is never used.
    WarnUnused = "W-UNUSED" => "Delete the declaration, or use the name.",
    /// A statement reads elements it writes.
    WarnSelfRef = "W-SELFREF" => "Nothing, if the old values are meant: the statement reads all of them before it writes.",
    /// A definition takes the name of a built-in function.
    WarnShadow = "W-SHADOW" => "Nothing, if your definition is meant: it is the one that counts. Rename it to use the built-in function.",
    /// A value is computed twice.
    WarnRepeated = "W-REPEATED" => "Assign the value to a variable and use it twice.",
    /// Something about the numbers deserves attention.
    WarnNumber = "W-NUMBER" => "Check the range of the values: docs/numbers.md explains formats, saturation and binary points.",
    /// A result is further from the golden model than 1 % of its largest value.
    WarnAccuracy = "W-ACCURACY" => "Use more `table_entries`, a wider word or a fixed binary point for the tensor the warning names; docs/numbers.md compares them.",
    /// A statement takes more than three times the cycles that a grid of this size needs for it.
    WarnSlow = "W-SLOW" => "Look at the reason: make extents multiples of the grid, split what runs one value after the other, or compare grids with `tabla-gen explore`.",
}

impl Code {
    /// Whether it is about a whole run, not about a text of the user's.
    pub fn is_about_run(self) -> bool {
        let of_runs = [
            Code::Usage,
            Code::File,
            Code::Tool,
            Code::Mismatch,
            Code::Saturated,
            Code::Inaccurate,
            Code::Internal,
            Code::Interrupted,
        ];
        of_runs.contains(&self)
    }

    /// Whether this code only warns.
    pub fn is_warning(self) -> bool {
        self.as_str().starts_with("W-")
    }
}

impl std::fmt::Display for Code {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.as_str())
    }
}

/// One message to the user about the text they wrote.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Diagnostic {
    /// Stable code.
    pub code: Code,
    /// One line, no full stop.
    pub message: String,
    /// Where, if the message is about a place in a text.
    pub span: Option<Span>,
    /// What to write under the underlined text.
    pub label: Option<String>,
    /// Other places that explain it.
    pub notes: Vec<(Span, String)>,
    /// What the user can do.
    pub help: Option<String>,
    /// The constant that was given to a program which does not have it, by an argument or a table.
    pub setting: Option<String>,
}

impl Diagnostic {
    /// A message about a place.
    pub fn new(code: Code, span: Span, message: impl Into<String>) -> Diagnostic {
        Diagnostic { span: Some(span), ..Diagnostic::global(code, message) }
    }

    /// A message about no place in particular.
    pub fn global(code: Code, message: impl Into<String>) -> Diagnostic {
        Diagnostic {
            code,
            message: message.into(),
            span: None,
            label: None,
            notes: Vec::new(),
            help: None,
            setting: None,
        }
    }

    /// Add the text under the underline.
    #[must_use]
    pub fn with_label(mut self, label: impl Into<String>) -> Diagnostic {
        self.label = Some(label.into());
        self
    }

    /// Add another place.
    #[must_use]
    pub fn with_note(mut self, span: Span, note: impl Into<String>) -> Diagnostic {
        self.notes.push((span, note.into()));
        self
    }

    /// Say which constant the message is about.
    #[must_use]
    pub fn with_setting(mut self, name: impl Into<String>) -> Diagnostic {
        self.setting = Some(name.into());
        self
    }

    /// Add what the user can do.
    #[must_use]
    pub fn with_help(mut self, help: impl Into<String>) -> Diagnostic {
        self.help = Some(help.into());
        self
    }
}

/// 1-based line and column (in characters) of a byte offset.
pub fn line_column(text: &str, offset: usize) -> (usize, usize) {
    let mut offset = offset.min(text.len());
    while !text.is_char_boundary(offset) {
        offset -= 1;
    }
    let before = &text[..offset];
    let line = before.matches('\n').count() + 1;
    let start = before.rfind('\n').map_or(0, |n| n + 1);
    (line, before[start..].chars().count() + 1)
}
