//! Means: by what programs become faster than as they are written, each with a name, so that what it brings can be measured without it.
//!
//!     cargo run --release -p measure -- means doubles      the same words, in more cycles
//!
//! Who compiles for a user leaves none out.

use std::fmt::{self, Display, Formatter};
use std::str::FromStr;

/// One of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Means {
    /// [`split_dimensions`](crate::canonical::indices::dimensions::split_dimensions)
    Digits,
    /// [`scales_into_sums`](crate::canonical::sums::scales::scales_into_sums)
    Scales,
    /// [`fixed::lower`](crate::fixed::lower)
    Quotients,
    /// [`fixed::lower`](crate::fixed::lower)
    Squares,
    /// [`placed`](crate::placed)
    Carries,
    /// [`placed`](crate::placed)
    Windows,
    /// [`placed`](crate::placed)
    Blocks,
    /// [`placed`](crate::placed)
    Doubles,
    /// [`placed`](crate::placed)
    Copies,
    /// [`placed`](crate::placed)
    Pieces,
    /// [`placed`](crate::placed)
    Firsts,
    /// [`placed`](crate::placed)
    Reshards,
    /// [`placed`](crate::placed)
    Columns,
    /// [`placed`](crate::placed)
    Returns,
    /// [`placed`](crate::placed)
    Padding,
    /// [`scheduled`](crate::scheduled)
    Order,
    /// [`jobs`](crate::jobs)
    Loading,
    /// [`jobs`](crate::jobs)
    Strips,
}

/// A means as people know it.
struct Row {
    means: Means,
    name: &'static str,
    does: &'static str,
}

/// All of them, in the order in which a program meets them.
const ROWS: [Row; 18] = [
    Row { means: Means::Digits, name: "digits", does: "a dimension that is counted in two digits becomes two" },
    Row {
        means: Means::Scales,
        name: "scales",
        does: "a power of two between a sum and a function is part of the sum",
    },
    Row {
        means: Means::Quotients,
        name: "quotients",
        does: "many quotients by few divisors are reciprocals and products",
    },
    Row { means: Means::Squares, name: "squares", does: "a difference that is only squared is squared in one beat" },
    Row {
        means: Means::Carries,
        name: "carries",
        does: "what is read elsewhere than where it was computed is copied there over the buses",
    },
    Row {
        means: Means::Windows,
        name: "windows",
        does: "an input that is read at a sum of indices is sent to each place that reads it",
    },
    Row {
        means: Means::Blocks,
        name: "blocks",
        does: "an index along which an input is read with others lies on the PEs in blocks",
    },
    Row { means: Means::Doubles, name: "doubles", does: "a tensor that is read in two ways is there twice" },
    Row {
        means: Means::Copies,
        name: "copies",
        does: "what is computed and read in two ways is copied over the buses, and not computed again",
    },
    Row { means: Means::Pieces, name: "pieces", does: "an index that does not fill the grid evenly is cut" },
    Row { means: Means::Firsts, name: "firsts", does: "an index whose first value is apart has it behind the others" },
    Row { means: Means::Reshards, name: "reshards", does: "an index lies on the rows here and on all PEs there" },
    Row { means: Means::Columns, name: "columns", does: "sums that leave the trees one by one go to the columns" },
    Row { means: Means::Returns, name: "returns", does: "an index lies inside each PE here and on the columns there" },
    Row {
        means: Means::Padding,
        name: "padding",
        does: "an index on all PEs may end inside a column, with zeros behind",
    },
    Row {
        means: Means::Order,
        name: "order",
        does: "the instruction with the longest way to the end of the step goes first",
    },
    Row { means: Means::Loading, name: "loading", does: "a transfer brings whole rows of words to rows and columns" },
    Row {
        means: Means::Strips,
        name: "strips",
        does: "where temporaries do not fit, what an update reads waits in the model pad",
    },
];

impl Means {
    /// All of them.
    pub fn all() -> impl Iterator<Item = Means> {
        ROWS.iter().map(|row| row.means)
    }

    fn row(self) -> &'static Row {
        ROWS.iter().find(|row| row.means == self).expect("every means has its row")
    }

    /// What it is called.
    pub fn name(self) -> &'static str {
        self.row().name
    }

    /// What it does, in one line.
    pub fn does(self) -> &'static str {
        self.row().does
    }
}

impl Display for Means {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Means {
    type Err = String;

    fn from_str(name: &str) -> Result<Means, String> {
        let names = || ROWS.iter().map(|row| row.name).collect::<Vec<_>>().join(", ");
        let row = ROWS.iter().find(|row| row.name == name);
        row.map(|row| row.means).ok_or_else(|| format!("there is no means `{name}`; there are {}", names()))
    }
}

/// Means that are left out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Without(u32);

impl Without {
    /// All means are used.
    pub const NOTHING: Without = Without(0);

    /// Whether this one is used.
    pub fn uses(self, means: Means) -> bool {
        self.0 & 1 << means as u32 == 0
    }
}

impl FromIterator<Means> for Without {
    fn from_iter<I: IntoIterator<Item = Means>>(means: I) -> Without {
        Without(means.into_iter().fold(0, |all, means| all | 1 << means as u32))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_has_a_name_and_a_switch_of_its_own() {
        for means in Means::all() {
            assert_eq!(means.name().parse(), Ok(means));
            let without = Without::from_iter([means]);
            assert!(Means::all().all(|other| without.uses(other) == (other != means)));
            assert!(Without::NOTHING.uses(means));
        }
        assert!("speed".parse::<Means>().unwrap_err().contains("quotients"));
    }
}
