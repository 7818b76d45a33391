//! `explain`
