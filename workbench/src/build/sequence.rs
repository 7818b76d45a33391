//! What a driver runs: programs one after the other, each over all steps, on parts of the same tensors.
//!
//! ```text
//! a program as a whole    x ──▶ [image 0] ──▶ y
//! its segments            x ──▶ [image 0] ──▶ kept ──▶ [image 1] ──▶ kept ──▶ [image 1] ──▶ y
//! ```
//!
//! A program as a whole is a sequence of one, whose parts are whole tensors.

use super::layout::{Beats, Layout, Tensor, Travels};
use arch::Image;
use compiler::fixed::segments::Region;

/// Programs, one after the other.
pub(super) struct Sequence<'a> {
    /// What they compute on.
    pub(super) tensors: &'a [Tensor],
    /// Where the host keeps the words of each tensor that a run leaves for later ones, in words from the start of what it keeps of a step.
    pub(super) kept: Vec<Option<u64>>,
    /// Words of a step that the host keeps.
    pub(super) kept_words: u64,
    /// What is loaded.
    pub(super) images: Vec<&'a Image>,
    /// What runs.
    pub(super) runs: Vec<Run<'a>>,
}

/// One image over all steps.
pub(super) struct Run<'a> {
    /// Number of the image.
    pub(super) image: usize,
    /// Its streams.
    pub(super) layout: &'a Layout,
    /// Where each tensor of the layout lies.
    pub(super) places: Vec<Place>,
}

/// A part of a tensor.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Place {
    /// Number of the tensor.
    pub(super) tensor: usize,
    /// Its first element, row by row.
    pub(super) first: u64,
    /// Elements of the tensor from one value of each index of the part to the next.
    pub(super) strides: Vec<u64>,
}

/// Elements from one value of each index to the next, row by row.
fn strides(extents: &[u32]) -> Vec<u64> {
    let mut strides = vec![1; extents.len()];
    for n in (1..extents.len()).rev() {
        strides[n - 1] = strides[n] * u64::from(extents[n]);
    }
    strides
}

impl Place {
    /// All of a tensor.
    fn whole(tensor: usize, extents: &[u32]) -> Place {
        Place { tensor, first: 0, strides: strides(extents) }
    }

    /// A box of a tensor of a `shape`, whose elements are counted by other `extents`, row by row; none where these do not divide the dimensions of the
    /// box.
    pub(super) fn of_box(tensor: usize, place: &Region, shape: &[u32], extents: &[u32]) -> Option<Place> {
        let (whole, sizes) = (strides(shape), place.shape());
        let inside = strides(&sizes);
        let first = place.low.iter().zip(&whole).map(|(&low, stride)| u64::from(low) * stride).sum();
        let stride = |(own, &extent): (u64, &u32)| {
            let holds = |&d: &usize| {
                let end = inside[d] * u64::from(sizes[d]);
                own.is_multiple_of(inside[d]) && own * u64::from(extent) <= end && own < end
            };
            if extent == 1 { Some(0) } else { (0..sizes.len()).find(holds).map(|d| own / inside[d] * whole[d]) }
        };
        let strides = strides(extents).into_iter().zip(extents).map(stride).collect::<Option<Vec<u64>>>()?;
        Some(Place { tensor, first, strides })
    }
}

impl<'a> Sequence<'a> {
    /// A program as a whole.
    pub(super) fn of_one(image: &'a Image, layout: &'a Layout) -> Sequence<'a> {
        let places = layout.tensors.iter().enumerate().map(|(n, tensor)| Place::whole(n, &tensor.extents)).collect();
        Sequence {
            tensors: &layout.tensors,
            kept: vec![None; layout.tensors.len()],
            kept_words: 0,
            images: vec![image],
            runs: vec![Run { image: 0, layout, places }],
        }
    }

    /// Numbers of the tensors that some beats of the runs carry and the user knows, each once, in their order.
    pub(super) fn tensors_of(&self, feeds: impl Fn(&Run<'a>) -> &'a [Beats]) -> Vec<usize> {
        let mut numbers: Vec<usize> = Vec::new();
        for run in &self.runs {
            for number in feeds(run).iter().map(|feed| run.place(feed).0.tensor) {
                let tensor = &self.tensors[number];
                let is_known = tensor.constant.is_none() && !matches!(tensor.role, Travels::Constant | Travels::Kept);
                if is_known && !numbers.contains(&number) {
                    numbers.push(number);
                }
            }
        }
        if self.runs.len() > 1 {
            numbers.sort_unstable();
        }
        numbers
    }

    /// Whether the host keeps the words of a tensor of the model: where several runs load it.
    pub(super) fn keeps_model(&self, number: usize) -> bool {
        self.runs.len() > 1 && matches!(self.tensors[number].role, Travels::Model)
    }
}

impl<'a> Run<'a> {
    /// Where what some beats carry lies, and the extents that they count by.
    pub(super) fn place(&self, feed: &Beats) -> (&Place, &'a [u32]) {
        let known = self.layout.tensors.iter().position(|tensor| tensor.name == feed.tensor);
        let number = known.expect("a layout has the tensors of its beats");
        (&self.places[number], &self.layout.tensors[number].extents)
    }

    /// Beats that load the model, if anything does.
    pub(super) fn model_in(&self) -> &'a [Beats] {
        if self.layout.entries.load_model.is_some() { &self.layout.model_in } else { &[] }
    }

    /// Beats of the input of a step.
    pub(super) fn step_in(&self) -> &'a [Beats] {
        if self.layout.entries.step_load.is_some() { &self.layout.step_in } else { &[] }
    }

    /// Beats of the output of a step.
    pub(super) fn step_out(&self) -> &'a [Beats] {
        if self.layout.entries.emit_step.is_some() { &self.layout.step_out } else { &[] }
    }

    /// Beats of the model at the end.
    pub(super) fn model_out(&self) -> &'a [Beats] {
        if self.layout.entries.emit_model.is_some() { &self.layout.model_out } else { &[] }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// By hand: in 4 x 6 elements the box of rows 1 to 3 and columns 2 to 6 begins at element 8; its columns may be counted as two pairs.
    #[test]
    fn boxes_lie_where_their_strides_say() {
        let place = Region { low: vec![1, 2], high: vec![3, 6] };
        let of = |extents: &[u32]| Place::of_box(7, &place, &[4, 6], extents);
        let at = |strides: &[u64]| Some(Place { tensor: 7, first: 8, strides: strides.to_vec() });
        assert_eq!(of(&[2, 4]), at(&[6, 1]));
        assert_eq!(of(&[2, 2, 2]), at(&[6, 2, 1]));
        assert_eq!(of(&[1, 2, 1, 4]), at(&[0, 6, 0, 1]));
        // One loop over both dimensions of the box would leave it.
        assert_eq!(of(&[8]), None);
        assert_eq!(Place::whole(0, &[3, 5]), Place { tensor: 0, first: 0, strides: vec![5, 1] });
    }
}
