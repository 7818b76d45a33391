//! A grid with a sample store before it, cycle by cycle: the model of `hdl::store` (docs/store.md).
//!
//!     beats ──┬────────────── Pass ──────────────┬──▶ grid
//!             └─ Fill, Stream ─▶ rows ─ Play ─────┘
//!
//! It is a grid itself: what drives a grid drives it, and it stands before the array or before any other grid. The one thing it does not do as
//! hardware does: while a register of the grid is read or written, no beat goes from the store to the grid.

mod places;

use crate::grid::{CycleResult, Grid};
use arch::registers::{ABORT, CONTROL};
use arch::store::{self, BEATS_BITS, COUNT_BITS, Mode, PATTERN_ENTRIES, QUEUE, REGION, WIDTH_BITS};
use arch::timing;
use places::Places;
use std::collections::VecDeque;

/// A grid and its store.
#[derive(Debug, Clone)]
pub struct Stored<G> {
    grid: G,
    rows: Vec<Vec<i64>>,
    mode: Mode,
    records: u32,
    epochs: u32,
    tag: u32,
    /// Of an order of its own in each epoch.
    key: u32,
    batch_rows: u32,
    ring: Ring,
    /// A register's address and what is written to it in the next cycle.
    written: Option<(u32, u32)>,
    player: Player,
    /// Beats on their way to the queue, the youngest first.
    stages: [Option<Vec<i64>>; 5],
    queue: VecDeque<Vec<i64>>,
}

impl<G: Grid> Stored<G> {
    /// Before this grid, with so many rows of so many words.
    pub fn new(grid: G, rows: u32, lanes: u32) -> Stored<G> {
        Stored {
            grid,
            rows: vec![vec![0; lanes as usize]; rows as usize],
            mode: Mode::Pass,
            records: 0,
            epochs: 0,
            tag: 0,
            key: 0,
            batch_rows: 0,
            ring: Ring::default(),
            written: None,
            player: Player::new(lanes),
            stages: Default::default(),
            queue: VecDeque::new(),
        }
    }

    /// Reset the store, not what it holds; `reset` does it to the grid.
    pub fn reset(&mut self, reset: impl FnOnce(&mut G)) {
        self.halt();
        reset(&mut self.grid);
    }

    fn halt(&mut self) {
        self.written();
        self.mode = Mode::Pass;
        self.ring.streams = false;
        self.stages = Default::default();
        self.queue.clear();
    }

    fn on_their_way(&self) -> usize {
        self.queue.len() + self.stages.iter().flatten().count()
    }

    fn passing(&self) -> bool {
        self.mode == Mode::Pass && self.on_their_way() == 0
    }

    /// A cycle in which the control port has nothing for the grid.
    fn transfer(&mut self, input: Option<&[i64]>, output_ready: bool) -> CycleResult {
        if self.passing() {
            let result = self.grid.cycle(input, output_ready);
            self.advance(None, false);
            return result;
        }
        let from_grid = self.grid.cycle(self.queue.front().map(Vec::as_slice), output_ready);
        let fills = self.mode == Mode::Fill && self.player.row < self.rows.len();
        let streams = self.mode == Mode::Play && self.ring.may_fill(self.rows.len());
        let fill = input.filter(|_| fills || streams);
        self.advance(fill, from_grid.input_taken);
        CycleResult { input_taken: fill.is_some(), output: from_grid.output }
    }

    /// The end of a cycle: the registers of the store take their next values.
    fn advance(&mut self, fill: Option<&[i64]>, taken: bool) {
        let may = self.on_their_way() < QUEUE && self.ring.may_play();
        let playing = self.mode == Mode::Play;
        self.player.ring = self.ring.streams.then_some(self.rows.len());
        let issued = self.player.advance(playing, may, self.records, self.batch_rows as usize);
        let row_behind = self.ring.behind;
        let played = issued.as_ref().is_some_and(|issued| issued.ends >= Ends::Row);
        self.ring.advance(self.rows.len(), playing && fill.is_some(), played);
        if taken {
            self.queue.pop_front();
        }
        let [first, second, third, fourth, fifth] = std::mem::take(&mut self.stages);
        self.queue.extend(fifth);
        self.stages = [issued.as_ref().map(|issued| self.beat(issued)), first, second, third, fourth];
        if issued.is_some_and(|issued| issued.ends == Ends::AllEpochs) {
            self.mode = Mode::Pass;
        }
        match fill {
            Some(beat) if playing => self.rows[row_behind].copy_from_slice(beat),
            Some(beat) => {
                self.rows[self.player.row].copy_from_slice(beat);
                self.player.row += 1;
            }
            None => {}
        }
        self.written();
    }

