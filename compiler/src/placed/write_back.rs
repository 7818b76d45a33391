//! Write back: a result that comes over a bus, or is computed from itself, reaches its weight through a temporary.
//!
//!     w = sigmoid(x)         =>     w.4 = sigmoid(x);        w = w.4         a bus writes temporaries only
//!     w = pi[i](w)           =>     w.4 = pi[i](w);          w = w.4         the chain begins by writing 1

use super::Program;
use super::axis::Axis;
use super::cost::{Route, route};
use super::reshard::Reshard;
use crate::fixed::{Finish, Kind, Operand, Operation, Role, SumBound, Tensor};
use crate::tensor::{IterId, TensorId};
use arch::isa::Combine;
use arch::machine::Machine;

/// Whether an operation is a chain of products that reads what it writes.
fn is_product_of_itself(operation: &Operation) -> bool {
    matches!(&operation.kind, Kind::Product { factor: Operand::Read { tensor, .. }, .. } if *tensor == operation.out)
}

/// Let a temporary take every result that is a weight and does not stay inside its PE, and every product that reads itself.
pub(crate) fn write_back(program: &Program, machine: &Machine) -> Program {
    let mut result = program.clone();
    result.fixed.operations.clear();
    result.iterators.clear();
    for (operation, axes) in program.fixed.operations.iter().zip(&program.iterators) {
        let weight = &program.fixed.tensors[operation.out.0];
        let home = &program.tensors[operation.out.0];
        let reshard = Reshard::of(operation, axes, home, machine).ok().flatten();
        let from_bus = weight.role == Role::State && route(operation, axes, reshard) != Route::Inside;
        if !from_bus && !is_product_of_itself(operation) {
            result.fixed.operations.push(operation.clone());
            result.iterators.push(axes.clone());
            continue;
        }
        let temporary = TensorId(result.fixed.tensors.len());
        let name = format!("{}.{}", weight.name, temporary.0);
        result.fixed.tensors.push(Tensor { name, role: Role::Temporary, ..weight.clone() });
        result.tensors.push(home.clone());
        result.pieces.push(None);
        result.fixed.operations.push(Operation { out: temporary, ..operation.clone() });
        result.iterators.push(axes.clone());
        result.fixed.operations.push(copy(operation, temporary));
        // The copy runs where the weight lies.
        let place = |n: usize| -> Axis {
            let plain = operation.out_index.iter().position(|index| index.as_iterator() == Some(IterId(n)));
            plain.map_or(axes[n], |dimension| home[dimension])
        };
        result.iterators.push((0..operation.free).map(place).collect());
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
        kind: Kind::MultiplyAdd {
            start: Some(Operand::Read { tensor: temporary, index: operation.out_index.clone() }),
            align: 0,
            product: None,
            scale: 0,
            square: false,
            combine: Combine::Add,
            shift: 0,
            finish: Finish::Round,
            bound: SumBound::Formats,
        },
        origin: operation.origin.clone(),
    }
}
