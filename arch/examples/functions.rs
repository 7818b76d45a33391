//! Prints docs/languages/functions.md: `cargo run -p arch --example functions > docs/languages/functions.md`.

#![allow(clippy::print_stdout, reason = "it prints a page")]

fn main() {
    print!("{}", arch::function::page());
}
