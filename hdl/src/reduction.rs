//! Blocks beside a row or beside the grid: trees, roots, the scalar unit.
//!
//!     PE 0 .. PE C-1 ──▶ row tree (nodes) ──▶ root (function, divider) ──▶ row bus
//!     rows ──▶ global tree (nodes) ──▶ global root ──▶ global bus, output
//!
//! | module | holds |
//! |---|---|
//! | `node` `tree` | a node that adds or compares, and the trees made of it |
//! | `adders` | trees of blocks that add |
//! | `root` `function` `divider` | what becomes of a tree's sum: rounding, function tables, quotients |
//! | `scalar` | the scalar unit: one PE beside the global root |

pub(crate) mod adders;
pub(crate) mod divider;
pub(crate) mod function;
pub(crate) mod node;
pub(crate) mod root;
pub(crate) mod scalar;
pub(crate) mod tree;
