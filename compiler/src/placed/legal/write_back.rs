//! Write back: a result that comes over a bus, or is computed from itself, reaches its weight through a temporary.
//!
//!     w = sigmoid(x)         =>     w.4 = sigmoid(x);        w = w.4         a bus writes temporaries only
//!     w = pi[i](w)           =>     w.4 = pi[i](w);          w = w.4         the chain begins by writing 1

use crate::fixed::{Kind, Operand, Operation, Role};
use crate::placed::Program;
use crate::placed::axis::Axis;
use crate::placed::cost::{Route, route};
use crate::placed::reshard::Reshard;
use crate::tensor::{IterId, TensorId};
use arch::machine::Machine;

/// Whether an operation is a chain of products that reads what it writes.
fn is_product_of_itself(operation: &Operation) -> bool {
    matches!(&operation.kind, Kind::Product { factor: Operand::Read { tensor, .. }, .. } if *tensor == operation.out)
}

/// Let a temporary take every result that is a weight and does not stay inside its PE, and every product that reads itself.
pub(crate) fn write_back(program: &Program, machine: &Machine) -> Program {
    let (mut result, operations) = program.taken_apart();
    for (operation, axes) in operations {
        let weight = &program.fixed.tensors[operation.out.0];
        let home = &program.tensors[operation.out.0];
        let reshard = Reshard::of(operation, axes, home, machine).ok().flatten();
        let from_bus = weight.role == Role::State && route(operation, axes, reshard) != Route::Inside;
        if !from_bus && !is_product_of_itself(operation) {
            result.add(operation.clone(), axes.clone());
            continue;
        }
        let temporary = result.add_temporary(weight.clone(), home.clone());
        result.add(Operation { out: temporary, ..operation.clone() }, axes.clone());
        // The copy runs where the weight lies.
        let place = |n: usize| -> Axis {
            let plain = operation.out_index.iter().position(|index| index.as_iterator() == Some(IterId(n)));
            plain.map_or(axes[n], |dimension| home[dimension])
        };
        result.add(copy(operation, temporary), (0..operation.free).map(place).collect());
    }
    result
}

/// The operation that copies a temporary to where the result of another one belongs.
fn copy(operation: &Operation, temporary: TensorId) -> Operation {
    Operation {
        iterators: operation.iterators[..operation.free].to_vec(),
        free: operation.free,
        out: operation.out,
        out_index: operation.out_index.clone(),
        kind: Kind::exact(Some(Operand::Read { tensor: temporary, index: operation.out_index.clone() }), None),
        origin: operation.origin.clone(),
    }
}
