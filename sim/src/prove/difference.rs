//! The first word that differs, as it is told: which element, what it should be and is, who made it, and inputs that show it.
//!
//!     h of step 1 differs: expected round(..), found round(..); made by alu instruction 0 (h multiply-add, line 12), root instruction 0;
//!     it should read x[3] of step 1, made by load instruction 2; seen in w[3] after the last step

use crate::array::values::Maker;
use arch::image::Image;
use schemars::JsonSchema;
use serde::Serialize;
use std::fmt;

/// Which word is meant by an element.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum When {
    /// As the host gave it, before the first step.
    Given,
    /// In this step, from 1 on.
    Step(usize),
    /// After the last step.
    End,
}

/// An element of the program.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Element {
    /// Name of its tensor.
    pub tensor: String,
    /// Its index; none of a scalar.
    pub index: Vec<usize>,
    /// Which of its words.
    pub when: When,
}

impl Element {
    pub(super) fn of(tensor: &str, shape: &[u32], mut element: usize, when: When) -> Element {
        let mut index = vec![0; shape.len()];
        for (index, &extent) in index.iter_mut().zip(shape).rev() {
            (*index, element) = (element % extent as usize, element / extent as usize);
        }
        Element { tensor: tensor.to_owned(), index, when }
    }
}

impl fmt::Display for Element {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.tensor)?;
        for index in &self.index {
            write!(f, "[{index}]")?;
        }
        match self.when {
            When::Given => write!(f, " as given"),
            When::Step(step) => write!(f, " of step {step}"),
            When::End => write!(f, " after the last step"),
        }
    }
}

/// An instruction of the image.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Place {
    /// Its stream: `alu`, `scalar`, `root`, `move` or `load`.
    pub stream: &'static str,
    /// Its number in the program of the stream.
    pub number: usize,
    /// As a listing shows it.
    pub text: String,
    /// What it does, in the program's words.
    pub comment: Option<String>,
    /// The line of the source.
    pub line: Option<usize>,
}

impl Place {
    pub(super) fn new(image: &Image, stream: &'static str, number: usize) -> Place {
        let (text, comment) = match stream {
            "alu" => (image.alu.get(number).map(ToString::to_string), image.comments.get(number)),
            "scalar" => (image.scalar.get(number).map(ToString::to_string), image.scalar_comments.get(number)),
            "root" => (image.root.get(number).map(ToString::to_string), None),
            "move" => (image.moves.get(number).map(ToString::to_string), None),
            _ => (image.load.get(number).map(ToString::to_string), None),
        };
        Place {
            stream,
            number,
            text: text.unwrap_or_default(),
            comment: comment.map(|comment| comment.0.clone()),
            line: comment.map(|comment| comment.1).filter(|&line| line != 0),
        }
    }

    /// The instructions that made a word.
    pub(super) fn of(image: &Image, maker: Maker) -> Vec<Place> {
        match maker {
            Maker::Alu(number) => vec![Place::new(image, "alu", number)],
            Maker::Scalar(number) => vec![Place::new(image, "scalar", number)],
            Maker::Root(number, alu) => {
                let alu = alu.map(|number| Place::new(image, "alu", number));
                alu.into_iter().chain([Place::new(image, "root", number)]).collect()
            }
            Maker::Move(number) => vec![Place::new(image, "move", number)],
            Maker::Load(number) => vec![Place::new(image, "load", number)],
        }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} instruction {}", self.stream, self.number)?;
        match (&self.comment, self.line) {
            (Some(comment), Some(line)) => write!(f, " ({comment}, line {line})"),
            (Some(comment), None) => write!(f, " ({comment})"),
            (None, _) => Ok(()),
        }
    }
}

/// What instructions have to do with a wrong word.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Cause {
    /// They make it.
    Makes,
    /// They make the right word, which is not where it is read; or it is read elsewhere.
    Misplaces,
    /// They make others of its kind, and not this one.
    Omits,
}

/// An operand that is another one than expected.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Operand {
    /// The expected one.
    pub operand: String,
    /// Who made and wrote that.
    pub made_by: Vec<Place>,
}

/// A word for certain inputs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Witness {
    /// What should come.
    pub expected: i64,
    /// What does.
    pub found: i64,
}

/// The first word that differs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Difference {
    /// Where the host sees it.
    pub seen: Element,
    /// The first element of the program that is wrong, as far as it is one; else the same.
    pub first: Element,
    /// What it should be.
    pub expected: String,
    /// What it is.
    pub found: String,
    /// What the instructions have to do with it.
    pub cause: Cause,
    /// The instructions, those with a line of the source first; none if nobody is known.
    pub instructions: Vec<Place>,
    /// An operand that is another one than expected; then an operand of that one, where that is another one, too; and so on.
    pub operands: Vec<Operand>,
    /// The instruction that sends what the host sees.
    pub sender: Option<Place>,
    /// Inputs that show the difference; none if none were found.
    pub witness: Option<Witness>,
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} differs: expected {}, found {}", self.first, self.expected, self.found)?;
        let list = |places: &[Place]| places.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
        if !self.instructions.is_empty() {
            let verb = match self.cause {
                Cause::Makes => "made by",
                Cause::Misplaces => "what is expected is made, but is not read there; made by",
                Cause::Omits => "others of its kind, but not this one, are made by",
            };
            write!(f, "; {verb} {}", list(&self.instructions))?;
        }
        for (number, Operand { operand, made_by }) in self.operands.iter().enumerate() {
            write!(f, "{} {operand}", if number == 0 { "; it should read" } else { ", from" })?;
            if !made_by.is_empty() {
                write!(f, ", made by {}", list(made_by))?;
            }
        }
        if self.seen != self.first {
            write!(f, "; seen in {}", self.seen)?;
        }
        if let Some(sender) = &self.sender {
            write!(f, ", which {} {} sends", sender.stream, sender.number)?;
        }
        match self.witness {
            Some(Witness { expected, found }) => write!(f, "; for some inputs that is {found} in place of {expected}"),
            None => Ok(()),
        }
    }
}