    fn beat(&self, issued: &Issued) -> Vec<i64> {
        let row = &self.rows[issued.row];
        let words = 1 << issued.width;
        let has = |lane: usize| lane < words || issued.repeated;
        let word = |lane: usize| if has(lane) { row[issued.lane + lane % words] } else { 0 };
        (0..row.len()).map(word).collect()
    }

    /// Do what was written in the cycle before.
    fn written(&mut self) {
        if let Some((address, data)) = self.written.take() {
            self.write(address, data);
        }
    }

    fn write(&mut self, address: u32, data: u32) {
        let count = data & ((1 << COUNT_BITS) - 1);
        match address {
            store::MODE => {
                let modes = Mode::ALL.map(|(mode, ..)| mode);
                let asked = modes.into_iter().find(|mode| *mode as u32 == data & 7).unwrap_or(Mode::Pass);
                self.mode = if matches!(asked, Mode::Permuted | Mode::Stream) { Mode::Play } else { asked };
                if matches!(asked, Mode::Fill | Mode::Stream) {
                    self.tag = 0;
                }
                self.ring = Ring { streams: asked == Mode::Stream, ..Ring::default() };
                self.player.restart(self.records, self.epochs, asked == Mode::Permuted);
                self.player.places.restart(self.records, self.key);
            }
            store::RECORDS => self.records = count,
            store::EPOCHS => self.epochs = count,
            store::EPOCHS_LEFT => self.player.final_epoch = true,
            store::TAG => self.tag = data,
            store::KEY => self.key = data,
            store::BATCH_ROWS => self.batch_rows = data & (self.rows.len().next_power_of_two().max(2) as u32 - 1),
            _ if address & store::PATTERN == store::PATTERN => {
                self.player.pattern[address as usize % PATTERN_ENTRIES] = data;
            }
            _ => {}
        }
    }

    fn read(&self, address: u32) -> u32 {
        let mode = if self.on_their_way() > 0 { Mode::Play } else { self.mode };
        match address {
            store::ROWS => self.rows.len() as u32,
            store::MODE => mode as u32,
            store::RECORDS => self.records,
            store::EPOCHS => self.epochs,
            store::RECORDS_LEFT => self.player.records_left,
            store::EPOCHS_LEFT => self.player.epochs_left,
            store::TAG => self.tag,
            store::ROW => self.player.row as u32,
            store::KEY => self.key,
            store::BATCH_ROWS => self.batch_rows,
            store::PERMUTES | store::STREAMS => 1,
            _ => 0,
        }
    }
}

fn is_here(address: u32) -> bool {
    address >> 16 == REGION
}

impl<G: Grid> Grid for Stored<G> {
    fn control_write(&mut self, address: u32, data: u32) {
        if is_here(address) {
            self.transfer(None, false);
            self.written = Some((address, data));
            return;
        }
        self.grid.control_write(address, data);
        self.advance(None, false);
        if address == CONTROL && data & ABORT != 0 {
            self.halt();
        }
    }

    fn control_read(&mut self, address: u32) -> u32 {
        if is_here(address) {
            self.transfer(None, false);
            let value = self.read(address);
            for _ in 1..timing::CONTROL_READ {
                self.transfer(None, false);
            }
            return value;
        }
        let value = self.grid.control_read(address);
        for _ in 0..timing::CONTROL_READ {
            self.advance(None, false);
        }
        value
    }

    fn cycle(&mut self, input: Option<&[i64]>, output_ready: bool) -> CycleResult {
        self.transfer(input, output_ready)
    }

    fn failure(&self) -> Option<String> {
        self.grid.failure()
    }

    fn take_over(&mut self) -> bool {
        self.grid.take_over()
    }
}

/// The rows of a stream: filled behind, played before, in turns.
#[derive(Debug, Clone, Copy, Default)]
struct Ring {
    streams: bool,
    /// A row may be filled in this cycle, and none read.
    turn: bool,
    /// The row that is filled next.
    behind: usize,
    /// Rows to be played to their end.
    waiting: usize,
    /// The same a cycle before.
    seen: usize,
}

impl Ring {
    fn may_fill(&self, rows: usize) -> bool {
        self.streams && self.turn && self.seen < rows
    }

    fn may_play(&self) -> bool {
        !self.streams || !self.turn && self.seen > 0
    }

    /// One cycle, in which a row was filled, or played to its end.
    fn advance(&mut self, rows: usize, filled: bool, played: bool) {
        self.seen = self.waiting;
        self.turn = !self.turn;
        if self.streams {
            self.behind = (self.behind + usize::from(filled)) % rows;
            self.waiting = self.waiting + usize::from(filled) - usize::from(played);
        }
    }
}

