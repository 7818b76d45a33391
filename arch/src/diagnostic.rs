//! What the user did wrong, and where: stable codes, spans, labels, help.
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
    ($($(#[$doc:meta])* $name:ident = $text:literal),* $(,)?) => {
        /// Stable diagnostic codes. `E-` stops the tool, `W-` does not.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum Code { $($(#[$doc])* $name),* }

        impl Code {
            /// Every code, in the order of the reference manual.
            pub const ALL: &[Code] = &[$(Code::$name),*];

            /// The code as it is printed, e.g. `E-LEX`.
            pub fn as_str(self) -> &'static str {
                match self { $(Code::$name => $text),* }
            }
        }
    };
}

codes! {
    /// Illegal character or malformed token.
    Lex = "E-LEX",
    /// Token sequence not in the grammar.
    Syntax = "E-SYNTAX",
    /// Name not declared or not yet defined.
    Undef = "E-UNDEF",
    /// Name declared or defined twice.
    Redef = "E-REDEF",
    /// Name of the wrong kind.
    Kind = "E-KIND",
    /// Wrong number of subscripts, or dimension number out of range.
    Rank = "E-RANK",
    /// Extents do not agree.
    Shape = "E-SHAPE",
    /// An index provably leaves its tensor.
    Bounds = "E-BOUNDS",
    /// Empty, reversed or not inferable range; extent below 1.
    Range = "E-RANGE",
    /// Index or iterator not bound by anything.
    FreeIndex = "E-FREEINDEX",
    /// A group operator re-binds a bound iterator.
    Shadow = "E-SHADOW",
    /// Reduction index without a reduction operator.
    Reduce = "E-REDUCE",
    /// Scalar type error.
    Type = "E-TYPE",
    /// Wrong number of arguments or results.
    Arity = "E-ARITY",
    /// Element read before it has a value; missing host value.
    UndefVal = "E-UNDEFVAL",
    /// Compile-time arithmetic error.
    Const = "E-CONST",
    /// Assignment to an input.
    Immut = "E-IMMUT",
    /// Gradient/model link wrong.
    Link = "E-LINK",
    /// What is minimised has no derivative there.
    Gradient = "E-GRADIENT",
    /// Declared result never assigned.
    Output = "E-OUTPUT",
    /// Form not allowed in a Tile contraction or constraint.
    Contract = "E-CONTRACT",
    /// `assign` aggregation writes an element twice.
    MultiAssign = "E-MULTIASSIGN",
    /// Index expression not affine.
    NonAffine = "E-NONAFFINE",
    /// An index variable has infinitely many valid values.
    Unbounded = "E-UNBOUNDED",
    /// Needs parentheses.
    Ambig = "E-AMBIG",
    /// A size limit of the tool is exceeded.
    Limit = "E-LIMIT",
    /// Recognised but outside our subset.
    Unsupported = "E-UNSUPPORTED",
    /// Valid program, but this machine or number format cannot run it.
    Backend = "E-BACKEND",
    /// A text of an intermediate form breaks a law of the form.
    Law = "E-LAW",
    /// A configuration file, key or value is wrong.
    Config = "E-CONFIG",
    /// A data file is wrong.
    Data = "E-DATA",
    /// Some gradient elements are never assigned.
    WarnPartial = "W-PARTIAL",
    /// A constant is defined again.
    WarnConstRedef = "W-CONSTREDEF",
    /// Accumulation into a tensor without a value.
    WarnUninit = "W-UNINIT",
    /// A result's domain does not start at 0.
    WarnNonZeroBase = "W-NONZEROBASE",
    /// A contraction without any valid index.
    WarnEmpty = "W-EMPTY",
    /// Code without effect.
    WarnDead = "W-DEAD",
    /// A declared name is never used.
    WarnUnused = "W-UNUSED",
    /// A statement reads elements it writes.
    WarnSelfRef = "W-SELFREF",
    /// A value is computed twice.
    WarnRepeated = "W-REPEATED",
    /// Something about the numbers deserves attention.
    WarnNumber = "W-NUMBER",
}

impl Code {
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
}

impl Diagnostic {
    /// A message about a place.
    pub fn new(code: Code, span: Span, message: impl Into<String>) -> Diagnostic {
        Diagnostic { span: Some(span), ..Diagnostic::global(code, message) }
    }

    /// A message about no place in particular.
    pub fn global(code: Code, message: impl Into<String>) -> Diagnostic {
        Diagnostic { code, message: message.into(), span: None, label: None, notes: Vec::new(), help: None }
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
