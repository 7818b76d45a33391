//! Prints docs/registers.md: `cargo run -p arch --example registers > docs/registers.md`.

#![allow(clippy::print_stdout, reason = "it prints a page")]

fn main() {
    print!("{}", arch::axi::page());
}
