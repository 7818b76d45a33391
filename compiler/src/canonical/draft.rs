//! A program under construction, for passes that add tensors.

use super::expr::Expr;
use super::flow::fresh_name;
use crate::tensor::{Affine, Aggregate, Element, Iterator, Nest, Program, Role, Start, Tensor, TensorId};
use arch::{Origin, Span};

/// A program under construction: tensors are added as they are needed, nests in their order.
pub(super) struct Draft {
    pub(super) program: Program,
    pub(super) nests: Vec<Nest>,
}

impl Draft {
    pub(super) fn new(program: &Program) -> Draft {
        Draft { program: program.clone(), nests: Vec::new() }
    }

    pub(super) fn finish(self) -> Program {
        Program { nests: self.nests, ..self.program }
    }

    pub(super) fn tensor(&mut self, base: &str, shape: Vec<u32>, role: Role, element: Element, span: Span) -> TensorId {
        let name = fresh_name(&self.program, base);
        self.program.tensors.push(Tensor { name, shape, role, element, span });
        TensorId(self.program.tensors.len() - 1)
    }

    /// A tensor of constants; one that there is already, if it holds the same.
    pub(super) fn constants(
        &mut self,
        base: &str,
        shape: Vec<u32>,
        values: Vec<f64>,
        element: Element,
        span: Span,
    ) -> TensorId {
        let role = Role::Parameter(values.into());
        let same = |tensor: &Tensor| tensor.shape == shape && tensor.element == element && tensor.role == role;
        match self.program.tensors.iter().position(same) {
            Some(known) => TensorId(known),
            None => self.tensor(base, shape, role, element, span),
        }
    }

    /// A temporary of the kind of another tensor.
    pub(super) fn like(&mut self, tensor: TensorId, shape: Vec<u32>) -> TensorId {
        let Tensor { name, element, span, .. } = self.program.tensors[tensor.0].clone();
        self.tensor(&name, shape, Role::Temporary, element, span)
    }

    /// `out[index] = value` over a box.
    pub(super) fn assign(
        &mut self,
        iterators: Vec<Iterator>,
        out: TensorId,
        out_index: Vec<Affine>,
        value: &Expr,
        origin: &Origin,
    ) {
        self.nests.push(Nest {
            free: iterators.len(),
            iterators,
            guards: Vec::new(),
            out,
            out_index,
            aggregate: Aggregate::Assign,
            start: Start::Identity,
            body: value.to_body(),
            origin: origin.clone(),
        });
    }
}
