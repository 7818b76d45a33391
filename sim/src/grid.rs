//! A grid as its host sees it, cycle by cycle: the interface that every clocked simulator shares.
//!
//!                  ┌────────┐
//!      beats ─────▶│        │─────▶ words
//!      control ◀──▶│  grid  │
//!                  └────────┘
//!
//! Each call is exactly one clock cycle, a read of a register [`arch::timing::CONTROL_READ`] (docs/machine.md sections 5 to 7), so two
//! simulators that are given the same calls must return the same values, call by call. Words are sign-extended; a beat of input holds
//! `stream_words` of them, one of output `output_words`.
//!
//! | module | does |
//! |---|---|
//! | [`host`] | feeds beats and collects words, with or without stalls |
//! | [`lockstep`] | two grids side by side, compared in every cycle |
//! | [`recorded`] | a grid whose host is written down |

pub mod host;
pub mod lockstep;
pub mod recorded;

pub use host::{Host, Stalls};
pub use lockstep::{Lockstep, Mismatch};
pub use recorded::{Recorded, Session};
use std::collections::VecDeque;

/// What happened at the two streams in one clock cycle.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct CycleResult {
    /// Whether the offered beat was taken. False when none was offered.
    pub input_taken: bool,
    /// The words that left in this cycle, lane by lane. None when the output was empty or the host was not ready.
    pub output: Vec<i64>,
}

/// A grid under a clock.
pub trait Grid {
    /// Write one word through the control port. Takes one cycle; the streams are idle in it: no beat is offered, no output
    /// is accepted.
    fn control_write(&mut self, address: u32, data: u32);

    /// Read one register through the control port: the value it has in the cycle after the first one of this call. Takes
    /// [`arch::timing::CONTROL_READ`] cycles; the streams are idle in them.
    fn control_read(&mut self, address: u32) -> u32;

    /// One cycle with the control port idle: offer `input`, one word per stream lane, and accept an output if
    /// `output_ready`. A beat that was not taken has to be offered again.
    fn cycle(&mut self, input: Option<&[i64]>, output_ready: bool) -> CycleResult;

    /// Steps of which the grid knows that they pass as earlier ones did, at once: in each of their cycles the host offers one of these
    /// beats, or one that is made when it is needed, and accepts an output. Grids that know of none do nothing.
    fn repeat(
        &mut self,
        _offered: &mut VecDeque<Vec<i64>>,
        _more: &mut dyn FnMut() -> Option<Vec<i64>>,
        _words: &mut Vec<i64>,
    ) {
    }

    /// Why the grid is dead, if it is. Simulators live for ever; a board may be unplugged.
    fn failure(&self) -> Option<String> {
        None
    }

    /// The caller is going to use the grid. True when somebody else did since it last said so: what it loaded is lost.
    fn take_over(&mut self) -> bool {
        false
    }

    /// The array that it is, whose sums can be taken without a way for them, if it is one.
    fn array(&mut self) -> Option<&mut crate::array::Array> {
        None
    }
}

impl<G: Grid + ?Sized> Grid for Box<G> {
    fn control_write(&mut self, address: u32, data: u32) {
        (**self).control_write(address, data);
    }

    fn control_read(&mut self, address: u32) -> u32 {
        (**self).control_read(address)
    }

    fn cycle(&mut self, input: Option<&[i64]>, output_ready: bool) -> CycleResult {
        (**self).cycle(input, output_ready)
    }

    fn repeat(
        &mut self,
        offered: &mut VecDeque<Vec<i64>>,
        more: &mut dyn FnMut() -> Option<Vec<i64>>,
        words: &mut Vec<i64>,
    ) {
        (**self).repeat(offered, more, words);
    }

    fn failure(&self) -> Option<String> {
        (**self).failure()
    }

    fn take_over(&mut self) -> bool {
        (**self).take_over()
    }

    fn array(&mut self) -> Option<&mut crate::array::Array> {
        (**self).array()
    }
}

