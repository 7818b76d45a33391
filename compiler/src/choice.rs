//! Choices with settings of their own, as sum types.
//!
//! ```text
//! choice! { Method by "optimiser": Sgd; ... Adam "adam" { momentum: f64 as "momentum", Fraction, 0.9; ... } }
//!      │
//!      ├──▶ enum Method { Sgd, Adam { momentum: f64, ... } }           a setting that an optimiser does not have cannot be written down
//!      └──▶ Method::CASES: names, keys, defaults, ranges, texts        tables, schemas and messages read these
//! ```

/// One case of a choice.
#[derive(Debug)]
pub struct Case {
    /// As it is written.
    pub name: &'static str,
    /// What it is.
    pub text: &'static str,
    /// Its settings.
    pub keys: &'static [Key],
}

/// One setting of a case; cases may share a key, each with its own default.
#[derive(Debug)]
pub struct Key {
    /// As it is written.
    pub name: &'static str,
    /// What it is.
    pub text: &'static str,
    /// Its values.
    pub range: Range,
    /// Its value where it is not written; `None` if the key makes the case.
    pub default: Option<f64>,
}

/// Values of a setting.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Range {
    /// At least 0 and below 1.
    Fraction,
    /// Above 0.
    Positive,
    /// Whole, at least 1.
    Count,
    /// Whole, at least 0.
    Whole,
}

impl Range {
    /// Whether a value is one of these.
    pub fn holds(self, value: f64) -> bool {
        match self {
            Range::Fraction => (0.0..1.0).contains(&value),
            Range::Positive => value.is_finite() && value > 0.0,
            Range::Count => value >= 1.0 && Range::Whole.holds(value),
            Range::Whole => value >= 0.0 && value.fract() == 0.0 && value <= f64::from(u32::MAX),
        }
    }

    /// For messages.
    pub fn text(self) -> &'static str {
        match self {
            Range::Fraction => "at least 0 and below 1",
            Range::Positive => "a finite number above 0",
            Range::Count => "a whole number, at least 1",
            Range::Whole => "a whole number, at least 0",
        }
    }
}

/// A type of the values of settings.
pub trait Number {
    /// Of a value in the range of its key.
    fn of(value: f64) -> Self;
    /// As it is written.
    fn number(self) -> f64;
}

impl Number for f64 {
    fn of(value: f64) -> f64 {
        value
    }

    fn number(self) -> f64 {
        self
    }
}

impl Number for usize {
    fn of(value: f64) -> usize {
        value as usize
    }

    fn number(self) -> f64 {
        self as f64
    }
}

/// A sum type that `choice!` makes.
pub trait Choice: Sized + Default {
    /// The key with the name of the case; `None` where the key of a case makes it.
    const TAG: Option<&'static str>;
    /// What it is.
    const TEXT: &'static str;
    /// All cases, the default one first.
    const CASES: &'static [Case];

    /// A case with these settings.
    fn of(case: &str, value: &dyn Fn(&Key) -> f64) -> Self;

    /// Name of the case, and its settings.
    fn written(&self) -> (&'static str, Vec<(&'static str, f64)>);
}

/// The cases of a choice that have a setting.
pub fn owners(cases: &'static [Case], key: &str) -> Vec<(&'static Case, &'static Key)> {
    let owned = cases.iter().filter_map(|case| Some((case, case.keys.iter().find(|known| known.name == key)?)));
    owned.collect()
}

/// A sum type with [`Choice`]; the first case is the default.
#[macro_export]
macro_rules! choice {
    (
        $(#[doc = $text:literal])* $name:ident by $tag:expr;
        $(
            $(#[doc = $case_text:literal])* $case:ident $case_name:literal
            $({ $( $(#[doc = $key_text:literal])* $key:ident: $type:ty as $key_name:literal, $range:ident, $default:expr; )* })? ;
        )*
    ) => {
        $(#[doc = $text])*
        #[derive(Debug, Clone, Copy, PartialEq)]
        pub enum $name {
            $( $(#[doc = $case_text])* $case $({ $( $(#[doc = $key_text])* $key: $type, )* })? ),*
        }

        impl Default for $name {
            fn default() -> $name {
                let first = &<$name as $crate::choice::Choice>::CASES[0];
                <$name as $crate::choice::Choice>::of(first.name, &|key| key.default.expect("the first case has defaults"))
            }
        }

        impl $crate::choice::Choice for $name {
            const TAG: Option<&'static str> = $tag;
            const TEXT: &'static str = concat!($($text),*).trim_ascii();
            const CASES: &'static [$crate::choice::Case] = &[
                $( $crate::choice::Case {
                    name: $case_name,
                    text: concat!($($case_text),*).trim_ascii(),
                    keys: &[$($( $crate::choice::Key {
                        name: $key_name,
                        text: concat!($($key_text),*).trim_ascii(),
                        range: $crate::choice::Range::$range,
                        default: $default,
                    } ),*)?],
                } ),*
            ];

            fn of(case: &str, value: &dyn Fn(&$crate::choice::Key) -> f64) -> $name {
                let cases = <$name as $crate::choice::Choice>::CASES;
                #[allow(unused_variables, reason = "cases without settings need none")]
                let number = |key: &str| {
                    let case = cases.iter().find(|known| known.name == case);
                    value(case.and_then(|case| case.keys.iter().find(|known| known.name == key)).expect("it has the key"))
                };
                match case {
                    $( $case_name => $name::$case $({ $( $key: $crate::choice::Number::of(number($key_name)) ),* })?, )*
                    _ => <$name as Default>::default(),
                }
            }

            fn written(&self) -> (&'static str, Vec<(&'static str, f64)>) {
                match *self {
                    $( $name::$case $({ $($key),* })? =>
                        ($case_name, vec![$($( ($key_name, $crate::choice::Number::number($key)) ),*)?]), )*
                }
            }
        }
    };
}
