//! Prints the table of calls, or with `--write` writes it to `docs/calls.md`.

use reweave_testing::tidy::{calls, tree};
use std::{env, fs};

fn main() {
    let page = calls::page(&tree::sources());
    match env::args().any(|argument| argument == "--write") {
        true => {
            fs::write(tree::root().join("docs/calls.md"), page).expect("the page can be written")
        }
        false => print!("{page}"),
    }
}
