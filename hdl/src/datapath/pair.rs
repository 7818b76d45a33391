//! A choice between two words.
//!
//!     select ? one : zero        two bits of it in a table that has two outputs, where the family names one
//!
//! Synthesis that counts a table for each output would take twice as many.

use arch::device::{Leaves, filled};

/// Text that declares `name`, of `bits` bits: `one` if `select`, else `zero`, which are names of words.
pub(crate) fn text(leaves: Leaves, name: &str, bits: u32, [select, one, zero]: [&str; 3]) -> String {
    let declared = format!("wire [{}:0] {name}", bits - 1);
    let Some(pair) = leaves.pair else { return format!("{declared} = {select} ? {one} : {zero};\n") };
    let half = bits / 2;
    let [last, top, halved] = [half - 1, 2 * half - 1, half].map(|number| number.to_string());
    let values = [
        ("name", name),
        ("last", &last),
        ("top", &top),
        ("half", &halved),
        ("select", select),
        ("one", one),
        ("zero", zero),
    ];
    let alone = match bits % 2 {
        0 => String::new(),
        _ => format!("assign {name}[{0}] = {select} ? {one}[{0}] : {zero}[{0}];\n", bits - 1),
    };
    format!("{declared};\n{}{alone}", filled(&pair.text, &values))
}
