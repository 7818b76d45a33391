//! `build`
