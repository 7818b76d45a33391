//! Arithmetic modulo the prime `2^61 - 1`.

/// The prime.
const PRIME: u64 = (1 << 61) - 1;

/// A residue, `0..2^61 - 1`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct Residue(u64);

impl Residue {
    pub(super) const ZERO: Residue = Residue(0);
    pub(super) const ONE: Residue = Residue(1);

    /// The residue of any 64 bits.
    pub(super) fn of_bits(bits: u64) -> Residue {
        Residue(bits % PRIME)
    }

    /// The residue of an integer.
    pub(super) fn of_integer(value: i128) -> Residue {
        Residue(value.rem_euclid(i128::from(PRIME)) as u64)
    }

    /// The residue of a finite `f64`, which is `mantissa * 2^exponent`.
    pub(super) fn of_dyadic(value: f64) -> Residue {
        let (mantissa, exponent) = libm::frexp(value);
        let whole = Residue::of_integer(libm::ldexp(mantissa, 53) as i128);
        whole.times(Residue::power_of_two(exponent - 53))
    }

    /// `2^exponent`; the order of 2 is 61.
    pub(super) fn power_of_two(exponent: i32) -> Residue {
        Residue(1 << exponent.rem_euclid(61))
    }

    pub(super) fn plus(self, other: Residue) -> Residue {
        let sum = self.0 + other.0;
        Residue(if sum >= PRIME { sum - PRIME } else { sum })
    }

    pub(super) fn minus(self, other: Residue) -> Residue {
        self.plus(other.negated())
    }

    pub(super) fn negated(self) -> Residue {
        Residue(if self.0 == 0 { 0 } else { PRIME - self.0 })
    }

    pub(super) fn times(self, other: Residue) -> Residue {
        let product = u128::from(self.0) * u128::from(other.0);
        let folded = (product as u64 & PRIME) + (product >> 61) as u64;
        Residue(if folded >= PRIME { folded - PRIME } else { folded })
    }

    /// The inverse of a residue that is not 0, by Fermat: `a^(p - 2)`.
    pub(super) fn inverse(self) -> Residue {
        let mut result = Residue::ONE;
        let mut power = self;
        let mut exponent = PRIME - 2;
        while exponent > 0 {
            if exponent & 1 == 1 {
                result = result.times(power);
            }
            power = power.times(power);
            exponent >>= 1;
        }
        result
    }

    /// A residue that nothing but equal residues and the same label give: an uninterpreted function of them.
    pub(super) fn symbol(label: u64, arguments: impl IntoIterator<Item = Residue>) -> Residue {
        Residue::of_bits(arguments.into_iter().fold(mixed(label), |hash, argument| mixed(hash ^ argument.0)))
    }
}

/// Bits that look random and depend on all bits of the argument (the finaliser of `SplitMix64`).
pub(super) fn mixed(bits: u64) -> u64 {
    let bits = bits.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let bits = (bits ^ bits >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let bits = (bits ^ bits >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    bits ^ bits >> 31
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn residues_are_a_field() {
        let samples = [0, 1, 2, 3, PRIME - 1, PRIME - 2, 1 << 60, 0x1234_5678_9abc_def0 % PRIME].map(Residue);
        for a in samples {
            assert_eq!(a.plus(a.negated()), Residue::ZERO);
            if a != Residue::ZERO {
                assert_eq!(a.times(a.inverse()), Residue::ONE);
            }
            for b in samples {
                assert_eq!(a.times(b).0, (u128::from(a.0) * u128::from(b.0) % u128::from(PRIME)) as u64);
                assert_eq!(a.minus(b).plus(b), a);
            }
        }
    }

    #[test]
    fn numbers_have_residues() {
        assert_eq!(Residue::of_integer(-1), Residue::ONE.negated());
        assert_eq!(Residue::of_dyadic(-6.0), Residue::of_integer(-6));
        assert_eq!(Residue::of_dyadic(0.375).times(Residue::of_integer(8)), Residue::of_integer(3));
        assert_eq!(Residue::of_dyadic(libm::ldexp(1.0, 100)), Residue::power_of_two(100));
        assert_eq!(Residue::of_dyadic(5e-324).times(Residue::power_of_two(1074)), Residue::ONE);
    }
}
