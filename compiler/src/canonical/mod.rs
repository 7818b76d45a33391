//! Passes from tensor IR to tensor IR, one file each, in the order of [`canonicalise`].
