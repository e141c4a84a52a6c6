//! The program. Its command line comes with its faces.

fn main() {}
