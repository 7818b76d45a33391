//! Binary points of a word and its positive part.

use super::Formats;
use crate::canonical::flow::Flow;
use crate::canonical::primitive::Atom;
use crate::tensor::{Nest, Program, Role};

/// Tensors that several nests read, or somebody asks for.
pub(super) fn shared(program: &Program) -> Vec<bool> {
    let flow = Flow::of(program);
    flow.readers.iter().zip(flow.kept).map(|(readers, kept)| kept || readers.len() > 1).collect()
}

impl Formats<'_> {
    /// A word and its positive part have one binary point where nothing else needs it: then the sum that it is rounded from may become the
    /// positive part at once.
    pub(super) fn constrain_positive(&mut self, nest: &Nest, value: &Atom) {
        let Atom::Read(tensor, _) = value else { return };
        let room = (self.numbers.accumulator - self.numbers.word) as i32;
        self.lower(nest.out, self.fraction(*tensor) + room.min(63), "its source has far fewer bits", nest);
        let alone = !self.shared[tensor.0] && self.program.tensors[tensor.0].role == Role::Temporary;
        if alone {
            self.lower(*tensor, self.fraction(nest.out), "only its positive part is read", nest);
        }
        let more = self.fraction(*tensor) - self.fraction(nest.out);
        if more > 63 {
            self.lower(*tensor, self.fraction(nest.out) + 63, "a sum is shifted by at most 63", nest);
        }
    }
}
