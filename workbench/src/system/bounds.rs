//! Bounds of a training's speed: the least of grid, store, link and output.

use crate::design::Design;
use crate::failure::Failure;
use crate::project::Project;
use crate::project::store::{Store, StoreNeeds};
use crate::simulated::Bound;
use arch::Image;
use arch::axi::Geometry;
use arch::image::Feed;
use arch::link;
use arch::store::{Pattern, row_in_words};
use sim::train::Schedule;
use sim::train::settings::Order;

/// The image that trains.
fn image(design: &Design) -> &Image {
    &design.images.full.as_ref().expect("a training has updates").image
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
    let Some(serial) = &facts.io else {
        let (cycles, bound_by) = streamed(project, design)?;
        return Ok((clock_hz / cycles, bound_by));
    };
    let image = image(design);
    let store = project.store(&image.machine, store_needs(design))?;
    let grid = design.pace()?.cycles_per_sample;
    if stay(design, store) {
        let (cycles, bound_by) = from_store(project, design, store)?;
        return Ok((clock_hz / cycles, bound_by));
    }
    let beats: u64 = image.step_in.iter().map(Feed::beats).sum();
    // Rows are packed: through a store they are sent instead, where that is shorter.
    let packed = Pattern::of(image).map(|pattern| pattern.rows()).filter(|_| store.rows > 0);
    let beats = packed.map_or(beats, |rows| rows.min(beats));
    let bytes = beats * u64::from(image.machine.stream_words()) * link::word_bytes(image.machine.word()) as u64;
    let line = clock_hz / f64::from(serial.baud) * BITS_OF_A_BYTE * bytes as f64 / design.schedule.batch as f64;
    let coming = if grid >= line { (grid, Bound::Grid) } else { (line, Bound::Link) };
    let (cycles, bound_by) = slower(coming, leaving(project, design)?);
    Ok((clock_hz / cycles, bound_by))
}

/// Rows of a store that the samples of a training take. `None`: there are none, or they do not lie in rows.
pub fn rows(design: &Design) -> Option<u64> {
    let batches = design.samples.train.len() / design.schedule.batch;
    Pattern::of(image(design)).map(|pattern| pattern.rows() * batches as u64)
}

/// Rows that are sent to a store with so many batches: theirs, and those of the weights where that is shorter than their beats.
pub(super) fn rows_sent(design: &Design, batches: usize) -> u64 {
    let image = image(design);
    let weights = Pattern::of_model(image).filter(|pattern| pattern.rows() < pattern.beats());
    let batch = Pattern::of(image).map_or(0, |pattern| pattern.rows());
    (weights.map_or(0, |pattern| pattern.rows()) + batch * batches as u64).max(1)
}

/// What a training asks of a store.
pub fn store_needs(design: &Design) -> StoreNeeds {
    StoreNeeds { rows: rows(design), permutes: design.schedule.order == Order::Permuted }
}

/// Whether the samples of a training stay in a store: they fit, and every epoch has the same.
pub(super) fn stay(design: &Design, store: Store) -> bool {
    let Schedule { order, rate, .. } = design.schedule;
    let again = order != Order::Shuffled && rate.is_none() && design.lowered.rest.is_none();
    again && rows(design).is_some_and(|rows| rows <= u64::from(store.rows))
}

/// Cycles of a sample that comes from the store, and what bounds them. Block memory gives a beat in every cycle. What does not stay there is bound
/// by the link.
///
/// # Errors
/// A bug: the array gets stuck.
pub fn from_store(project: &Project, design: &Design, store: Store) -> Result<(f64, Bound), Failure> {
    let grid = design.pace()?.cycles_per_sample;
    if !stay(design, store) {
        return Ok((grid, Bound::Link));
    }
    let sdram = project.board.facts().and_then(|facts| facts.sdram.as_ref()).filter(|_| store.in_sdram);
    let leaving = leaving(project, design)?;
    let (Some(sdram), Some(pattern)) = (sdram, Pattern::of(image(design))) else {
        return Ok(slower((grid, Bound::Grid), leaving));
    };
    let words = pattern.rows() * u64::from(row_in_words(&design.images.machine, sdram.data_bits).0);
    let cycles = words as f64 / SDRAM_SHARE / design.schedule.batch as f64;
    let coming = if grid >= cycles { (grid, Bound::Grid) } else { (cycles, Bound::Store) };
    Ok(slower(coming, leaving))
}

/// Part of the cycles in which an SDRAM gives a word of rows that are read in their order; the others are refresh, and rows of its own that are
/// opened. Measured in co-simulation at 100 MHz.
const SDRAM_SHARE: f64 = 0.96;

/// Bits of a byte on a serial line.
const BITS_OF_A_BYTE: f64 = 10.0;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_slowest_bounds_the_speed() {
        assert_eq!(slower((100.0, Bound::Grid), 80.0), (100.0, Bound::Grid));
        assert_eq!(slower((100.0, Bound::Grid), 95.0), (100.0, Bound::Output));
        assert_eq!(slower((100.0, Bound::Store), 95.0), (100.0, Bound::Store));
        assert_eq!(slower((100.0, Bound::Link), 120.0), (120.0, Bound::Output));
    }
}
