//! Placed: fixed-point IR of one step, in pieces, with the axis of the grid on which each index lies.
//!
//!     fixed::Program ─▶ tile ─▶ strides ─▶ windows, blocks ─▶ doubles ─▶ firsts, pieces ─▶ place (classes of indices, cost) ─▶ legal ─▶ jobs
//!
//!     w [3] local      h = sum[i](w[i] * x[i])     =>    w [3] grid, x [3] grid, i grid: PE p holds w[p] and x[p], and the trees sum
//!
//! | file | decides |
//! |---|---|
//! | [`tile`] | in how many steps a batch runs |
//! | [`shares`] | what of a batch each of several machines does |
//! | [`carries`] | what copies are; [`strides`](carries::strides) takes dimensions apart that are read with a stride |
//! | [`windows`] | which inputs are sent once for each place that reads them (im2col) |
//! | [`blocks`] | which indices lie on the PEs in blocks, since neighbours read the same elements |
//! | [`doubles`] | which tensors are there twice, for two ways in which they are read |
//! | [`pieces`] | where an index that does not fill the grid evenly is cut, and the last values of one that is summed over ([`alone`](pieces::alone)) |
//! | [`firsts`] | which indices are turned, since their first value is apart |
//! | [`mod@place`] | the axis of each class of indices ([`classes`]), by its [`cost`] |
//! | [`layouts`] | the axis of each index by itself, in programs of many classes, by [variable elimination](layouts::eliminate) |
//! | [`reshard`] | which results lie elsewhere than where they are computed |
//! | [`padding`] | what is computed beyond the end of an index |
//! | [`legal`] | what has to be a tensor or an operation of its own: [`legal::slices`], [`legal::constants`], [`legal::starts`], [`legal::write_back`] |
//!
//! The laws, checked by [`verify()`] (beside those of [`crate::fixed`]):
//!
//! 1. Each dimension of each tensor, and each iterator of each operation, has one axis.
//! 2. Two indices of one tensor, or of one operation, that lie on different axes lie on rows and columns; others are local.
//! 3. An index of a read is a single iterator, or a constant, where the dimension is not local; the iterator lies on the axis of the
//!    dimension. Iterators of an index that is computed are local.
//! 4. A result lies where its iterator does, or is a [reshard](mod@reshard) that the bus can do.
//! 5. Masks can hold each tall iterator to its elements, or need not ([`reshard::MaskNeed`], [`padding`]).
//! 6. What the trees cannot do is summed in one PE: products, sums with a start, signs of sums.
//! 7. A tensor that is streamed is a piece of a tensor of the whole program, inside its extents; a temporary is none. A dimension that is
//!    [turned](firsts) is all of one of the whole tensor.
//! 8. The samples of a tile are as many in each piece; tiles divide the batch evenly, and no operation would see the batch twice.

pub(crate) mod axis;
pub(crate) mod blocks;
pub(crate) mod carries;
pub(crate) mod classes;
pub(crate) mod cost;
pub(crate) mod doubles;
pub(crate) mod firsts;
pub(crate) mod layouts;
pub(crate) mod legal;
pub(crate) mod padding;
pub(crate) mod pieces;
pub(crate) mod place;
pub(crate) mod reshard;
pub mod shares;
pub(crate) mod text;
pub(crate) mod tile;
mod verify;
pub(crate) mod windows;

pub use axis::Axis;
pub use verify::{laws, verify};

use crate::fixed::{self, Operation, Role, Tensor};
use crate::tensor::{Affine, IterId, TensorId};

/// A program with an axis for each index.
#[derive(Debug, Clone, PartialEq)]
pub struct Program {
    /// What is computed in one step.
    pub fixed: fixed::Program,
    /// Per tensor, per dimension.
    pub tensors: Vec<Vec<Axis>>,
    /// Per operation, per iterator.
    pub iterators: Vec<Vec<Axis>>,
    /// What the streams carry for each tensor; `None` for temporaries, which are not streamed.
    pub pieces: Vec<Option<Piece>>,
    /// If a step is a tile of a batch.
    pub tile: Option<Tile>,
}

/// How a batch is cut into steps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tile {
    /// Samples of a tile.
    pub samples: u32,
    /// Tiles of a batch.
    pub count: u32,
}

/// Which part of which tensor of the whole program a tensor is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Piece {
    /// Name of the whole tensor.
    pub name: String,
    /// Its extents, for a whole batch.
    pub shape: Vec<u32>,
    /// For each of its dimensions the index, as a form over the dimensions of this tensor.
    pub index: Vec<Affine>,
    /// Its dimension of samples, if a step has only some of them.
    pub samples: Option<usize>,
    /// Dimensions of this tensor whose last element is the first of the whole; the index says so of the others.
    pub turned: Vec<usize>,
}

impl Piece {
    /// All of a tensor of the whole program.
    fn whole(tensor: &Tensor) -> Option<Piece> {
        let index = (0..tensor.shape.len()).map(|d| Affine::iterator(IterId(d))).collect();
        let piece =
            Piece { name: tensor.name.clone(), shape: tensor.shape.clone(), index, samples: None, turned: Vec::new() };
        (tensor.role != Role::Temporary).then_some(piece)
    }
}

impl Program {
    /// The program as it is, everything local.
    pub fn whole(program: &fixed::Program) -> Program {
        let pieces = program.tensors.iter().map(Piece::whole).collect();
        Program::local(program.clone(), pieces, None)
    }

    /// A program of pieces, everything local: every PE computes everything.
    pub(crate) fn local(fixed: fixed::Program, pieces: Vec<Option<Piece>>, tile: Option<Tile>) -> Program {
        let tensors = fixed.tensors.iter().map(|tensor| vec![Axis::Local; tensor.shape.len()]).collect();
        let iterators = fixed.operations.iter().map(|operation| vec![Axis::Local; operation.iterators.len()]).collect();
        Program { fixed, tensors, iterators, pieces, tile }
    }

    /// The same without operations, and those, to be added again with others between them.
    fn taken_apart(&self) -> (Program, impl Iterator<Item = (&Operation, &Vec<Axis>)>) {
        let fixed = fixed::Program { operations: Vec::new(), ..self.fixed.clone() };
        (Program { fixed, iterators: Vec::new(), ..self.clone() }, self.fixed.operations.iter().zip(&self.iterators))
    }

    /// One operation more, whose iterators lie on these axes.
    fn add(&mut self, operation: Operation, axes: Vec<Axis>) {
        self.fixed.operations.push(operation);
        self.iterators.push(axes);
    }

    /// One temporary more, by a name that begins so, whose dimensions lie on these axes.
    fn add_temporary(&mut self, tensor: Tensor, axes: Vec<Axis>) -> TensorId {
        let id = TensorId(self.fixed.tensors.len());
        let name = format!("{}.{}", tensor.name, id.0);
        self.fixed.tensors.push(Tensor { name, role: Role::Temporary, columns: None, ..tensor });
        self.tensors.push(axes);
        self.pieces.push(None);
        id
    }
}
