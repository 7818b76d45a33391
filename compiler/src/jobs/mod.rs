//! Jobs: vector operations on the words of each PE, with the tree, root and bus that their results go through.
//!
//!     placed::Program ─▶ select ─▶ fuse ─▶ reshard ─▶ levels ─▶ scalar ─▶ strips ─▶ scheduled
//!
//!     h += w[i] * x[i]    i on the grid      =>     pes for 4, sum 1: %2[0] = global root ( + %1[0+1k0] * %0[0+1k0] >> 13 )
//!
//! | file | decides |
//! |---|---|
//! | [`job`], [`lanes`] | what a job is |
//! | [`select`] | the jobs of an operation |
//! | [`fuse`] | which functions roots apply to sums as they pass |
//! | [`reshard`] | the rounds of a result over the columns |
//! | [`levels`] | how a job is brought down to the loops of an instruction |
//! | [`scalar`] | what runs on the scalar unit |
//! | [`mod@strips`] | what waits in the model pad and is read strip by strip |
//! | [`mod@conclusion`] | what ends a batch that several machines share |
//! | [`streams`] | how tensors enter and leave the grid |
//!
//! The laws, checked by [`verify()`]:
//!
//! 1. Every access has one stride per loop, and stays inside its storage for all points of the loops.
//! 2. Summed loops are innermost. A write, and the gradient word of a sum over tiles, has no stride along them.
//! 3. Without a first factor the second is 0.
//! 4. Bounds lie on different axes, rows, columns or all PEs, and loops that they mention exist; picks are of loops that count lanes.
//! 5. Only results that stay in their PE are computed by the scalar unit, without weights. It reads inputs, and what has been written in
//!    its pads; what it alone writes, no PE reads.
//! 6. No job writes an input or a constant, and only PEs write weights. A bus writes temporaries and outputs.
//! 7. A table of a root is one of the program's.
//! 8. Streamed storages are pieces of tensors of the whole program; sums over tiles exist only where steps are tiles, and no two share a
//!    word of the gradient pad.

pub(crate) mod conclusion;
#[cfg(test)]
mod conversions;
mod crossing;
pub(crate) mod fuse;
pub(crate) mod job;
pub(crate) mod lanes;
pub(crate) mod levels;
pub(crate) mod reshard;
pub(crate) mod scalar;
pub(crate) mod select;
pub(crate) mod streams;
pub(crate) mod strips;
pub(crate) mod text;
mod verify;

pub use verify::{laws, verify};

use crate::fixed::{Role, Tensor};
use crate::placed::{Axis, Piece, Tile, cost};
use arch::function::FunctionTable;
use arch::machine::Machine;
use job::Job;

/// The jobs of one step, in the order of the program.
#[derive(Debug, Clone, PartialEq)]
pub struct Program {
    /// Word width in bits.
    pub(crate) word: u32,
    /// Accumulator width in bits that the sums need.
    pub(crate) accumulator: u32,
    /// Function tables, one after the other.
    pub(crate) tables: Vec<FunctionTable>,
    /// If a step is a tile of a batch.
    pub(crate) tile: Option<Tile>,
    /// What lies in the pads.
    pub(crate) storages: Vec<Storage>,
    /// What is computed.
    pub(crate) jobs: Vec<Job>,
}

/// The number of a storage.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct StorageId(pub(crate) usize);

impl std::fmt::Display for StorageId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "%{}", self.0)
    }
}

/// A tensor as it lies in the pads of each PE.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Storage {
    pub(crate) name: String,
    /// Extents of the tensor; none for the copy of an operand.
    pub(crate) shape: Vec<u32>,
    /// Axis of each dimension.
    pub(crate) axes: Vec<Axis>,
    /// Words per local step of each dimension.
    pub(crate) strides: Vec<i64>,
    /// Words in each PE.
    pub(crate) words: u32,
    pub(crate) role: Role,
    /// Bits after the binary point.
    pub(crate) fraction: i32,
    /// What the streams carry for it.
    pub(crate) piece: Option<Piece>,
}

impl Storage {
    /// Whether the last element of a dimension is the first of the whole tensor.
    fn is_turned(&self, dimension: usize) -> bool {
        self.piece.as_ref().is_some_and(|piece| piece.turned.contains(&dimension))
    }

    /// Words of each PE that are no tensor: a copy of some of `source`, until they are used.
    pub(crate) fn copy_of(source: &Storage, name: String, words: u32) -> Storage {
        Storage {
            name,
            shape: Vec::new(),
            axes: Vec::new(),
            strides: Vec::new(),
            words,
            role: Role::Temporary,
            fraction: source.fraction,
            piece: None,
        }
    }

    /// A tensor whose dimensions lie on `axes`: local steps row-major.
    fn new(tensor: &Tensor, axes: &[Axis], piece: Option<&Piece>, machine: &Machine) -> Storage {
        let mut strides = vec![0; axes.len()];
        let mut step = 1;
        for d in (0..axes.len()).rev() {
            strides[d] = step;
            step *= i64::from(tensor.shape[d].div_ceil(axes[d].lanes(machine)));
        }
        Storage {
            name: tensor.name.clone(),
            shape: tensor.shape.clone(),
            axes: axes.to_vec(),
            strides,
            words: cost::local_words(&tensor.shape, axes, machine) as u32,
            role: tensor.role.clone(),
            fraction: tensor.fraction,
            piece: piece.cloned(),
        }
    }
}
