//! Faults planted in images: each changes one field of one instruction.
//!
//! A beat that is left out leaves its time behind, so that nothing else moves: the next instruction of the stream waits for it.

use arch::image::Image;
use arch::isa::{Address, AluInstruction, LEVELS, Mask, Pad, Start, pad_bits};

/// What is planted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Fault {
    /// A word is read or written one address further.
    Address,
    /// One row or column less takes part.
    Mask,
    /// A loop goes on by one word more.
    Stride,
    /// The last beats of a loop are left out.
    Beat,
    /// A sum is shifted by one place more.
    Shift,
}

impl Fault {
    pub(crate) const ALL: [Fault; 5] = [Fault::Address, Fault::Mask, Fault::Stride, Fault::Beat, Fault::Shift];
}

/// An image with a fault.
pub(crate) struct Planted {
    pub(crate) fault: Fault,
    /// The stream and number of the instruction.
    pub(crate) at: (&'static str, usize),
    pub(crate) image: Image,
}

/// Every fault of a kind that this image can have.
pub(crate) fn plant(image: &Image, fault: Fault) -> Vec<Planted> {
    let mut all = Vec::new();
    let mut keep = |at: (&'static str, usize), image: Image| all.push(Planted { fault, at, image });
    for number in 0..image.alu.len() {
        for variant in alu(image, number, fault) {
            keep(("alu", number), variant);
        }
    }
    for number in 0..image.root.len() {
        let mut own = image.clone();
        let (root, last) = (&mut own.root[number], image.root[number].end);
        match fault {
            Fault::Shift => root.shift = (root.shift + 1) % 64,
            Fault::Beat if root.count > 1 => {
                root.count -= 1;
                let time = root.interval;
                if !last {
                    own.root[number + 1].delay += time;
                }
            }
            _ => continue,
        }
        keep(("root", number), own);
    }
    for number in 0..image.moves.len() {
        let mut own = image.clone();
        let moved = &mut own.moves[number].instruction;
        let changed = match fault {
            Fault::Address => further(&mut moved.destination, 1 << pad_bits(&image.machine, moved.pad)),
            Fault::Stride => stretched(&mut moved.destination, &moved.counts),
            Fault::Mask => narrowed(&mut moved.mask),
            Fault::Beat => {
                let left = shorter(&mut moved.counts);
                let time = left * moved.interval;
                if let Some(next) = own.moves.get_mut(number + 1).filter(|_| !image.moves[number].end) {
                    next.delay += time;
                }
                left > 0
            }
            Fault::Shift => false,
        };
        if changed {
            keep(("move", number), own);
        }
    }
    for number in 0..image.load.len() {
        let mut own = image.clone();
        let load = &mut own.load[number].instruction;
        let changed = match fault {
            Fault::Address => further(&mut load.destination, 1 << pad_bits(&image.machine, load.pad)),
            Fault::Stride => stretched(&mut load.destination, &load.counts),
            Fault::Mask => narrowed(&mut load.mask),
            Fault::Beat | Fault::Shift => false,
        };
        if changed {
            keep(("load", number), own);
        }
    }
    all
}

/// The pads whose words an instruction uses.
fn used(alu: &AluInstruction) -> Vec<Pad> {
    let c = if let Start::Pad(pad) = alu.c { Some(pad) } else { None };
    let b = if let arch::isa::Factor::Pad(pad) = alu.b { Some(pad) } else { None };
    let mut pads: Vec<Pad> = [Some(alu.a), b, c].into_iter().flatten().collect();
    pads.sort_unstable();
    pads.dedup();
    pads
}

fn alu(image: &Image, number: usize, fault: Fault) -> Vec<Image> {
    let mut variants = Vec::new();
    let mut vary = |change: &dyn Fn(&mut Image, &mut AluInstruction) -> bool| {
        let mut own = image.clone();
        let mut alu = own.alu[number].instruction;
        if change(&mut own, &mut alu) {
            own.alu[number].instruction = alu;
            variants.push(own);
        }
    };
    let instruction = &image.alu[number].instruction;
    let depth = |pad: Pad| 1 << pad_bits(&image.machine, pad);
    match fault {
        Fault::Address => {
            for pad in used(instruction) {
                vary(&|_, alu| further(&mut alu.reads[pad as usize], depth(pad)));
            }
            vary(&|_, alu| alu.write.is_some_and(|pad| further(&mut alu.destination, depth(pad))));
        }
        Fault::Stride => {
            for pad in used(instruction) {
                vary(&|_, alu| stretched(&mut alu.reads[pad as usize], &alu.counts));
            }
            vary(&|_, alu| alu.write.is_some() && stretched(&mut alu.destination, &alu.counts));
        }
        Fault::Mask => vary(&|_, alu| narrowed(&mut alu.mask)),
        Fault::Shift => {
            vary(&|_, alu| {
                alu.shift = (alu.shift + 1) % 64;
                alu.needed_shift().is_some()
            });
            vary(&|_, alu| {
                alu.align = (alu.align + 1) % 64;
                alu.needed_alignment().is_some()
            });
        }
        Fault::Beat => vary(&|own, alu| {
            let left = shorter(&mut alu.counts);
            if !alu.end {
                own.alu[number + 1].delay += left * alu.interval;
            }
            left > 0
        }),
    }
    variants
}

fn further(address: &mut Address, depth: u32) -> bool {
    address.base = (address.base + 1) % depth;
    depth > 1
}

/// Along the innermost loop that runs more than once.
fn stretched(address: &mut Address, counts: &[u32; LEVELS]) -> bool {
    let Some(level) = (0..LEVELS).rev().find(|&level| counts[level] > 1) else { return false };
    address.strides[level] += 1;
    true
}

fn narrowed(mask: &mut Mask) -> bool {
    if mask.column_high > mask.column_low + 1 {
        mask.column_high -= 1;
    } else if mask.row_high > mask.row_low + 1 {
        mask.row_high -= 1;
    } else {
        mask.column_high = mask.column_low;
    }
    true
}

/// The outermost loop that runs more than once runs once less; the beats that are left out.
fn shorter(counts: &mut [u32; LEVELS]) -> u32 {
    let Some(level) = (0..LEVELS).find(|&level| counts[level] > 1) else { return 0 };
    counts[level] -= 1;
    counts[level + 1..].iter().product()
}
