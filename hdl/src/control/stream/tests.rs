//! Test benches of the parts of a stream.

use super::*;
use crate::rtl::signal::clocked;

#[test]
fn addresses_follow_the_loops() {
    // base 10, two rows of three: 10 11 12, 20 21 22.
    let mut block = AddressGenerator::new(8);
    block.connect_all();
    (block.base.next, block.delta5.next, block.delta4.next) = (10, 1, 8);
    let mut shown = Vec::new();
    for beat in 0..6 {
        (block.advance.step.next, block.advance.fresh.next) = (true, beat == 0);
        block.advance.level4.next = beat % 3 == 2;
        clocked_address(&mut block, &mut shown);
    }
    assert_eq!(shown, [10, 11, 12, 20, 21, 22]);
}

fn clocked_address(block: &mut AddressGenerator, shown: &mut Vec<i128>) {
    crate::rtl::signal::settled(block);
    shown.push(block.address.val());
    clocked(block, |b| &mut b.clock);
}

#[test]
fn beats_wait_and_come_at_their_interval() {
    let mut block = Pacer::new(&Widths::of_grid(1, 1));
    block.connect_all();
    block.reset.next = true;
    clocked(&mut block, |b| &mut b.clock);
    block.reset.next = false;
    // One instruction: after two cycles a beat every third one, four beats.
    (block.next_delay.next, block.interval.next, block.is_end.next) = (2, 2, true);
    let mut issued = Vec::new();
    for cycle in 0..20 {
        (block.start.next, block.may_start.next) = (cycle == 0, cycle == 0);
        block.wrap.next = issued.len() == 3;
        crate::rtl::signal::settled(&mut block);
        if block.issue.val() {
            issued.push(cycle);
        }
        clocked(&mut block, |b| &mut b.clock);
    }
    assert_eq!(issued, [3, 6, 9, 12]);
    assert!(!block.busy.val());
}

#[test]
fn an_instruction_follows_the_last_beat_of_the_one_before() {
    let mut block = Pacer::new(&Widths::of_grid(1, 1));
    block.connect_all();
    block.reset.next = true;
    clocked(&mut block, |b| &mut b.clock);
    block.reset.next = false;
    // Beats of each instruction, which come in a row; the last instruction waits for two cycles more. The second beat is held once.
    let beats = [2, 1, 3];
    let (mut current, mut beat) = (0, 0);
    let (mut issued, mut loaded) = (Vec::new(), Vec::new());
    for cycle in 0..16 {
        let start = cycle == 0;
        (block.start.next, block.may_start.next, block.hold.next) = (start, start, cycle == 2);
        let ahead = if start { 0 } else { current + 1 };
        let is_single = |n: usize| beats.get(n) == Some(&1);
        block.next_delay.next = if ahead == 2 { 2 } else { 0 };
        (block.is_end.next, block.next_is_end.next) = (current == 2, ahead == 2);
        (block.wrap.next, block.wrap_stepped.next) = (beat + 1 == beats[current], beat + 2 == beats[current]);
        block.wrap_loaded.next = is_single(ahead);
        crate::rtl::signal::settled(&mut block);
        let (issue, load) = (block.issue.val(), block.load.val());
        clocked(&mut block, |b| &mut b.clock);
        if issue {
            issued.push((cycle, current));
            beat += 1;
        }
        if load {
            loaded.push(cycle);
            (current, beat) = (ahead, 0);
        }
    }
    assert_eq!(issued, [(1, 0), (3, 0), (4, 1), (7, 2), (8, 2), (9, 2)]);
    assert_eq!(loaded, [0, 3, 4]);
    assert!(!block.busy.val());
}
