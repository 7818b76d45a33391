//! A board behind the interface of all grids, so that the driver of the simulators drives it, too.
//!
//! A call is not a cycle here: the board's clock runs by itself, and what goes in and out is gathered into frames. Words and their
//! order are the same; cycle counts contain the waiting for the line.
//!
//! [`Grid`] cannot fail. When the link does, the grid is dead from then on, and [`Grid::failure`] says why.

use super::error::LinkError;
use super::host::{Link, Phase, Wire};
use crate::grid::{CycleResult, Grid};
use arch::registers::{BUSY, CONTROL};
use arch::store::{self, Mode};
use std::collections::VecDeque;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

/// Writes that are gathered before they are sent.
const WRITES: usize = 512;

/// A grid at the other end of a line.
pub struct LinkedGrid<W> {
    link: Link<W>,
    writes: Vec<(u32, u32)>,
    /// Words that the board has not said to have taken; the first `offered` of them are under way.
    outgoing: VecDeque<i64>,
    offered: usize,
    /// Words were refused, and none taken since: only as many are offered as the board has room for.
    crowded: bool,
    incoming: VecDeque<i64>,
    /// Nothing can come out before something goes in: the grid said that it is not busy.
    resting: bool,
    progress: Instant,
    /// Epochs and batches that the sample store has left, when they were read last.
    played: [u32; 2],
    failure: Option<LinkError>,
}

impl<W: Wire> LinkedGrid<W> {
    /// Use this link.
    pub fn new(link: Link<W>) -> LinkedGrid<W> {
        LinkedGrid {
            link,
            writes: Vec::new(),
            outgoing: VecDeque::new(),
            offered: 0,
            crowded: false,
            incoming: VecDeque::new(),
            resting: false,
            progress: Instant::now(),
            played: [0; 2],
            failure: None,
        }
    }

    /// Do something over the link, unless it failed before.
    fn attempt<T>(&mut self, task: impl FnOnce(&mut Self) -> Result<T, LinkError>) -> Option<T> {
        if self.failure.is_some() {
            return None;
        }
        match task(self) {
            Ok(value) => Some(value),
            Err(error) => {
                // A grid that hangs is left in a state from which the next session starts; what went wrong is told.
                if matches!(error, LinkError::Stalled { .. }) {
                    let _ = self.link.abort();
                }
                self.failure = Some(error);
                None
            }
        }
    }

    fn send_writes(&mut self) -> Result<(), LinkError> {
        let writes = std::mem::take(&mut self.writes);
        if !writes.is_empty() {
            self.link.write(&writes)?;
            self.progress = Instant::now();
        }
        Ok(())
    }

    /// Offer a frame of words, or wait for those that are offered. Takes output when the board has much of it, or does not take input because of
    /// it.
    fn send_words(&mut self) -> Result<(), LinkError> {
        let frame = self.link.words_per_frame();
        let [free, _] = self.link.levels().map(usize::from);
        let most = if self.crowded { frame.min(free) } else { frame };
        let words: Vec<i64> = self.outgoing.range(self.offered..).copied().take(most).collect();
        if !words.is_empty() {
            self.link.input(&words)?;
            self.offered += words.len();
        }
        if words.is_empty() || self.crowded {
            self.link.finish()?;
        }
        let settled = self.link.settled();
        self.outgoing.drain(..settled.taken);
        self.offered -= settled.taken;
        if settled.taken > 0 {
            self.progress = Instant::now();
            self.crowded = false;
        }
        if settled.refused {
            if !self.crowded {
                self.progress = Instant::now();
            }
            (self.offered, self.crowded) = (0, true);
        }
        let [_, ready] = self.link.levels().map(usize::from);
        if self.crowded || ready >= frame {
            self.fetch()?;
        }
        if self.crowded {
            self.check_progress(|| format!("it does not take its input, {} words wait here", self.outgoing.len()))?;
        }
        Ok(())
    }

    fn fetch(&mut self) -> Result<(), LinkError> {
        let words = self.link.output()?;
        if !words.is_empty() {
            self.progress = Instant::now();
            self.incoming.extend(words);
        }
        Ok(())
    }

    /// A store that plays makes progress, though nothing goes over the line.
    fn watch(&mut self, address: u32, value: u32) {
        let counters = [store::EPOCHS_LEFT, store::RECORDS_LEFT].into_iter().zip(&mut self.played);
        for (_, seen) in counters.filter(|&(counter, _)| counter == address) {
            if std::mem::replace(seen, value) != value {
                self.progress = Instant::now();
            }
        }
    }

    fn check_progress(&self, waiting: impl FnOnce() -> String) -> Result<(), LinkError> {
        let limit = self.link.patience().progress;
        if self.progress.elapsed() >= limit {
            return Err(LinkError::Stalled { seconds: limit.as_secs(), waiting: waiting() });
        }
        Ok(())
    }