impl<G: Grid + ?Sized> Grid for &mut G {
    fn control_write(&mut self, address: u32, data: u32) {
        (**self).control_write(address, data);
    }

    fn control_read(&mut self, address: u32) -> u32 {
        (**self).control_read(address)
    }

    fn cycle(&mut self, input: Option<&[i64]>, output_ready: bool) -> CycleResult {
        (**self).cycle(input, output_ready)
    }

    fn repeat(
        &mut self,
        offered: &mut VecDeque<Vec<i64>>,
        more: &mut dyn FnMut() -> Option<Vec<i64>>,
        words: &mut Vec<i64>,
    ) {
        (**self).repeat(offered, more, words);
    }

    fn failure(&self) -> Option<String> {
        (**self).failure()
    }

    fn take_over(&mut self) -> bool {
        (**self).take_over()
    }

    fn array(&mut self) -> Option<&mut crate::array::Array> {
        (**self).array()
    }
}

#[cfg(test)]
mod tests {
    use super::host::Stuck;
    use super::*;
    use arch::registers::{BUSY, CONTROL, DONE};

    /// A grid that takes a beat in every third cycle and gives it back, negated, in the next one in which the host is ready.
    #[derive(Default)]
    struct Slow {
        clock: u64,
        held: Option<Vec<i64>>,
        /// The clock at which it is done.
        done_at: u64,
        reads: u32,
        writes: Vec<(u32, u32)>,
        /// What it was offered, and whether the host was ready, in each cycle.
        seen: Vec<(Option<i64>, bool)>,
        taken_over: bool,
    }

    impl Grid for Slow {
        fn control_write(&mut self, address: u32, data: u32) {
            self.clock += 1;
            self.writes.push((address, data));
        }

        fn control_read(&mut self, address: u32) -> u32 {
            assert_eq!(address, CONTROL);
            self.reads += 1;
            let done = self.clock >= self.done_at;
            self.clock += 3;
            if done { DONE } else { BUSY | DONE }
        }

        fn cycle(&mut self, input: Option<&[i64]>, output_ready: bool) -> CycleResult {
            self.seen.push((input.map(|beat| beat[0]), output_ready));
            let output = if output_ready { self.held.take().unwrap_or_default() } else { Vec::new() };
            let input_taken = self.clock % 3 == 2 && self.held.is_none() && input.is_some();
            if input_taken {
                self.held = input.map(|beat| beat.iter().map(|word| -word).collect());
            }
            self.clock += 1;
            CycleResult { input_taken, output }
        }

        fn failure(&self) -> Option<String> {
            (self.clock > 0).then(|| format!("unplugged at {}", self.clock))
        }

        fn take_over(&mut self) -> bool {
            std::mem::replace(&mut self.taken_over, false)
        }
    }

    /// Never taken, never ready with anything.
    struct Deaf(Vec<(bool, bool)>);

    impl Grid for Deaf {
        fn control_write(&mut self, _: u32, _: u32) {}

        fn control_read(&mut self, _: u32) -> u32 {
            0
        }

        fn cycle(&mut self, input: Option<&[i64]>, output_ready: bool) -> CycleResult {
            self.0.push((input.is_some(), output_ready));
            CycleResult::default()
        }
    }

