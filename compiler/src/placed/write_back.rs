//! Results that come over a bus land in temporaries; weights lie elsewhere, so such a result is parked and copied. So is a product
//! that reads what it writes: its chain begins by writing 1.
//!
//!     w = sigmoid(x)         =>     w.4 = sigmoid(x);        w = w.4
//!     w = pi[i](w)           =>     w.4 = pi[i](w);          w = w.4

use super::cost::{Route, route};
use super::place::{Axis, Placement};
use super::reshard::Reshard;
use crate::fixed::{Kind, Operand, Operation, Program, Role, SumBound, Tensor};
use crate::tensor::{IterId, TensorId};
use arch::isa::{Combine, Finish};
use arch::machine::Machine;

/// Whether an operation is a chain of products that reads what it writes.
fn is_product_of_itself(operation: &Operation) -> bool {
    matches!(&operation.kind, Kind::Product { factor: Operand::Read { tensor, .. }, .. } if *tensor == operation.out)
}

/// Park every result that is a weight and does not stay inside its PE, and every product that reads itself.
pub(crate) fn results(program: &mut Program, placement: &mut Placement, machine: &Machine) {
    let mut number = 0;
    while number < program.operations.len() {
        let operation = &mut program.operations[number];
        let axes = &placement.iterators[number];
        let state = &program.tensors[operation.out.0];
        let home = placement.tensors[operation.out.0].clone();
        let reshard = Reshard::of(operation, axes, &home, machine).ok().flatten();
        let from_bus = state.role == Role::State && route(operation, axes, reshard) != Route::Inside;
        if from_bus || is_product_of_itself(operation) {
            let parked = TensorId(program.tensors.len());
            // The copy runs where the weight lies.
            let place = |n: usize| -> Axis {
                let plain = operation.out_index.iter().position(|index| index.as_iterator() == Some(IterId(n)));
                plain.map_or(axes[n], |dimension| home[dimension])
            };
            let places = (0..operation.free).map(place).collect();
            let copy = Operation {
                iterators: operation.iterators[..operation.free].to_vec(),
                free: operation.free,
                out: std::mem::replace(&mut operation.out, parked),
                out_index: operation.out_index.clone(),
                kind: Kind::MultiplyAdd {
                    start: Some(Operand::Read { tensor: parked, index: operation.out_index.clone() }),
                    align: 0,
                    product: None,
                    scale: 0,
                    combine: Combine::Add,
                    shift: 0,
                    finish: Finish::Round,
                    bound: SumBound::Formats,
                },
                origin: operation.origin.clone(),
            };
            let name = format!("{}.{}", state.name, parked.0);
            let tensor = Tensor { name, role: Role::Temporary, ..state.clone() };
            program.tensors.push(tensor);
            placement.tensors.push(home);
            program.operations.insert(number + 1, copy);
            placement.iterators.insert(number + 1, places);
        }
        number += 1;
    }
}