    /// Everything that was written or offered is on the board.
    fn flush(&mut self) -> Result<(), LinkError> {
        self.send_writes()?;
        while !self.outgoing.is_empty() {
            self.send_words()?;
        }
        Ok(())
    }
}

impl<W: Wire> Grid for LinkedGrid<W> {
    fn control_write(&mut self, address: u32, data: u32) {
        self.attempt(|grid| {
            if !grid.outgoing.is_empty() {
                grid.flush()?;
            }
            grid.resting = false;
            if address == store::MODE || address == store::TAG {
                grid.send_writes()?;
            }
            match (address, data) {
                (store::MODE, data) if data == Mode::Fill as u32 => grid.link.phase(Phase::Upload)?,
                (store::MODE, data) if data == Mode::Play as u32 || data == Mode::Permuted as u32 => {
                    grid.link.phase(Phase::Play)?;
                }
                (store::TAG, _) => grid.link.phase(Phase::Talk)?,
                _ => {}
            }
            grid.writes.push((address, data));
            if grid.writes.len() >= WRITES { grid.send_writes() } else { Ok(()) }
        });
    }

    fn control_read(&mut self, address: u32) -> u32 {
        let value = self.attempt(|grid| {
            grid.flush()?;
            let value = grid.link.read(&[address])?[0];
            if address == CONTROL && value & BUSY == 0 {
                // What the run left in the buffer is fetched before it counts as at rest.
                loop {
                    let before = grid.incoming.len();
                    grid.fetch()?;
                    if grid.incoming.len() == before {
                        break;
                    }
                }
                grid.resting = true;
            } else if address == CONTROL {
                grid.check_progress(|| "its run does not end".to_owned())?;
            }
            grid.watch(address, value);
            if address == store::MODE && value == Mode::Pass as u32 {
                grid.link.phase(Phase::Talk)?;
            }
            Ok(value)
        });
        value.unwrap_or(0)
    }

    fn cycle(&mut self, input: Option<&[i64]>, output_ready: bool) -> CycleResult {
        let result = self.attempt(|grid| {
            grid.send_writes()?;
            let frame = grid.link.words_per_frame();
            let mut result = CycleResult::default();
            if let Some(beat) = input {
                grid.resting = false;
                if grid.outgoing.len() - grid.offered >= frame {
                    grid.send_words()?;
                }
                if grid.outgoing.len() - grid.offered < frame {
                    grid.outgoing.extend(beat);
                    result.input_taken = true;
                }
            } else if !grid.outgoing.is_empty() {
                grid.send_words()?;
            } else if output_ready && grid.incoming.is_empty() && !grid.resting {
                grid.fetch()?;
                if grid.incoming.is_empty() {
                    grid.check_progress(|| "output is expected, none comes".to_owned())?;
                }
            }
            if output_ready {
                result.output = grid.incoming.pop_front().into_iter().collect();
            }
            Ok(result)
        });
        result.unwrap_or_default()
    }

    fn failure(&self) -> Option<String> {
        self.failure.as_ref().map(LinkError::to_string)
    }
}

/// One grid that several drivers use in turn. What one loads is lost to the others.
pub struct Shared<G> {
    grid: Arc<Mutex<(G, u32)>>,
    user: u32,
    users: Arc<AtomicU32>,
}

impl<G: Grid> Shared<G> {
    /// The first handle.
    pub fn new(grid: G) -> Shared<G> {
        Shared { grid: Arc::new(Mutex::new((grid, 0))), user: 0, users: Arc::new(AtomicU32::new(0)) }
    }

    /// Another user's handle.
    #[must_use]
    pub fn handle(&self) -> Shared<G> {
        let user = self.users.fetch_add(1, Ordering::Relaxed) + 1;
        Shared { grid: Arc::clone(&self.grid), user, users: Arc::clone(&self.users) }
    }

    /// The grid and its last user. A user that panicked leaves it as it is: who comes next loads everything again.
    fn lock(&self) -> MutexGuard<'_, (G, u32)> {
        self.grid.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<G: Grid> Grid for Shared<G> {
    fn control_write(&mut self, address: u32, data: u32) {
        self.lock().0.control_write(address, data);
    }

    fn control_read(&mut self, address: u32) -> u32 {
        self.lock().0.control_read(address)
    }

    fn cycle(&mut self, input: Option<&[i64]>, output_ready: bool) -> CycleResult {
        self.lock().0.cycle(input, output_ready)
    }

    fn failure(&self) -> Option<String> {
        self.lock().0.failure()
    }

    fn take_over(&mut self) -> bool {
        std::mem::replace(&mut self.lock().1, self.user) != self.user
    }
}

#[cfg(test)]
mod tests;
