//! Tiles for several machines, each of which has some tiles of every batch.
//!
//!     batch of 16, 2 machines, tiles of 4      machine 0: tiles 0 and 1, then the conclusion
//!                                              machine 1: tiles 2 and 3, then the conclusion
//!
//! All machines do the [conclusion](crate::jobs::conclusion), which ends the batch; where that cannot do without samples, the last tile. Small
//! tiles are divided more evenly, large ones take fewer cycles per sample.

use super::limits::Limits;
use super::{Choice, Found, rectifiers, search_as};
use crate::fixed::Program;
use crate::image::refuse::{self, Refusal};
use crate::placed::{shares, tile};
use arch::{Code, Diagnostic, Machine};

/// What takes this many times the fewest samples in a machine is not tried.
const MOST_SAMPLES: f64 = 1.3;

/// Cycles in which the sums of a batch leave the grid and come back, if they do: all words of the pads up to the last that has one.
fn exchange(machine: &Machine, words: u32) -> u64 {
    if !machine.hands_out_sums() {
        return 0;
    }
    let beats = |lanes: u32| u64::from(words * machine.parts_of_sum()) * u64::from(machine.pes() / lanes);
    beats(machine.output_words()) + beats(machine.stream_words())
}

/// Place and schedule tiles of the size with which a batch takes the fewest cycles.
pub(super) fn search(program: &Program, limits: Limits<'_>, machines: u32) -> Result<Found, Refusal> {
    let machine = limits.machine;
    refuse::check_program(program, machine)?;
    let program = &rectifiers::suited(program, machine);
    let batch = shares::shares(program).map_err(Refusal::unsupported)?.batch;
    if machine.gradient_depth() == 0 {
        let message = "a machine without gradient pads keeps no sums of a batch for other machines";
        let diagnostic = Diagnostic::global(Code::Backend, message);
        return Err(Refusal::unsupported(diagnostic.with_help("leave `gradient_depth` in the [machine] table out")));
    }
    let sizes = tile::sizes(batch);
    let samples = |size: u32| f64::from((batch / size).div_ceil(machines) * size);
    let fewest = sizes.iter().map(|&size| samples(size)).fold(f64::INFINITY, f64::min);
    let mut best: Option<(u64, Found)> = None;
    let mut refusal = None;
    for size in sizes.into_iter().filter(|&size| size == 1 || samples(size) <= MOST_SAMPLES * fewest) {
        let tiled = tile::cut(program, size).expect("a batch that can be divided is cut");
        match search_as(&tiled, limits, Choice::Best) {
            Ok(mut found) => {
                found.built.conclude(limits, batch / size, machines);
                let exchange = exchange(machine, found.words().gradient);
                let cycles = found.built.cycles_divided(batch / size, machines) + exchange;
                if best.as_ref().is_some_and(|(least, _)| *least <= cycles) {
                    // Fewer samples take fewer cycles until they do not; how many sums they leave goes up and down.
                    if exchange == 0 {
                        break;
                    }
                    continue;
                }
                best = Some((cycles, found));
            }
            Err(does_not @ Refusal::DoesNotFit { .. }) => refusal = Some(does_not),
            Err(unsupported) => return Err(unsupported),
        }
    }
    match (best, refusal) {
        (Some((_, found)), _) => Ok(found),
        (None, refusal) => Err(refusal.expect("tiles of one sample were tried")),
    }
}
