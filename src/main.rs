//! The program: arguments, configuration, run; nothing else.

fn main() {}
