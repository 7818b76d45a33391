//! The subject of an image: a function, or a training.

use super::design::Design;
use super::too_large;
use crate::failure::Failure;
use crate::functions::Function;
use crate::plan::Choices;
use crate::progress::Progress;
use crate::project::Project;
use crate::records::Records;
use crate::samples::Data;
use arch::Machine;
use compiler::fixed::{NumberReport, Program};
use compiler::search::Compiled;
use sim::pace::Pace;

/// What an image is made for.
pub enum Subject {
    /// A program that trains nothing.
    Function(Box<Function>),
    /// A training.
    Training(Box<Design>),
}

impl Subject {
    /// A function, with records or made-up ones.
    ///
    /// # Errors
    /// Whatever is wrong with program or records.
    pub fn function(project: &Project, records: Option<&Records>, progress: &dyn Progress) -> Result<Subject, Failure> {
        project.is_program()?;
        Function::new(project, records, progress).map(|function| Subject::Function(Box::new(function)))
    }

    /// A training, from text and data to images.
    ///
    /// # Errors
    /// Whatever is wrong with any of them.
    pub fn training(
        project: &Project,
        data: &Data,
        asked: &Choices,
        progress: &dyn Progress,
    ) -> Result<Subject, Failure> {
        project.refuse_stays()?;
        Design::new(project, data, asked, progress).map(|design| Subject::Training(Box::new(design)))
    }

    /// Cycles per sample or record, and what cannot be beaten.
    ///
    /// # Errors
    /// The array is stuck.
    pub fn pace(&self) -> Result<Pace, Failure> {
        match self {
            Subject::Function(function) => function.pace(),
            Subject::Training(design) => design.pace(),
        }
    }

    /// Refuse what the board of the project does not hold.
    ///
    /// # Errors
    /// It does not fit.
    pub fn check_room(&self, project: &Project) -> Result<(), Failure> {
        match self {
            Subject::Function(function) => function.check_room(project),
            Subject::Training(design) => design.check_room(project),
        }
    }

    /// A smaller grid, if that of the project leaves place and route no room on its board.
    pub fn routable(&self, project: &Project) -> Option<Machine> {
        let design = match self {
            Subject::Function(function) => return function.routable(project),
            Subject::Training(design) => design,
        };
        let (compiled, _, program) = self.parts();
        let rest = design.lowered.rest.iter();
        let programs: Vec<&Program> = rest.chain([program, &design.lowered.predict]).collect();
        too_large::routable(project, too_large::hardware(project, &compiled.image), (&programs, &project.spec()))
    }

    /// The image of a record or of an update, how its binary points were found, and its program.
    ///
    /// # Panics
    /// Never: a training has updates.
    pub fn parts(&self) -> (&Compiled, &NumberReport, &Program) {
        match self {
            Subject::Function(function) => (&function.climb.compiled, &function.numbers, &function.climb.step),
            Subject::Training(design) => {
                let (compiled, program) =
                    design.images.full.as_ref().zip(design.lowered.full.as_ref()).expect("a training has updates");
                (compiled, &design.lowered.numbers, program)
            }
        }
    }
}
