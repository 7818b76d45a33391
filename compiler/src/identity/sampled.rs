//! The elements that a sample of the results needs.

use super::evaluate::{advance, has_points};
use super::field::mixed;
use super::plan::{Plan, constants};
use super::value::Arithmetic;
use crate::tensor::Program;
use std::collections::BTreeMap;

/// Elements of each tensor, row-major.
pub(super) type Sample = Vec<Vec<bool>>;

/// One of `one_of` named results and next states of a program, and everything they are computed from. Which elements these are depends on
/// names and places only, so that two programs with the same results give the same ones.
pub(super) fn sample(program: &Program, one_of: u64, elements: &BTreeMap<String, usize>) -> Sample {
    let tensors = program.tensors.iter();
    let mut needed: Sample = tensors.map(|t| vec![false; t.shape.iter().map(|&n| n as usize).product()]).collect();
    let mut mark = |name: &str, tensor: usize| {
        for (place, needed) in needed[tensor].iter_mut().enumerate() {
            *needed |= is_sampled(name, place, one_of, elements);
        }
    };
    program.names.iter().for_each(|(name, tensor)| mark(name, tensor.0));
    let name = |state: usize| program.tensors[state].name.clone();
    for update in &program.updates {
        mark(&name(update.state.0), update.next.0);
    }
    for descent in &program.descents {
        mark(&name(descent.state.0), descent.gradient.0);
    }
    let (constant, arithmetic) = (constants(program), Arithmetic::default());
    for nest in program.nests.iter().rev() {
        follow(&Plan::of(program, nest, &constant, &arithmetic), &mut needed);
    }
    needed
}

/// Whether an element is one of the sample. `elements` says how many a result has for one sample of a batch: it is needed of all of them.
pub(super) fn is_sampled(name: &str, place: usize, one_of: u64, elements: &BTreeMap<String, usize>) -> bool {
    let own = elements.get(name).map_or(place, |&count| place % count.max(1));
    let of_name = name.bytes().fold(0, |hash, byte| mixed(hash ^ u64::from(byte)));
    own == 0 || mixed(of_name ^ own as u64).is_multiple_of(one_of)
}

/// Mark what the needed elements of a nest read.
fn follow(plan: &Plan, needed: &mut Sample) {
    if !has_points(&plan.iterators) {
        return;
    }
    let mut point: Vec<i64> = plan.iterators.iter().map(|&(low, _)| low).collect();
    loop {
        let here = needed[plan.out][plan.place.at(&point) as usize];
        if here && plan.exists(&point) {
            plan.gathers().for_each(|tensor| needed[tensor].fill(true));
            for (tensor, form) in plan.reads() {
                needed[tensor][form.at(&point) as usize] = true;
            }
        }
        // Another element, if nothing of this one is needed.
        let moved = if here { plan.iterators.len() } else { plan.free };
        if !advance(&mut point[..moved], &plan.iterators) {
            return;
        }
    }
}
