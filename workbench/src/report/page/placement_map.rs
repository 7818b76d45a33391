//! Placement of a tensor's elements: words per PE, and a drawing of the grid.
//!
//! Loaded words are followed beat by beat; the axes of its dimensions place a computed tensor.

use crate::report::page::charts;
use arch::Image;
use compiler::placed::Axis;
use schemars::JsonSchema;
use serde::Serialize;
use std::fmt::Write;

/// One tensor on the grid.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Map {
    /// Its name.
    pub name: String,
    /// The axis of each dimension, for people.
    pub axes: String,
    /// Rows of the grid.
    pub pus: u32,
    /// Columns of the grid.
    pub pes_per_pu: u32,
    /// Words of each PE, row by row.
    pub words: Vec<u64>,
}

/// What people call an axis.
pub fn axis_name(axis: Axis) -> &'static str {
    match axis {
        Axis::Local => "local",
        Axis::Column => "columns",
        Axis::Row => "rows",
        Axis::Grid => "all PEs",
        Axis::Tall => "all PEs, rows first",
    }
}

/// Elements of one dimension that lie on a lane: they are dealt out in turn.
fn dealt(extent: u32, lanes: u32, lane: u32) -> u64 {
    u64::from(extent / lanes) + u64::from(lane < extent % lanes)
}

fn axes_text(axes: &[Axis]) -> String {
    let names: Vec<&str> = axes.iter().map(|&axis| axis_name(axis)).collect();
    if names.is_empty() { "scalar, in every PE".to_owned() } else { names.join(", ") }
}

impl Map {
    /// A tensor of this shape, each dimension on its axis.
    pub fn new(name: &str, shape: &[u32], axes: &[Axis], pus: u32, pes_per_pu: u32) -> Map {
        let of_pe = |pe: u32| {
            let (row, column) = (pe / pes_per_pu, pe % pes_per_pu);
            let elements = shape.iter().zip(axes).map(|(&extent, axis)| match axis {
                Axis::Local => u64::from(extent),
                Axis::Row => dealt(extent, pus, row),
                Axis::Column => dealt(extent, pes_per_pu, column),
                Axis::Grid => dealt(extent, pus * pes_per_pu, pe),
                Axis::Tall => dealt(extent, pus * pes_per_pu, column * pus + row),
            });
            elements.product::<u64>()
        };
        let axes = axes_text(axes);
        let words = (0..pus * pes_per_pu).map(of_pe).collect();
        Map { name: name.to_owned(), axes, pus, pes_per_pu, words }
    }

    /// Where the loader puts the words of a tensor: exactly, beat by beat. `None`: it is not loaded.
    pub fn loaded(image: &Image, tensor: usize, axes: &[Axis]) -> Option<Map> {
        let machine = &image.machine;
        let (pus, pes_per_pu, lanes) = (machine.pus(), machine.pes_per_pu(), machine.stream_words());
        let stream = &image.tensors[tensor];
        let mut words = vec![0u64; (pus * pes_per_pu) as usize];
        let mut taken = vec![false; words.len()];
        let phases = [(image.entries.load_model, &image.model_in), (image.entries.step_load, &image.step_in)];
        let mut found = false;
        for (entry, feeds) in phases {
            let Some(entry) = entry else { continue };
            let instructions = image.load.get(entry as usize..).unwrap_or_default();
            for (load, feed) in instructions.iter().zip(feeds).filter(|(_, feed)| feed.tensor == tensor) {
                found = true;
                feed.for_each_beat(|counters| {
                    load.mask.fill(pus, pes_per_pu, &load.counts, counters, &mut taken);
                    for (pe, words) in (0..).zip(&mut words) {
                        let group = counters.get(load.pick_group as usize).is_none_or(|&group| group == pe / lanes);
                        let lane = if load.scatter { pe % lanes } else { 0 };
                        let there =
                            taken[pe as usize] && group && feed.element(&stream.shape, counters, lane).is_some();
                        *words += u64::from(there);
                    }
                });
            }
        }
        let axes = axes_text(axes);
        found.then(|| Map { name: stream.name.clone(), axes, pus, pes_per_pu, words })
    }

    /// The most words of a PE.
    pub fn most(&self) -> u64 {
        self.words.iter().copied().max().unwrap_or(0)
    }

    /// The grid, darker where there are more words.
    pub fn svg(&self) -> String {
        let mut svg = charts::opening(
            &format!("placement of {}", self.name),
            f64::from(self.pes_per_pu) * 10.0,
            f64::from(self.pus) * 10.0,
        );
        let most = self.most().max(1) as f64;
        for (pe, &words) in (0..).zip(&self.words) {
            let (x, y) = (pe % self.pes_per_pu * 10, pe / self.pes_per_pu * 10);
            let shade = if words == 0 { 0.06 } else { 0.25 + 0.75 * words as f64 / most };
            let _ = write!(
                svg,
                "<rect class=\"fill0\" x=\"{}\" y=\"{}\" width=\"8\" height=\"8\" rx=\"1\" opacity=\"{shade:.2}\"/>",
                x + 1,
                y + 1
            );
        }
        svg + "</svg>"
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_element_lies_somewhere() {
        let map = Map::new("w", &[5, 3], &[Axis::Row, Axis::Column], 2, 2);
        assert_eq!(map.words, [6, 3, 4, 2]);
        assert_eq!((map.words.iter().sum::<u64>(), map.most(), map.axes.as_str()), (15, 6, "rows, columns"));
        assert_eq!(Map::new("x", &[5], &[Axis::Grid], 2, 2).words, [2, 1, 1, 1]);
        assert_eq!(Map::new("x", &[6], &[Axis::Tall], 2, 2).words, [2, 1, 2, 1]);
        assert_eq!(Map::new("h", &[], &[], 1, 2).words, [1, 1]);
        assert_eq!(Map::new("<b>", &[1], &[Axis::Local], 1, 1).svg().matches("<b>").count(), 0);
    }
}
