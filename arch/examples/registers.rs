//! Prints docs/registers.md: `cargo run -p arch --example registers > docs/registers.md`.

fn main() {
    print!("{}", arch::axi::page());
}
