//! Test benches of the parts of a stream.

use super::*;
use crate::rtl::signal::clocked;

#[test]
fn addresses_follow_the_loops() {
    // base 10, two rows of three: 10 11 12, 20 21 22.
    let mut block = AddressGenerator::new(8);
    block.connect_all();
    (block.base.next, block.delta3.next, block.delta2.next) = (10, 1, 8);
    let mut shown = Vec::new();
    for beat in 0..6 {
        (block.advance.step.next, block.advance.fresh.next) = (true, beat == 0);
        block.advance.level2.next = beat % 3 == 2;
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
