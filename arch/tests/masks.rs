//! A mask for the whole grid is the mask of each PE.

use arch::isa::{LEVELS, Mask, NO_LEVEL};
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

#[test]
fn filled_masks_admit_the_same_engines() {
    let mut random = ChaCha8Rng::seed_from_u64(5);
    let mut below = |limit: u32| random.next_u32() % limit;
    for _ in 0..20_000 {
        let (pus, columns) = (1 + below(6), 1 + below(6));
        let counts: [u32; LEVELS] = std::array::from_fn(|_| 1 + below(4));
        let counters = counts.map(&mut below);
        let mut level = || if below(3) == 0 { below(LEVELS as u32) as u8 } else { NO_LEVEL };
        let [row_level, column_level, pick_row, pick_column] = std::array::from_fn(|_| level());
        let [row_low, row_high] = std::array::from_fn(|_| below(pus + 2));
        let [column_low, column_high] = std::array::from_fn(|_| below(columns + 2));
        let flat = below(2) == 0;
        let mask =
            Mask { flat, row_low, column_low, row_high, column_high, row_level, column_level, pick_row, pick_column };
        let mut taken = vec![true; (pus * columns) as usize];
        mask.fill(pus, columns, &counts, &counters, &mut taken);
        for pe in 0..pus * columns {
            let (row, column) = (pe / columns, pe % columns);
            let admitted = mask.admits(pus, columns, &counts, &counters, row, column);
            assert_eq!(taken[pe as usize], admitted, "{mask:?} {counts:?} {counters:?} row {row} column {column}");
        }
    }
}