/// A beat at the beginning of its way.
struct Issued {
    row: usize,
    lane: usize,
    width: u32,
    /// Its words stand in the other lanes, too.
    repeated: bool,
    ends: Ends,
}

/// The largest of the things whose last beat this is; each ends what is above it here, too.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Ends {
    Nothing,
    Row,
    Batch,
    AllEpochs,
}

/// Where a batch begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Batch {
    /// Behind the one before.
    Follows,
    /// Where its order says, which has not been said yet.
    Waits,
    /// Where that has been said.
    Placed,
}

/// Which words of which row are the next beat.
#[derive(Debug, Clone)]
struct Player {
    lanes: usize,
    pattern: [u32; PATTERN_ENTRIES],
    /// The next entry, and the cycles until it has been read.
    entry: usize,
    fetching: u32,
    beats_left: u32,
    width: u32,
    repeated: bool,
    final_entry: bool,
    row: usize,
    lane: usize,
    records_left: u32,
    epochs_left: u32,
    /// It is the last one, however many are left.
    final_epoch: bool,
    batch: Batch,
    places: Places,
    /// Behind the last of so many rows comes the first one.
    ring: Option<usize>,
}

impl Player {
    fn new(lanes: u32) -> Player {
        Player {
            lanes: lanes as usize,
            pattern: [0; PATTERN_ENTRIES],
            entry: 0,
            fetching: 0,
            beats_left: 0,
            width: 0,
            repeated: false,
            final_entry: false,
            row: 0,
            lane: 0,
            records_left: 0,
            epochs_left: 0,
            final_epoch: false,
            batch: Batch::Follows,
            places: Places::default(),
            ring: None,
        }
    }

    fn restart(&mut self, records: u32, epochs: u32, permuted: bool) {
        self.final_epoch = epochs == 1;
        self.batch = if permuted { Batch::Waits } else { Batch::Follows };
        (self.row, self.lane, self.entry, self.fetching, self.beats_left) = (0, 0, 0, 1, 0);
        (self.records_left, self.epochs_left) = (records, epochs);
    }

    /// One cycle; the beat that begins its way in it.
    fn advance(&mut self, playing: bool, may: bool, records: u32, batch_rows: usize) -> Option<Issued> {
        if !playing {
            self.fetching = 0;
            self.places.cycle(false, batch_rows);
            return None;
        }
        let waits = self.batch == Batch::Waits;
        let issued = (self.beats_left > 0 && !waits && may).then(|| self.issue(records));
        let ends = issued.as_ref().is_some_and(|issued| issued.ends >= Ends::Batch);
        let wanted = waits || self.batch == Batch::Placed && ends;
        let take = wanted && self.places.there;
        if wanted {
            self.row = self.places.row;
            self.batch = if take { Batch::Placed } else { Batch::Waits };
        }
        self.places.cycle(take, batch_rows);
        if self.fetching > 0 {
            self.fetching -= 1;
        } else if self.beats_left == 0 {
            let fetched = self.pattern[self.entry];
            self.beats_left = fetched & ((1 << BEATS_BITS) - 1);
            self.width = fetched >> BEATS_BITS & ((1 << WIDTH_BITS) - 1);
            self.repeated = fetched >> (BEATS_BITS + WIDTH_BITS) & 1 == 1;
            self.final_entry = fetched >> (BEATS_BITS + WIDTH_BITS + 1) & 1 == 1;
            self.entry = if self.final_entry { 0 } else { self.entry + 1 };
            self.fetching = 1;
        }
        issued
    }

    fn issue(&mut self, records: u32) -> Issued {
        let Player { row, lane, width, repeated, .. } = *self;
        let mut issued = Issued { row, lane, width, repeated, ends: Ends::Nothing };
        self.beats_left -= 1;
        let words = 1 << self.width;
        self.lane += words;
        if self.beats_left > 0 && self.lane + words <= self.lanes {
            return issued;
        }
        issued.ends = Ends::Row;
        (self.row, self.lane) = (self.ring.map_or(row + 1, |rows| (row + 1) % rows), 0);
        if self.beats_left == 0 && self.final_entry {
            issued.ends = Ends::Batch;
            self.records_left = self.records_left.wrapping_sub(1);
            if self.records_left == 0 {
                self.row = if self.ring.is_some() { self.row } else { 0 };
                self.records_left = records;
                if self.final_epoch {
                    issued.ends = Ends::AllEpochs;
                }
                self.epochs_left = self.epochs_left.wrapping_sub(1);
                self.final_epoch = self.epochs_left == 1;
            }
        }
        issued
    }
}
