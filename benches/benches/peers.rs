//! `cargo bench` in this directory: see the library's documentation.

fn main() {
    reweave_benches::main();
}
