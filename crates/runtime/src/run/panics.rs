//! What a program in Rust said when it panicked: the message of the error that its exit status is.
//!
//! *Called by:* the end of the process. *Owns:* nothing. The library prints the message like any output, so it is read from there.

use crate::{core::program_start, run::captured_output};
use alloc::string::{String, ToString};

/// The exit status of a program that panicked.
const PANICKED: i32 = 101;

/// What the last panic said, if the process ends for it.
pub fn message(status: i32) -> Option<String> {
    if status != PANICKED || !program_start::in_rust() {
        return None;
    }
    let text = captured_output::written();
    last(&String::from_utf8_lossy(&text))
}

/// `thread 'main' (12) panicked at src/lib.rs:3:5:`, the message in lines of its own, and perhaps a note on backtraces.
fn last(output: &str) -> Option<String> {
    const BEGIN: &str = " panicked at ";
    const NOTE: &str = "note: run with ";
    let (_, text) = output.rsplit_once(BEGIN)?;
    let mut lines = text.lines();
    let mut message = String::from("panicked at ") + lines.next()?;
    let ends = |line: &&str| !line.is_empty() && !line.starts_with(NOTE);
    for line in lines.take_while(ends) {
        message.push(' ');
        message.push_str(line.trim());
    }
    Some(message.trim().to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_panic_is_the_one() {
        let output = "running 1 test\n\nthread 'a' (7) panicked at a.rs:1:2:\nfirst\n\nthread 'main' (1) panicked at src/b.rs:3:4:\n\
            assertion `left == right` failed\n  left: 1\n right: 2\nnote: run with `RUST_BACKTRACE=1` environment variable\ntest b ... FAILED\n";
        let message = "panicked at src/b.rs:3:4: assertion `left == right` failed left: 1 right: 2";
        assert_eq!(last(output).as_deref(), Some(message));
        assert_eq!(last("nothing of the kind"), None);
    }
}
