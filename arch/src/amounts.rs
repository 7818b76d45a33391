//! Shift amounts: which of 0..=63 a shifter does.
//!
//! Multiplexers are the most expensive part of a PE. One that does a few amounts chooses between constant shifts: a table per bit
//! for up to four of them; one that does any amount is a barrel.

use crate::isa::SHIFT_BITS;
use crate::number::ceil_log2;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Amounts that an instruction can name.
const ALL: u32 = 1 << SHIFT_BITS;

/// A set of shift amounts, never empty.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "Vec<u32>", into = "Vec<u32>")]
#[schemars(with = "Vec<u32>")]
pub struct Amounts(u64);

/// Why a list is not a set of shift amounts.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AmountsError {
    /// There is nothing to choose from.
    #[error("a shifter does at least one amount")]
    Empty,
    /// The instruction cannot name it.
    #[error("a shift amount lies between 0 and 63, not at {0}")]
    Large(u32),
}

impl Amounts {
    /// Every amount.
    pub const ANY: Amounts = Amounts(u64::MAX);
    /// Only a shift by nothing.
    pub const NONE: Amounts = Amounts(1);
    /// Most amounts for which constant shifts are cheaper than a barrel.
    pub const MOST_LISTED: u32 = 8;

    /// A set from its bits: bit n for amount n. `None` for the empty set.
    pub fn from_bits(bits: u64) -> Option<Amounts> {
        (bits != 0).then_some(Amounts(bits))
    }

    /// Bit n says whether amount n is in the set.
    pub fn bits(self) -> u64 {
        self.0
    }

    /// The amounts of a sequence. `None` if it is empty.
    pub fn of(amounts: impl IntoIterator<Item = u32>) -> Option<Amounts> {
        Amounts::from_bits(
            amounts.into_iter().filter(|&amount| amount < ALL).fold(0, |bits, amount| bits | 1 << amount),
        )
    }

    /// What either does.
    #[must_use]
    pub fn or(self, other: Amounts) -> Amounts {
        Amounts(self.0 | other.0)
    }

    /// Whether a shifter of this kind does an amount.
    pub fn contains(self, amount: u32) -> bool {
        amount < ALL && self.0 >> amount & 1 == 1
    }

    /// The amounts, smallest first.
    pub fn iter(self) -> impl Iterator<Item = u32> {
        (0..ALL).filter(move |&amount| self.contains(amount))
    }

    /// The amounts between which hardware chooses, smallest first; `None`: so many that it is a barrel.
    pub fn listed(self) -> Option<Vec<u32>> {
        (self.0.count_ones() <= Amounts::MOST_LISTED).then(|| self.iter().collect())
    }

    /// Bits of the number of an amount in [`Amounts::listed`], at least 1.
    pub fn index_bits(self) -> u32 {
        ceil_log2(u64::from(self.0.count_ones())).max(1)
    }
}

impl TryFrom<Vec<u32>> for Amounts {
    type Error = AmountsError;

    fn try_from(amounts: Vec<u32>) -> Result<Amounts, AmountsError> {
        match amounts.iter().find(|&&amount| amount >= ALL) {
            Some(&large) => Err(AmountsError::Large(large)),
            None => Amounts::of(amounts).ok_or(AmountsError::Empty),
        }
    }
}

impl From<Amounts> for Vec<u32> {
    fn from(amounts: Amounts) -> Vec<u32> {
        amounts.iter().collect()
    }
}

impl std::fmt::Display for Amounts {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if *self == Amounts::ANY {
            return f.write_str("any");
        }
        let amounts: Vec<String> = self.iter().map(|amount| amount.to_string()).collect();
        f.write_str(&amounts.join(" "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_become_sets() {
        let amounts = Amounts::try_from(vec![12, 0, 12, 63]).unwrap();
        assert_eq!((amounts.to_string(), Vec::from(amounts)), ("0 12 63".to_owned(), vec![0, 12, 63]));
        assert!(amounts.contains(63) && !amounts.contains(1) && !amounts.contains(64));
        assert_eq!((amounts.listed(), amounts.index_bits()), (Some(vec![0, 12, 63]), 2));
        assert_eq!(Amounts::try_from(vec![]), Err(AmountsError::Empty));
        assert_eq!(Amounts::try_from(vec![3, 64]), Err(AmountsError::Large(64)));
        assert_eq!((Amounts::ANY.listed(), Amounts::ANY.to_string()), (None, "any".to_owned()));
        assert_eq!(Amounts::try_from((0..64).collect::<Vec<u32>>()), Ok(Amounts::ANY));
        assert_eq!(Amounts::of([]), None);
        assert_eq!(Amounts::NONE.index_bits(), 1);
    }
}
