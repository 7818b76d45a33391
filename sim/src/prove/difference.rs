//! The first word that differs, as it is told: which element, what it should be and is, who made it, and inputs that show it.
//!
//!     h of step 1 differs: expected round(..), found round(..); made by alu instruction 0 (h multiply-add, line 12), root instruction 0;
//!     it should read x[3] of step 1, made by load instruction 2; seen in w[3] after the last step

use crate::array::values::Maker;
use arch::image::{Annotated, Image};
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
    /// Lines of what was fused into it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub fused: Vec<usize>,
}

impl Place {
    /// The same without what it does and where it is from.
    fn alone(&self) -> String {
        format!("{} instruction {}", self.stream, self.number)
    }

    /// What it does and where it is from; nothing if neither is known.
    fn reason(&self) -> String {
        let Some(comment) = &self.comment else { return String::new() };
        let lines: Vec<String> = self.line.iter().chain(&self.fused).map(usize::to_string).collect();
        match lines.len() {
            0 => comment.clone(),
            1 => format!("{comment}, line {}", lines[0]),
            _ => format!("{comment}, lines {}", lines.join(", ")),
        }
    }
}

/// The instructions of an image, and the text that their origins are places of; an empty one if it is not known.
#[derive(Debug, Clone, Copy)]
pub(super) struct Listing<'a> {
    pub(super) image: &'a Image,
    pub(super) source: &'a str,
}

impl Listing<'_> {
    /// The instruction of this number.
    pub(super) fn place(self, stream: &'static str, number: usize) -> Place {
        let image = self.image;
        let known = match stream {
            "alu" => self.known(stream, number, &image.alu),
            "scalar" => self.known(stream, number, &image.scalar),
            "root" => self.known(stream, number, &image.root),
            "move" => self.known(stream, number, &image.moves),
            _ => self.known(stream, number, &image.load),
        };
        let unknown = Place { stream, number, text: String::new(), comment: None, line: None, fused: Vec::new() };
        known.unwrap_or(unknown)
    }

    fn known<I: fmt::Display>(self, stream: &'static str, number: usize, program: &[Annotated<I>]) -> Option<Place> {
        let Annotated { instruction, what, origin } = program.get(number)?;
        let lines = origin.lines(self.source);
        Some(Place {
            stream,
            number,
            text: instruction.to_string(),
            comment: Some(what.clone()),
            line: lines.all().first().copied(),
            fused: lines.fused().to_vec(),
        })
    }

    /// The instructions that made a word.
    pub(super) fn makers(self, maker: Maker) -> Vec<Place> {
        match maker {
            Maker::Alu(number) => vec![self.place("alu", number)],
            Maker::Scalar(number) => vec![self.place("scalar", number)],
            Maker::Root(number, alu) => {
                let alu = alu.map(|number| self.place("alu", number));
                alu.into_iter().chain([self.place("root", number)]).collect()
            }
            Maker::Move(number) => vec![self.place("move", number)],
            Maker::Load(number) => vec![self.place("load", number)],
        }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (alone, reason) = (self.alone(), self.reason());
        if reason.is_empty() { f.write_str(&alone) } else { write!(f, "{alone} ({reason})") }
    }
}

/// Instructions in words; what several in a row do is said once.
fn list(places: &[Place]) -> String {
    let mut text = String::new();
    for (number, place) in places.iter().enumerate() {
        let before = number.checked_sub(1).map(|before| &places[before]);
        let said = before.is_some_and(|before| before.reason() == place.reason());
        text += if number == 0 { "" } else { ", " };
        text += &if said { place.alone() } else { place.to_string() };
    }
    text
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
