//! Bounds of a training's speed: the least of grid, store, link and output.

use crate::design::Design;
use crate::failure::Failure;
use crate::project::Project;
use crate::project::store::{Store, StoreNeeds};
use crate::simulated::Bound;
use crate::supply::{BITS_OF_A_BYTE, Epochs};
use arch::Image;
use arch::axi::Geometry;
use arch::image::Feed;
use arch::link;
use arch::store::Pattern;

/// The image that trains.
fn image(design: &Design) -> &Image {
    &design.images.full.as_ref().expect("a training has updates").image
}

/// Its epochs.
fn epochs(design: &Design) -> Epochs {
    Epochs::new(design.samples.train.len(), &design.schedule, design.lowered.rest.is_some())
}

/// Cycles of a sample that comes over the stream of a shell, and what bounds them.
pub(super) fn streamed(project: &Project, design: &Design) -> Result<(f64, Bound), Failure> {
    let image = image(design);
    let transfers = u64::from(Geometry::of(&image.machine).transfers);
    let beats: u64 = image.step_in.iter().map(Feed::beats).sum();
    let stream = (beats * transfers) as f64 / design.schedule.batch as f64;
    let grid = design.pace()?.cycles_per_sample;
    let coming = if grid >= stream { (grid, Bound::Grid) } else { (stream, Bound::Link) };
    Ok(slower(coming, leaving(project, design)?))
}

/// Cycles in which the words leave that a sample gives: one after the other on a serial line, otherwise as many at a time as the grid gives.
fn leaving(project: &Project, design: &Design) -> Result<f64, Failure> {
    let bounds = design.pace()?.bounds;
    let serial = project.board.facts().and_then(|facts| facts.io.as_ref());
    Ok(serial.map_or(bounds.by_resource.output_words, |serial| {
        let bytes = bounds.work.output_words * link::word_bytes(image(design).machine.word()) as f64;
        bytes * BITS_OF_A_BYTE * project.board.clock_mhz * 1e6 / f64::from(serial.baud)
    }))
}

/// The slower of what comes or is computed and what leaves. A grid that does little but wait for its output is bound by that.
fn slower((cycles, bound_by): (f64, Bound), leaving: f64) -> (f64, Bound) {
    let waits = bound_by == Bound::Grid && leaving >= OUTPUT_SHARE * cycles;
    if leaving > cycles || waits { (cycles.max(leaving), Bound::Output) } else { (cycles, bound_by) }
}

/// Part of its cycles in which a grid that waits for its output gives words.
const OUTPUT_SHARE: f64 = 0.9;

/// Samples per second of a training once its samples are on the board, and what bounds them: by the array's cycles, the stream, and the rate
/// of the line, on which frames and waiting are not counted. Without a board samples are there.
///
/// # Errors
/// The configuration asks for a store where there is no room.
pub fn expected(project: &Project, design: &Design) -> Result<(f64, Bound), Failure> {
    let clock_hz = project.board.clock_mhz * 1e6;
    let Some(facts) = project.board.facts() else {
        let (cycles, bound_by) = slower((design.pace()?.cycles_per_sample, Bound::Grid), leaving(project, design)?);
        return Ok((clock_hz / cycles, bound_by));
    };
    if facts.io.is_none() {
        let (cycles, bound_by) = streamed(project, design)?;
        return Ok((clock_hz / cycles, bound_by));
    }
    let image = image(design);
    let store = project.store(&image.machine, store_needs(design))?;
    let (cycles, bound_by) = slower(coming(project, design, store)?, leaving(project, design)?);
    Ok((clock_hz / cycles, bound_by))
}

/// Cycles of a sample that comes to the grid and is computed, and which of the two takes longer.
fn coming(project: &Project, design: &Design, store: Store) -> Result<(f64, Bound), Failure> {
    let grid = design.pace()?.cycles_per_sample;
    let (cycles, bound_by) = epochs(design).coming(project, image(design), store);
    let cycles = cycles / design.schedule.batch as f64;
    Ok(if grid >= cycles { (grid, Bound::Grid) } else { (cycles, bound_by) })
}

/// Rows of a store that the samples of a training take. `None`: there are none, or they do not lie in rows.
pub fn rows(design: &Design) -> Option<u64> {
    store_needs(design).rows
}

/// Rows that are sent to a store with so many batches: theirs, and those of the weights where that is shorter than their beats.
pub(super) fn rows_sent(design: &Design, batches: usize) -> u64 {
    let image = image(design);
    let weights = Pattern::of_model(image).filter(|pattern| pattern.rows() < pattern.beats());
    let batch = epochs(design).pattern(image).map_or(0, |pattern| pattern.rows());
    (weights.map_or(0, |pattern| pattern.rows()) + batch * batches as u64).max(1)
}

/// What a training asks of a store.
pub fn store_needs(design: &Design) -> StoreNeeds {
    epochs(design).needs(image(design))
}

/// Whether the samples of a training stay in a store: they fit, and every epoch has the same.
pub(super) fn stay(design: &Design, store: Store) -> bool {
    epochs(design).stay(image(design), store)
}

/// Cycles of a sample that comes from the store, and what bounds them. What does not stay there is bound by the link.
///
/// # Errors
/// A bug: the array gets stuck.
pub fn from_store(project: &Project, design: &Design, store: Store) -> Result<(f64, Bound), Failure> {
    if !stay(design, store) {
        return Ok((design.pace()?.cycles_per_sample, Bound::Link));
    }
    Ok(slower(coming(project, design, store)?, leaving(project, design)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The hardware of a case of the table.
    fn designed(case: &str, board: &str, batch: u32) -> (Project, Design) {
        let cases = crate::system::read().unwrap();
        let case = cases.iter().find(|known| known.name == case).unwrap();
        let run = case.runs.iter().find(|run| run.board == board && run.batch == batch).unwrap();
        let training = crate::system::training(case, run, &()).unwrap();
        let design = training.design(&training.ranges(&()).unwrap(), &()).unwrap();
        (training.project, design)
    }

    /// A batch as a whole takes so many block memories that the store cannot hold the samples; in tiles it takes a little longer, and they stay.
    #[test]
    fn tiles_leave_the_store_its_memories() {
        let (project, design) = designed("logistic_30", "tangnano20k", 64);
        let store = project.store(&design.images.machine, store_needs(&design)).unwrap();
        let tile = design.images.full.as_ref().unwrap().tile;
        assert!(stay(&design, store) && tile.is_some(), "{tile:?}, {}", store.text());
    }

    /// Samples that no store holds come fastest to tiles beside which there is no room for the prediction.
    #[test]
    fn fast_input_leaves_other_programs_their_room() {
        let (project, design) = designed("recommender_138_130_10", "tangnano20k", 64);
        assert_eq!(crate::system::lacks(&project, &design.images.machine), None);
    }

    #[test]
    fn the_slowest_bounds_the_speed() {
        assert_eq!(slower((100.0, Bound::Grid), 80.0), (100.0, Bound::Grid));
        assert_eq!(slower((100.0, Bound::Grid), 95.0), (100.0, Bound::Output));
        assert_eq!(slower((100.0, Bound::Store), 95.0), (100.0, Bound::Store));
        assert_eq!(slower((100.0, Bound::Link), 120.0), (120.0, Bound::Output));
    }
}
