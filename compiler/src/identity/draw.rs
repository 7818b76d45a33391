//! The unknowns of a draw: what the host gives a program, by name and place.

use super::field::{Residue, mixed};
use super::value::Value;
use crate::tensor::Element;

/// Where the real numbers of a draw lie.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Region {
    /// On both sides of 0, up to 2.
    Mixed,
    /// From 0.25 to 2: logarithms and roots have values.
    Positive,
    /// Near 0, inside of the domain of inverse functions.
    Small,
    /// A few halves: elements are equal, and 0, so that maxima have ties. Residues are those numbers.
    Grid,
}

/// One draw.
#[derive(Debug, Clone, Copy)]
pub(super) struct Draw {
    pub(super) seed: u64,
    pub(super) region: Region,
    /// Integers are at most this.
    pub(super) largest_integer: i64,
}

impl Draw {
    /// The value of an element. Programs that give a tensor another shape keep the order of its elements.
    pub(super) fn unknown(&self, name: &str, element: Element, place: usize) -> Value {
        let of_name = name.bytes().fold(mixed(self.seed), |hash, byte| mixed(hash ^ u64::from(byte)));
        let bits = mixed(of_name ^ mixed(place as u64));
        let unit = (mixed(bits) >> 11) as f64 / libm::ldexp(1.0, 53);
        let sign = if bits & 1 == 0 { 1.0 } else { -1.0 };
        let real = match (element, self.region) {
            (Element::Bool, _) => return Value::integer((bits & 1) as i64),
            (Element::Int { .. }, _) => {
                return Value::integer(((bits >> 1) % (self.largest_integer as u64 + 1)) as i64);
            }
            (Element::Real, Region::Grid) => return Value::weight(0.5 * ((bits >> 1) % 5) as f64 - 1.0),
            (Element::Real, Region::Mixed) => sign * (0.25 + 1.75 * unit),
            (Element::Real, Region::Positive) => 0.25 + 1.75 * unit,
            (Element::Real, Region::Small) => sign * (0.02 + 0.4 * unit),
        };
        Value { residue: Residue::of_bits(bits), real }
    }
}
