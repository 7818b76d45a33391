//! Rules of the keys of the `[machine]` table: default, range, documentation.

use super::MachineError;
use crate::amounts::Amounts;
use schemars::{Schema, json_schema};
use std::ops::RangeInclusive;

/// A key, for people and for schemas.
#[derive(Debug, Clone, PartialEq)]
pub struct Key {
    /// Its name.
    pub name: &'static str,
    /// What it is, its range and its default, in one sentence.
    pub text: String,
    /// A value as it is written in TOML: the default of the default grid, or one that shows more.
    pub example: String,
    /// What values a schema allows.
    pub schema: Schema,
    /// Whether programs see it: if not, it says only how hardware is made, and the registers of a grid do not have it.
    pub affects_programs: bool,
}

/// A kind of value.
pub(super) trait Setting: Copy + Sized {
    /// Read it from the command line.
    fn read(text: &str) -> Option<Self>;

    /// As TOML has it.
    fn toml(self) -> String;

    /// What a schema says of all values of this kind.
    fn schema() -> Schema;

    /// As a specification has it: what is not limited is left out.
    fn given(self) -> Option<Self> {
        Some(self)
    }

    /// What does for both of two programs.
    #[must_use]
    fn with(self, other: Self) -> Self;

    /// The value that the machine has, if the rule allows it.
    fn checked(self, rule: &Rule<Self>, key: &'static str) -> Result<Self, MachineError> {
        let _ = (rule, key);
        Ok(self)
    }
}

impl Setting for u32 {
    fn read(text: &str) -> Option<u32> {
        text.parse().ok()
    }

    fn toml(self) -> String {
        self.to_string()
    }

    fn schema() -> Schema {
        json_schema!({ "type": ["integer", "null"] })
    }

    fn with(self, other: u32) -> u32 {
        self.max(other)
    }

    fn checked(self, rule: &Rule<u32>, key: &'static str) -> Result<u32, MachineError> {
        match &rule.range {
            _ if self == 0 && rule.zero.is_some() => Ok(0),
            Some(range) if !range.contains(&self) => {
                let reason = format!("must lie between {} and {}", range.start(), range.end());
                Err(MachineError { key, value: self, reason })
            }
            _ => Ok((rule.rounding.up)(self)),
        }
    }
}

impl Setting for bool {
    fn read(text: &str) -> Option<bool> {
        text.parse().ok()
    }

    fn toml(self) -> String {
        self.to_string()
    }

    fn schema() -> Schema {
        json_schema!({ "type": ["boolean", "null"] })
    }

    fn with(self, other: bool) -> bool {
        self || other
    }
}

impl Setting for Amounts {
    /// `0,14,15`.
    fn read(text: &str) -> Option<Amounts> {
        let amounts = text.split(',').map(|amount| amount.trim().parse().ok()).collect::<Option<Vec<u32>>>()?;
        Amounts::try_from(amounts).ok()
    }

    fn toml(self) -> String {
        format!("{:?}", self.iter().collect::<Vec<u32>>())
    }

    fn schema() -> Schema {
        json_schema!({ "type": ["array", "null"], "items": { "type": "integer", "minimum": 0, "maximum": 63 } })
    }

    fn given(self) -> Option<Amounts> {
        (self != Amounts::ANY).then_some(self)
    }

    fn with(self, other: Amounts) -> Amounts {
        self.or(other)
    }
}

/// To what a number is rounded up.
struct Rounding {
    up: fn(u32) -> u32,
    text: &'static str,
}

impl Rounding {
    const NONE: Rounding = Rounding { up: |number| number, text: "" };
    const POWER_OF_TWO: Rounding = Rounding { up: u32::next_power_of_two, text: "rounded up to a power of two" };
    const WORDS: Rounding =
        Rounding { up: words_of_pad, text: "rounded up to a power of two, above 512 to an eighth of the one below" };
}

/// The words of a pad that has at least so many: a power of two, or above 512, where it takes several block memories, as many eighths more than one.
pub fn words_of_pad(needed: u32) -> u32 {
    if needed <= 512 { needed.next_power_of_two() } else { needed.next_multiple_of(1 << (needed.ilog2() - 3)) }
}

