//! Front ends: text to tensor IR. One folder per language.
//!
//! | folder | language | extension |
//! |---|---|---|
//! | `tabla` | TABLA | `.t` |
