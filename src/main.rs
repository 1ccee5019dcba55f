//! `warpline`: see the library.
fn main() {}
