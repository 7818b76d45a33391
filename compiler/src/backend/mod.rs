//! Fixed-point IR to image: place, schedule, encode.
