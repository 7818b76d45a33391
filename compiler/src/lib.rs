//! From program text to an image, without any IO.
//!
//! | module | stage |
//! |---|---|
//! | [`language`] | text to tensor IR, one folder per language |
//! | [`tensor`] | tensor IR: what a program computes, on real numbers |
//! | [`derived`] | tensor IR to tensor IR: gradients of what is minimised |
//! | [`canonical`] | tensor IR to tensor IR: the passes, one file each |
//! | [`identity`] | whether a canonical form is the same function as the source |
//! | [`rounding`] | how updates of weights are rounded to words: the states that this needs |
//! | [`ranges`] | what values the tensors take |
//! | [`fixed`] | fixed-point IR: the same, with every rounding decided |
//! | [`placed`] | fixed-point IR in pieces, each index on an axis of the grid |
//! | [`jobs`] | vector operations on the words of each PE |
//! | [`scheduled`] | the cycle of every job, the address of every word |
//! | [`image`] | microcode, and its verifier |
//! | [`mod@choice`] | settings as sum types, from which tables, schemas and messages follow |
//! | [`optimisations`] | what of these makes programs faster, each with a switch |
//! | [`search`] | fixed-point IR to image: tries the choices of these stages and takes the shortest step |
//! | [`laws`] | broken laws, as the verifiers of the stages report them |
//! | [`ir`] | passes by name, each on a text of its stage |
//! | [`text`] | what the text forms of all stages share |

pub mod canonical;
pub mod choice;
pub mod derived;
pub mod fixed;
pub mod identity;
pub mod image;
pub mod ir;
pub mod jobs;
pub mod language;
pub mod laws;
pub mod optimisations;
pub mod placed;
pub mod ranges;
pub mod rounding;
pub mod scheduled;
pub mod search;
pub mod tensor;
pub mod text;
