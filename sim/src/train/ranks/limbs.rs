//! Sums of up to 96 bits as words of 64 bits, which are added modulo 2^64.
//!
//!     A <= 64    one word
//!     A  > 64    two words of 48 bits each, whose carries have room: the words of up to 65,536 ranks may be added

use arch::number::wrap;

/// Bits of a word where there are two.
const BITS: u32 = 48;

/// Words of one sum.
fn of_sum(accumulator: u32) -> usize {
    if accumulator <= 64 { 1 } else { 2 }
}

/// The words of sums, modulo `2^accumulator`.
pub fn split(sums: &[i128], accumulator: u32) -> Vec<u64> {
    assert!(accumulator <= 2 * BITS, "an accumulator has at most 96 bits");
    if of_sum(accumulator) == 1 {
        return sums.iter().map(|&sum| sum as u64).collect();
    }
    let low = (1u128 << BITS) - 1;
    sums.iter().flat_map(|&sum| [sum as u128 & low, sum as u128 >> BITS & low].map(|limb| limb as u64)).collect()
}

/// The sums of words.
pub fn join(words: &[u64], accumulator: u32) -> Vec<i128> {
    let sum = |limbs: &[u64]| {
        let sum = limbs.iter().rev().fold(0u128, |sum, &limb| (sum << BITS).wrapping_add(u128::from(limb)));
        wrap(sum as i128, accumulator)
    };
    words.chunks(of_sum(accumulator)).map(sum).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Of every width, the extremes among them: words that are added are the sum modulo `2^A`.
    #[test]
    fn words_add_up_as_sums_do() {
        for accumulator in 16..=96 {
            let (least, most) = (-(1i128 << (accumulator - 1)), (1i128 << (accumulator - 1)) - 1);
            let values = [least, most, most, -1, 0, 1, least, most / 3, least / 7, 1 << (accumulator / 2), most, most];
            let mut total = vec![0u64; split(&[0], accumulator).len()];
            let mut expected = 0i128;
            for (count, &value) in values.iter().enumerate() {
                let words = split(&[value], accumulator);
                assert_eq!(join(&words, accumulator), [value], "{accumulator}");
                total.iter_mut().zip(&words).for_each(|(total, word)| *total = total.wrapping_add(*word));
                expected += value;
                assert_eq!(join(&total, accumulator), [wrap(expected, accumulator)], "{accumulator}, {count}");
            }
        }
    }
}
