//! Values that nobody chose, for programs of any shape.

#![allow(dead_code, unreachable_pub, reason = "each test uses its part")]

use compiler::tensor::{Program, Role};
use sim::ladder::NamedValues;

/// Values that differ from element to element, in -0.5..0.5.
pub fn made_up(elements: usize, salt: usize) -> Vec<f64> {
    (0..elements).map(|k| (((k + 1) * 7919 + salt * 104_729) % 64) as f64 / 64.0 - 0.5).collect()
}

/// Weights, and inputs and labels for so many steps, each with a batch of samples.
pub fn values(program: &Program, batch: u32, steps: usize) -> (NamedValues, Vec<NamedValues>) {
    let (mut model, mut inputs) = (NamedValues::new(), vec![NamedValues::new(); steps]);
    for (salt, tensor) in program.tensors.iter().enumerate() {
        let elements = tensor.shape.iter().product::<u32>() as usize;
        match tensor.role {
            Role::State => drop(model.insert(tensor.name.clone(), made_up(elements, salt))),
            Role::Input | Role::Label => {
                for (n, step) in inputs.iter_mut().enumerate() {
                    step.insert(tensor.name.clone(), made_up(elements * batch as usize, salt + n));
                }
            }
            _ => {}
        }
    }
    (model, inputs)
}
