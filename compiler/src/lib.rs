//! From program text to an image, without any IO.
//!
//! | module | stage |
//! |---|---|
//! | [`language`] | text to tensor IR, one folder per language |
//! | [`tensor`] | tensor IR: what a program computes, on real numbers |
//! | [`canonical`] | tensor IR to tensor IR: the passes, one file each |
//! | [`ranges`] | what values the tensors take |
//! | [`fixed`] | fixed-point IR: the same, with every rounding decided |
//! | [`backend`] | fixed-point IR to image: place, schedule, encode |

pub mod backend;
pub mod canonical;
pub mod fixed;
pub mod language;
pub mod ranges;
pub mod tensor;
