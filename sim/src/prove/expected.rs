//! The values a program computes, and those the host should receive.

use super::difference::When;
use super::reference::{Algebra, Computed, Reference};
use crate::driver::{Outcome, Words};
use arch::image::Image;
use compiler::fixed::{Program, Role};

/// What the program computes, and what the host sends for it.
#[derive(Debug)]
pub(super) struct Expected<'a, W> {
    pub(super) reference: Reference<'a, W>,
    /// Weights and constants, by tensor of the image.
    pub(super) model: Words,
    /// Inputs, by step and tensor of the image.
    pub(super) inputs: Vec<Words>,
    /// What every tensor of the image is after each step.
    pub(super) after: Vec<Vec<Vec<W>>>,
    /// Every element in the order in which it was computed.
    pub(super) computed: Vec<Computed<W>>,
}

impl<'a, W: Copy + Default + std::fmt::Debug + 'static> Expected<'a, W> {
    /// Of so many steps.
    pub(super) fn of(
        program: &'a Program,
        image: &Image,
        steps: usize,
        values: &mut impl Algebra<Word = W>,
    ) -> Expected<'a, W> {
        Expected::up_to(program, image, steps, values, |_| true)
    }

    /// Of so many steps, each up to the element of which `go_on` says no.
    pub(super) fn up_to<V: Algebra<Word = W>>(
        program: &'a Program,
        image: &Image,
        steps: usize,
        values: &mut V,
        mut go_on: impl FnMut(&Computed<W>) -> bool,
    ) -> Expected<'a, W> {
        let mut reference = Reference::new(program, values);
        let words = |reference: &Reference<'_, W>| -> Vec<Vec<W>> {
            let of = |name: &str| program.tensors.iter().position(|tensor| tensor.name == name);
            let tensors =
                image.tensors.iter().map(|tensor| of(&tensor.name).expect("streams carry tensors of the program"));
            tensors.map(|number| reference.memory[number].clone()).collect()
        };
        let sent = |words: Vec<Vec<W>>, values: &V| -> Words {
            words.iter().map(|words| words.iter().map(|&word| values.shown(word)).collect()).collect()
        };
        let model = sent(words(&reference), values);
        let (mut inputs, mut after, mut computed) = (Vec::new(), Vec::new(), Vec::new());
        for _ in 0..steps {
            reference.set_inputs(values);
            inputs.push(sent(words(&reference), values));
            reference.step(values, |element| {
                computed.push(element);
                go_on(&element)
            });
            after.push(words(&reference));
        }
        Expected { reference, model, inputs, after, computed }
    }

    /// Every word that came out beside the one that should: tensor of the image, element and when, found, expected.
    ///
    /// # Errors
    /// A tensor does not leave the grid.
    pub(super) fn walk(
        &self,
        image: &Image,
        outcome: &Outcome,
        mut visit: impl FnMut((usize, usize, When), i64, W),
    ) -> Result<(), String> {
        let sent = outcome
            .steps
            .iter()
            .zip(&self.after)
            .enumerate()
            .map(|(n, words)| (When::Step(n + 1), words, Role::Output));
        let last = self.after.last().map(|after| (When::End, (&outcome.model, after), Role::State));
        for (when, (found, expected), role) in sent.chain(last) {
            if let Some(name) = self.unsent(image, found, &role) {
                return Err(format!("`{name}` does not leave the grid"));
            }
            for (tensor, (found, expected)) in found.iter().zip(expected).enumerate() {
                for (element, (&found, &expected)) in found.iter().zip(expected).enumerate() {
                    visit((tensor, element, when), found, expected);
                }
            }
        }
        Ok(())
    }

    /// A tensor of that role that the program computes and the host does not get.
    fn unsent(&self, image: &Image, found: &Words, role: &Role) -> Option<&str> {
        let program = self.reference.program;
        let written = |number: usize| program.operations.iter().any(|operation| operation.out.0 == number);
        let meant =
            program.tensors.iter().enumerate().filter(|(number, tensor)| tensor.role == *role && written(*number));
        let came = |name: &str| {
            let number = image.tensors.iter().position(|tensor| tensor.name == name);
            number.and_then(|number| found.get(number)).is_some_and(|words| !words.is_empty())
        };
        meant.map(|(_, tensor)| tensor.name.as_str()).find(|name| !came(name))
    }
}
