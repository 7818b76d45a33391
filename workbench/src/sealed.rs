//! The seal of a document: the hash of everything else in it, so that a damaged or edited file is told.
//!
//! ```text
//! {"weights": [1, 2], "sha256": "9f86..."}
//!  └──── hashed ────┘
//! ```

use serde::Serialize;
use sha2::{Digest, Sha256};

/// The hash of a document whose seal is left out. Names and numbers are written in one way only, so spaces and line ends do not count.
///
/// # Panics
/// When the document cannot be written as JSON.
pub(crate) fn seal(document: &impl Serialize) -> String {
    let text = serde_json::to_vec(document).expect("a document is names and numbers");
    arch::tools::hex(&Sha256::digest(text))
}

/// What is said of a document whose seal is another one.
pub(crate) const BROKEN: &str = "its contents do not match its hash, so it was damaged or edited";