    #[test]
    fn a_host_counts_the_cycles_that_beats_and_words_need() {
        let exchanged = |words, limit| {
            let (mut host, mut grid) = (Host::new(Stalls::none()), Slow::default());
            host.send(vec![1, 2]);
            host.send(vec![3, 4]);
            let end = host.exchange(&mut grid, words, limit);
            (end, grid.clock, host.beats_left(), host.take_words())
        };
        // Beats are taken in cycles 2 and 5, and come back in 3 and 6.
        assert_eq!(exchanged(4, 100), (Ok(()), 7, 0, vec![-1, -2, -3, -4]));
        assert_eq!(exchanged(4, 7), (Ok(()), 7, 0, vec![-1, -2, -3, -4]));
        assert_eq!(exchanged(2, 100), (Ok(()), 6, 0, vec![-1, -2]));
        let stuck = |cycles, beats_left, words| Err(Stuck { cycles, beats_left, words });
        assert_eq!(exchanged(4, 6), (stuck(6, 0, 2), 6, 0, vec![-1, -2]));
        assert_eq!(exchanged(0, 5), (stuck(5, 1, 2), 5, 1, vec![-1, -2]));
        assert_eq!(exchanged(5, 9), (stuck(9, 0, 4), 9, 0, vec![-1, -2, -3, -4]));
        let said = Stuck { cycles: 9, beats_left: 1, words: 4 }.to_string();
        assert_eq!(said, "no end after 9 cycles: 1 beats were not taken, 4 words came back");
    }

    #[test]
    fn a_host_asks_every_64_cycles_whether_the_run_is_done() {
        let asked = |done_at, limit| {
            let (mut host, mut grid) = (Host::new(Stalls::none()), Slow { done_at, ..Slow::default() });
            let end = host.finish(&mut grid, limit);
            (end.is_ok(), grid.reads, grid.clock)
        };
        assert_eq!(asked(0, 1), (true, 1, 3));
        assert_eq!(asked(100, 1000), (true, 3, 131));
        assert_eq!(asked(100, 129), (true, 3, 131));
        assert_eq!(asked(100, 128), (false, 2, 128));
    }

    #[test]
    fn stalls_are_as_frequent_as_asked_for_and_never_take_back_a_beat() {
        let (mut host, mut grid) = (Host::new(Stalls::seeded(7, 30, 60)), Slow::default());
        (0..4000).for_each(|n| host.send(vec![n]));
        (0..9000).for_each(|_| assert!(host.cycle(&mut grid).output.len() <= 1));
        let ready = grid.seen.iter().filter(|seen| seen.1).count();
        // 40 % of 9,000, with a deviation of 46.
        assert!((3400..3800).contains(&ready), "{ready}");
        // Whether the first beat is offered is decided anew in each cycle until it is: 70 % at once.
        let hosts = (0..1000).filter(|&seed| {
            let (mut host, mut grid) = (Host::new(Stalls::seeded(seed, 30, 60)), Deaf(Vec::new()));
            host.send(vec![1]);
            (0..20).for_each(|_| drop(host.cycle(&mut grid)));
            let offered: Vec<bool> = grid.0.iter().map(|seen| seen.0).collect();
            assert!(offered.is_sorted(), "{offered:?}");
            offered[0]
        });
        let at_once = hosts.count();
        assert!((640..760).contains(&at_once), "{at_once}");
        // All words come back in order in spite of them.
        let words = host.take_words();
        let expected: Vec<i64> = (0..words.len() as i64).map(|n| -n).collect();
        assert!(words.len() > 1000 && words == expected);
        // Without them every beat is offered at once.
        let (mut host, mut grid) = (Host::new(Stalls::none()), Deaf(Vec::new()));
        host.cycle(&mut grid);
        host.send(vec![1]);
        host.cycle(&mut grid);
        assert_eq!(grid.0, [(false, true), (true, true)]);
    }

    #[test]
    #[should_panic(expected = "never ends")]
    fn a_host_that_offers_nothing_is_refused() {
        let _ = Stalls::seeded(1, 100, 0);
    }

    #[test]
    #[should_panic(expected = "never ends")]
    fn a_host_that_accepts_nothing_is_refused() {
        let _ = Stalls::seeded(1, 0, 100);
    }