/// The default of a key, what else it may be, and how that is documented.
pub(super) struct Rule<T> {
    /// What it is where nobody says anything.
    pub(super) default: T,
    range: Option<RangeInclusive<u32>>,
    /// What 0 means, if it is outside of the range and allowed.
    zero: Option<&'static str>,
    rounding: Rounding,
    range_doc: Option<&'static str>,
    default_doc: Option<&'static str>,
    example: Option<T>,
    affects_programs: bool,
}

impl<T: Setting> Rule<T> {
    /// Any value of its type.
    pub(super) fn any(default: T) -> Rule<T> {
        Rule {
            default,
            range: None,
            zero: None,
            rounding: Rounding::NONE,
            range_doc: None,
            default_doc: None,
            example: None,
            affects_programs: true,
        }
    }

    /// Tell the default like this: it follows from other keys, or from the program.
    pub(super) fn default_doc(self, text: &'static str) -> Rule<T> {
        Rule { default_doc: Some(text), ..self }
    }

    /// Tell the range like this.
    pub(super) fn range_doc(self, text: &'static str) -> Rule<T> {
        Rule { range_doc: Some(text), ..self }
    }

    /// Show this value instead of the default.
    pub(super) fn example(self, example: T) -> Rule<T> {
        Rule { example: Some(example), ..self }
    }

    /// It says only how hardware is made: the same programs run in the same way.
    pub(super) fn of_hardware_only(self) -> Rule<T> {
        Rule { affects_programs: false, ..self }
    }

    /// What the machine has: the value that is given, or the default.
    pub(super) fn check(&self, key: &'static str, given: Option<T>) -> Result<T, MachineError> {
        given.unwrap_or(self.default).checked(self, key)
    }

    /// What the table and this rule say of a key.
    pub(super) fn key(&self, name: &'static str, what: &str) -> Key {
        let range = self.range_doc.map(str::to_owned).or_else(|| {
            let range = self.range.as_ref()?;
            Some(format!("{}..={}", range.start(), range.end()))
        });
        let zero = self.zero.map(|meaning| format!("0 = {meaning}"));
        let rounded = (!self.rounding.text.is_empty()).then(|| self.rounding.text.to_owned());
        let default = self.default_doc.map_or_else(|| self.default.toml(), str::to_owned);
        let what = what.trim().trim_end_matches('.').to_owned();
        let parts: Vec<String> = [Some(what), range, rounded, zero].into_iter().flatten().collect();
        let text = format!("{}; default: {default}", parts.join(", "));
        let mut schema = T::schema();
        schema.insert("description".to_owned(), text.clone().into());
        if let (Some(range), None) = (&self.range, self.range_doc) {
            let low = if self.zero.is_some() { 0 } else { *range.start() };
            schema.insert("minimum".to_owned(), low.into());
            schema.insert("maximum".to_owned(), (*range.end()).into());
        }
        Key {
            name,
            text,
            example: self.example.unwrap_or(self.default).toml(),
            schema,
            affects_programs: self.affects_programs,
        }
    }
}

impl Rule<u32> {
    /// A number in a range.
    pub(super) fn number(default: u32, range: RangeInclusive<u32>) -> Rule<u32> {
        Rule { range: Some(range), ..Rule::any(default) }
    }

    /// A number of words: rounded up to a power of two.
    pub(super) fn depth(default: u32, range: RangeInclusive<u32>) -> Rule<u32> {
        Rule { rounding: Rounding::POWER_OF_TWO, ..Rule::number(default, range) }
    }

    /// The words of a pad: rounded up as [`words_of_pad`] says.
    pub(super) fn words(default: u32, range: RangeInclusive<u32>) -> Rule<u32> {
        Rule { rounding: Rounding::WORDS, ..Rule::number(default, range) }
    }

    /// 0 is allowed, too.
    pub(super) fn zero_means(self, meaning: &'static str) -> Rule<u32> {
        Rule { zero: Some(meaning), ..self }
    }
}
