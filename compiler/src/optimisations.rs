//! Optimisations of programs, each with a name, so that it can be disabled and its effect measured.
//!
//!     cargo run --release -p measure -- optimisations doubles      the same words, in more cycles
//!
//! Production builds disable none.

use std::fmt::{self, Display, Formatter};
use std::str::FromStr;

/// One of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Optimisation {
    /// [`split_dimensions`](crate::canonical::indices::dimensions::split_dimensions)
    Digits,
    /// [`scales_into_sums`](crate::canonical::sums::scales::scales_into_sums)
    Scales,
    /// [`starts_into_sums`](crate::canonical::sums::starts::starts_into_sums)
    Starts,
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
    Padding,
    /// [`scheduled`](crate::scheduled)
    Order,
    /// [`jobs`](crate::jobs)
    Loading,
    /// [`jobs`](crate::jobs)
    Strips,
}

/// An optimisation as people know it.
struct Row {
    optimisation: Optimisation,
    name: &'static str,
    does: &'static str,
}

/// All of them, in the order in which a program meets them.
const ROWS: [Row; 16] = [
    Row {
        optimisation: Optimisation::Digits,
        name: "digits",
        does: "a dimension that is counted in two digits becomes two",
    },
    Row {
        optimisation: Optimisation::Scales,
        name: "scales",
        does: "a power of two between a sum and a function is part of the sum",
    },
    Row {
        optimisation: Optimisation::Starts,
        name: "starts",
        does: "a weight that is added to a sum, such as a bias, is where the sum starts",
    },
    Row {
        optimisation: Optimisation::Quotients,
        name: "quotients",
        does: "many quotients by few divisors are reciprocals and products",
    },
    Row {
        optimisation: Optimisation::Squares,
        name: "squares",
        does: "a difference that is only squared is squared in one beat",
    },
    Row {
        optimisation: Optimisation::Carries,
        name: "carries",
        does: "what is read elsewhere than where it was computed is copied there over the buses",
    },
    Row {
        optimisation: Optimisation::Windows,
        name: "windows",
        does: "an input that is read at a sum of indices is sent to each place that reads it",
    },
    Row {
        optimisation: Optimisation::Blocks,
        name: "blocks",
        does: "an index along which an input is read with others lies on the PEs in blocks",
    },
    Row {
        optimisation: Optimisation::Doubles,
        name: "doubles",
        does: "a tensor that is read in two ways is there twice",
    },
    Row {
        optimisation: Optimisation::Copies,
        name: "copies",
        does: "what is computed and read in two ways is copied over the buses, and not computed again",
    },
    Row {
        optimisation: Optimisation::Pieces,
        name: "pieces",
        does: "an index that does not fill the grid evenly is cut",
    },
    Row {
        optimisation: Optimisation::Firsts,
        name: "firsts",
        does: "an index whose first value is apart has it behind the others",
    },
    Row {
        optimisation: Optimisation::Padding,
        name: "padding",
        does: "an index on all PEs may end inside a column, with zeros behind",
    },
    Row {
        optimisation: Optimisation::Order,
        name: "order",
        does: "the instruction with the longest way to the end of the step goes first",
    },
    Row {
        optimisation: Optimisation::Loading,
        name: "loading",
        does: "a transfer brings whole rows of words to rows and columns",
    },
    Row {
        optimisation: Optimisation::Strips,
        name: "strips",
        does: "where temporaries do not fit, what an update reads waits in the model pad",
    },
];

impl Optimisation {
    /// All of them.
    pub fn all() -> impl Iterator<Item = Optimisation> {
        ROWS.iter().map(|row| row.optimisation)
    }

    fn row(self) -> &'static Row {
        ROWS.iter().find(|row| row.optimisation == self).expect("every optimisation has its row")
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

impl Display for Optimisation {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Optimisation {
    type Err = String;

    fn from_str(name: &str) -> Result<Optimisation, String> {
        let names = || ROWS.iter().map(|row| row.name).collect::<Vec<_>>().join(", ");
        let row = ROWS.iter().find(|row| row.name == name);
        row.map(|row| row.optimisation)
            .ok_or_else(|| format!("there is no optimisation `{name}`; there are {}", names()))
    }
}

/// Optimisations that are disabled.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Disabled(u32);

impl Disabled {
    /// None is disabled.
    pub const NOTHING: Disabled = Disabled(0);

    /// Whether this one is used.
    pub fn uses(self, optimisation: Optimisation) -> bool {
        self.0 & 1 << optimisation as u32 == 0
    }
}

impl FromIterator<Optimisation> for Disabled {
    fn from_iter<I: IntoIterator<Item = Optimisation>>(optimisation: I) -> Disabled {
        Disabled(optimisation.into_iter().fold(0, |all, optimisation| all | 1 << optimisation as u32))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_has_a_name_and_a_switch_of_its_own() {
        for optimisation in Optimisation::all() {
            assert_eq!(optimisation.name().parse(), Ok(optimisation));
            let disabled = Disabled::from_iter([optimisation]);
            assert!(Optimisation::all().all(|other| disabled.uses(other) == (other != optimisation)));
            assert!(Disabled::NOTHING.uses(optimisation));
        }
        assert!("speed".parse::<Optimisation>().unwrap_err().contains("quotients"));
    }
}
