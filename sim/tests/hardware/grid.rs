//! The host and the lockstep comparison, on grids that are a few lines of Rust.

use sim::grid::{CycleResult, Grid, Host, Lockstep, Stalls};

/// Sends back the sum of each beat; takes a beat only when the last sum has left.
#[derive(Default)]
struct Summing {
    held: Option<i64>,
    /// From this cycle on, sums are one too high.
    wrong_from: Option<u64>,
    cycles: u64,
    withdrawn: bool,
    refused: bool,
}

impl Grid for Summing {
    fn control_write(&mut self, _address: u32, _data: u32) {
        self.cycles += 1;
    }

    fn control_read(&mut self, address: u32) -> u32 {
        self.cycles += 1;
        address + 1
    }

    fn cycle(&mut self, input: Option<&[i64]>, output_ready: bool) -> CycleResult {
        self.withdrawn |= self.refused && input.is_none();
        let input_taken = input.is_some() && self.held.is_none();
        self.refused = input.is_some() && !input_taken;
        let output = if output_ready { self.held.take() } else { None };
        if input_taken {
            let wrong = self.wrong_from.is_some_and(|from| self.cycles >= from);
            self.held = input.map(|words| words.iter().sum::<i64>() + i64::from(wrong));
        }
        self.cycles += 1;
        CycleResult { input_taken, output: output.into_iter().collect() }
    }
}

fn run(grid: &mut impl Grid, stalls: Stalls) -> Vec<i64> {
    let mut host = Host::new(stalls);
    for n in 0..100 {
        host.send(vec![n, 2 * n]);
    }
    host.exchange(grid, 100, 10_000).unwrap();
    host.take_words()
}

#[test]
fn words_do_not_depend_on_stalls_but_cycles_do() {
    let expected: Vec<i64> = (0..100).map(|n| 3 * n).collect();
    let mut cycles = Vec::new();
    for stalls in [Stalls::none(), Stalls::seeded(1, 50, 0), Stalls::seeded(1, 0, 50), Stalls::seeded(2, 30, 60)] {
        let mut grids = [Summing::default(), Summing::default()];
        for grid in &mut grids {
            assert_eq!(run(grid, stalls.clone()), expected);
            assert!(!grid.withdrawn, "a beat stays offered until it is taken");
        }
        assert_eq!(grids[0].cycles, grids[1].cycles, "same seed, same cycles");
        cycles.push(grids[0].cycles);
    }
    assert_eq!(cycles[0], 200);
    assert!(cycles[1..].iter().all(|&count| count > 220), "{cycles:?}");
}

#[test]
fn a_grid_that_does_not_answer_is_reported() {
    let mut host = Host::new(Stalls::none());
    host.send(vec![1]);
    let error = host.exchange(&mut Summing::default(), 2, 50).unwrap_err();
    assert_eq!(error.to_string(), "no end after 50 cycles: 0 beats were not taken, 1 words came back");
    let error = host.finish(&mut Summing::default(), 64).unwrap_err();
    assert_eq!(error.cycles, 64);
}

#[test]
fn lockstep_finds_the_first_difference() {
    let mut same = Lockstep::new(Summing::default(), Summing::default());
    run(&mut same, Stalls::seeded(3, 20, 20));
    assert_eq!(same.mismatch(), None);

    let wrong = Summing { wrong_from: Some(11), ..Summing::default() };
    let mut different = Lockstep::new(Summing::default(), wrong);
    different.control_write(0, 0);
    run(&mut different, Stalls::none());
    let mismatch = different.mismatch().unwrap().to_string();
    let expected = "cycle 12, cycle(input Some([6, 12]), output_ready true): \
        CycleResult { input_taken: false, output: [15] } against CycleResult { input_taken: false, output: [16] }";
    assert_eq!(mismatch, expected);
}
