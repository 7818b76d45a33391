//! The elements that a sample of the results needs.

use super::evaluate::{advance, has_points};
use super::field::mixed;
use super::plan::{Plan, constants};
use super::value::Arithmetic;
use crate::tensor::Program;
use std::collections::BTreeMap;

/// Elements of each tensor, row-major.
pub(super) type Wanted = Vec<Vec<bool>>;

/// One of `one_of` named results and next states of a program, and everything they are computed from. Which elements these are depends on
/// names and places only, so that two programs with the same results give the same ones.
pub(super) fn wanted(program: &Program, one_of: u64, elements: &BTreeMap<String, usize>) -> Wanted {
    let tensors = program.tensors.iter();
    let mut wanted: Wanted = tensors.map(|t| vec![false; t.shape.iter().map(|&n| n as usize).product()]).collect();
    let mut sample = |name: &str, tensor: usize| {
        for (place, wanted) in wanted[tensor].iter_mut().enumerate() {
            *wanted |= is_sampled(name, place, one_of, elements);
        }
    };
    program.names.iter().for_each(|(name, tensor)| sample(name, tensor.0));
    let name = |state: usize| program.tensors[state].name.clone();
    for update in &program.updates {
        sample(&name(update.state.0), update.next.0);
    }
    for descent in &program.descents {
        sample(&name(descent.state.0), descent.gradient.0);
    }
    let (constant, arithmetic) = (constants(program), Arithmetic::default());
    for nest in program.nests.iter().rev() {
        follow(&Plan::of(program, nest, &constant, &arithmetic), &mut wanted);
    }
    wanted
}

/// Whether an element is one of the sample. `elements` says how many a result has for one sample of a batch: it is wanted of all of them.
pub(super) fn is_sampled(name: &str, place: usize, one_of: u64, elements: &BTreeMap<String, usize>) -> bool {
    let own = elements.get(name).map_or(place, |&count| place % count.max(1));
    let of_name = name.bytes().fold(0, |hash, byte| mixed(hash ^ u64::from(byte)));
    own == 0 || mixed(of_name ^ own as u64).is_multiple_of(one_of)
}

/// Want what the wanted elements of a nest read.
fn follow(plan: &Plan, wanted: &mut Wanted) {
    if !has_points(&plan.iterators) {
        return;
    }
    let mut point: Vec<i64> = plan.iterators.iter().map(|&(low, _)| low).collect();
    loop {
        let here = wanted[plan.out][plan.place.at(&point) as usize];
        if here && plan.exists(&point) {
            plan.gathers().for_each(|tensor| wanted[tensor].fill(true));
            for (tensor, form) in plan.reads() {
                wanted[tensor][form.at(&point) as usize] = true;
            }
        }
        // Another element, if nothing of this one is wanted.
        let moved = if here { plan.iterators.len() } else { plan.free };
        if !advance(&mut point[..moved], &plan.iterators) {
            return;
        }
    }
}
