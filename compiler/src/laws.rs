//! Broken laws, as the verifiers of the stages report them.
//!
//! A verifier looks at one entity of its stage after the other (a tensor, an operation, a job, an instruction). Of each it reports the first law that
//! is broken, since checks build on each other there; all entities are looked at.
//!
//! ```text
//! check ──▶ Fault (law, why) ──Report::of──▶ Broken (stage, law, entity, text, why) ──▶ Err(Vec<Broken>)
//! ```

use std::fmt::{self, Display, Formatter};

/// A stage that has laws; they stand at the head of its module.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stage {
    /// [`crate::tensor`].
    Tensor,
    /// [`crate::fixed`].
    Fixed,
    /// [`crate::placed`].
    Placed,
    /// [`crate::jobs`].
    Jobs,
    /// [`crate::scheduled`].
    Scheduled,
    /// [`crate::image`].
    Image,
}

impl Display for Stage {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Stage::Tensor => "tensor IR",
            Stage::Fixed => "fixed-point IR",
            Stage::Placed => "the placed program",
            Stage::Jobs => "the list of jobs",
            Stage::Scheduled => "the schedule",
            Stage::Image => "the image",
        })
    }
}

/// An entity that breaks a law, by its number in its list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Entity {
    /// The whole program, or a relation between several of its parts.
    Program,
    /// A tensor of tensor, fixed-point or placed IR, or of the image.
    Tensor(usize),
    /// A nest of tensor IR.
    Nest(usize),
    /// An operation of fixed-point or placed IR.
    Operation(usize),
    /// A storage of the list of jobs.
    Storage(usize),
    /// A job.
    Job(usize),
    /// An instruction of a stream of the image.
    Instruction(&'static str, usize),
    /// A function table of the image.
    Table(usize),
}

impl Display for Entity {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Entity::Program => f.write_str("the program"),
            Entity::Tensor(number) => write!(f, "tensor {number}"),
            Entity::Nest(number) => write!(f, "nest {number}"),
            Entity::Operation(number) => write!(f, "operation {number}"),
            Entity::Storage(number) => write!(f, "storage {number}"),
            Entity::Job(number) => write!(f, "job {number}"),
            Entity::Instruction(stream, number) => write!(f, "{stream} instruction {number}"),
            Entity::Table(number) => write!(f, "table {number}"),
        }
    }
}

/// The law that one check found broken, and why: the check's caller knows the entity.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// Its number in the stage's list.
    pub law: u32,
    /// How it is broken.
    pub why: String,
}

/// One broken law.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Broken {
    /// The stage whose law it is.
    pub stage: Stage,
    /// Its number in the stage's list.
    pub law: u32,
    /// The entity that breaks it.
    pub entity: Entity,
    /// The entity in its stage's text form; empty for a whole program.
    pub text: String,
    /// How it is broken.
    pub why: String,
}

impl Display for Broken {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "law {} of {}: {}", self.law, self.stage, self.why)?;
        match (self.entity, self.text.as_str()) {
            (Entity::Program, _) => Ok(()),
            (entity, "") => write!(f, ", in {entity}"),
            (entity, text) => write!(f, ", in {entity}: {text}"),
        }
    }
}

/// A verifier's result.
pub type Laws = Result<(), Vec<Broken>>;

/// A check's result.
pub type Check = Result<(), Fault>;

/// `Err` unless something holds.
pub(crate) fn ensure(holds: bool, law: u32, why: impl FnOnce() -> String) -> Check {
    if holds { Ok(()) } else { Err(Fault { law, why: why() }) }
}

/// The broken laws of one program, while they are collected.
pub(crate) struct Report {
    stage: Stage,
    broken: Vec<Broken>,
}

impl Report {
    pub(crate) fn new(stage: Stage) -> Report {
        Report { stage, broken: Vec::new() }
    }

    /// Add the laws of another stage that this one includes.
    pub(crate) fn including(stage: Stage, laws: Laws) -> Report {
        Report { stage, broken: laws.err().unwrap_or_default() }
    }

    /// Add what a check of an entity found.
    pub(crate) fn of(&mut self, entity: Entity, text: impl FnOnce() -> String, check: Check) {
        if let Err(Fault { law, why }) = check {
            self.broken.push(Broken { stage: self.stage, law, entity, text: text(), why });
        }
    }

    /// Add what a check of the whole program found.
    pub(crate) fn of_program(&mut self, check: Check) {
        self.of(Entity::Program, String::new, check);
    }

    /// Whether later checks may build on the earlier ones.
    pub(crate) fn is_clean(&self) -> bool {
        self.broken.is_empty()
    }

    pub(crate) fn laws(self) -> Laws {
        if self.broken.is_empty() { Ok(()) } else { Err(self.broken) }
    }
}

/// Stop at a bug of ours, with all broken laws and the program's text.
///
/// # Panics
/// If a law is broken.
pub(crate) fn stop_at(laws: Laws, text: impl FnOnce() -> String) {
    if let Err(broken) = laws {
        panic!("{}\n{}", all(&broken), text());
    }
}

/// Broken laws, one on each line.
#[must_use]
pub fn all(broken: &[Broken]) -> String {
    broken.iter().map(Broken::to_string).collect::<Vec<_>>().join("\n")
}

/// The number of the first broken law, and how it is broken.
#[cfg(test)]
pub(crate) fn first(laws: Laws) -> (u32, String) {
    let broken = laws.expect_err("a broken law").remove(0);
    (broken.law, broken.why)
}

/// Return the fault of a broken law from a check.
macro_rules! law {
    ($number:literal, $holds:expr, $($words:tt)*) => {
        if !$holds {
            return Err($crate::laws::Fault { law: $number, why: format!($($words)*) });
        }
    };
}
pub(crate) use law;

#[cfg(test)]
mod tests {
    use super::{Broken, Entity, Stage};

    #[test]
    fn a_broken_law_names_its_stage_and_place() {
        let broken = Broken {
            stage: Stage::Jobs,
            law: 3,
            entity: Entity::Job(7),
            text: "job \"h\"".into(),
            why: "two words".into(),
        };
        assert_eq!(broken.to_string(), "law 3 of the list of jobs: two words, in job 7: job \"h\"");
        let whole = Broken { entity: Entity::Program, ..broken };
        assert_eq!(whole.to_string(), "law 3 of the list of jobs: two words");
    }
}