    #[test]
    fn two_grids_in_lockstep_tell_their_first_difference() {
        // The right one is one cycle ahead: it takes the beat in cycle 1 of both, and is done before.
        let right = Slow { clock: 1, done_at: 10, ..Slow::default() };
        let mut both = Lockstep::new(Slow { done_at: 10, ..Slow::default() }, right);
        both.control_write(8, 3);
        both.control_write(9, 4);
        assert_eq!(both.control_read(CONTROL), BUSY | DONE);
        assert_eq!(both.mismatch(), None);
        // Two writes and a read were five cycles; clocks are 5 and 6.
        assert_eq!(both.cycle(None, true), CycleResult::default());
        assert_eq!(both.cycle(None, false), CycleResult::default());
        assert_eq!(both.cycle(Some(&[5]), true), CycleResult::default());
        let (call, taken) = ("cycle(input Some([5]), output_ready true)".to_owned(), "input_taken: ");
        let mismatch = both.mismatch().expect("the right one takes it").clone();
        assert_eq!((mismatch.cycle, &mismatch.call), (7, &call));
        assert!(mismatch.left.contains(&format!("{taken}false")), "{mismatch}");
        assert!(mismatch.right.contains(&format!("{taken}true")), "{mismatch}");
        assert_eq!(mismatch.to_string(), format!("cycle 7, {call}: {} against {}", mismatch.left, mismatch.right));
        // Later ones do not count.
        both.cycle(Some(&[5]), true);
        assert_eq!(both.mismatch(), Some(&mismatch));
        assert_eq!(both.grids_mut().1.clock, 10);
        let (left, right) = both.into_grids();
        assert_eq!(
            (left.clock, right.clock, left.writes, right.writes),
            (9, 10, vec![(8, 3), (9, 4)], vec![(8, 3), (9, 4)])
        );
        // A read that differs says its address; after a read three cycles have passed.
        let grid = |done_at| Slow { done_at, ..Slow::default() };
        let mut both = Lockstep::new(grid(3), grid(4));
        both.control_read(CONTROL);
        assert_eq!(both.control_read(CONTROL), DONE);
        assert_eq!(both.mismatch().unwrap().to_string(), "cycle 3, control read of 0x00000: 2 against 3");
    }

    #[test]
    fn a_session_holds_what_went_through_the_ports() {
        let mut grid = Recorded::new(Slow::default());
        grid.cycle(None, true);
        grid.control_write(8, 3);
        assert_eq!(grid.control_read(CONTROL), DONE);
        // Clock 5: the beat is taken at once, and comes back in the fifth cycle after the write, counted from 0.
        assert!(grid.cycle(Some(&[6, 7]), true).input_taken);
        assert!(!grid.cycle(Some(&[8, 9]), false).input_taken);
        assert_eq!(grid.cycle(None, true).output, [-6, -7]);
        grid.control_write(9, 1);
        assert!(grid.cycle(None, true).output.is_empty());
        let session =
            Session { writes: vec![(8, 3), (9, 1)], beats: vec![vec![6, 7]], results: vec![(vec![-6, -7], 5)] };
        assert_eq!(grid.into_session(), session);
    }

    #[test]
    fn a_grid_behind_a_pointer_is_that_grid() {
        fn used(mut grid: impl Grid) -> (Option<String>, bool, bool, u32, bool) {
            grid.control_write(1, 2);
            let read = grid.control_read(CONTROL);
            grid.cycle(None, true);
            let taken = (grid.take_over(), grid.take_over());
            (grid.failure(), taken.0, taken.1, read, grid.array().is_some())
        }
        let expected = (Some("unplugged at 5".to_owned()), true, false, DONE, false);
        let grid = || Slow { taken_over: true, ..Slow::default() };
        assert_eq!(used(Box::new(grid())), expected);
        let mut own = grid();
        assert_eq!(used(&mut own), expected);
        assert_eq!((own.writes, own.seen), (vec![(1, 2)], vec![(None, true)]));
        assert_eq!(used(Deaf(Vec::new())), (None, false, false, 0, false));
        let machine = arch::Machine::grid(1, 1, 16).expect("a valid grid");
        let mut array = crate::array::Array::new(&machine);
        assert!(Box::new(&mut array).array().is_some());
    }
}
