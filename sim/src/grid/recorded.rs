//! A grid whose host is written down: what went through its ports, in order, so that it can be played again elsewhere.

use super::{CycleResult, Grid};
use arch::timing;

/// What a host did, and what it got.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Session {
    /// Writes of the control port: address, data.
    pub writes: Vec<(u32, u32)>,
    /// Beats that were taken.
    pub beats: Vec<Vec<i64>>,
    /// Beats that came out, each with the cycle in which it did: 0 is the first one after the last write of the control port.
    pub results: Vec<(Vec<i64>, u64)>,
}

/// A grid with a [`Session`].
#[derive(Debug)]
pub struct Recorded<G> {
    grid: G,
    session: Session,
    /// Cycles since the last write.
    cycles: u64,
}

impl<G: Grid> Recorded<G> {
    /// Nothing has happened yet.
    pub fn new(grid: G) -> Recorded<G> {
        Recorded { grid, session: Session::default(), cycles: 0 }
    }

    /// What has happened so far.
    pub fn into_session(self) -> Session {
        self.session
    }
}

impl<G: Grid> Grid for Recorded<G> {
    fn control_write(&mut self, address: u32, data: u32) {
        self.session.writes.push((address, data));
        self.cycles = 0;
        self.grid.control_write(address, data);
    }

    fn control_read(&mut self, address: u32) -> u32 {
        self.cycles += timing::CONTROL_READ;
        self.grid.control_read(address)
    }

    fn cycle(&mut self, input: Option<&[i64]>, output_ready: bool) -> CycleResult {
        let result = self.grid.cycle(input, output_ready);
        if let (true, Some(beat)) = (result.input_taken, input) {
            self.session.beats.push(beat.to_vec());
        }
        if !result.output.is_empty() {
            self.session.results.push((result.output.clone(), self.cycles));
        }
        self.cycles += 1;
        result
    }
}
