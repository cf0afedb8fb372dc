//! What the run says on standard error, without an allocator.

use core::{
    fmt::{self, Write},
    sync::atomic::{AtomicBool, Ordering},
};

static WARNED: AtomicBool = AtomicBool::new(false);

/// Says it once for each process.
pub fn warn(what: fmt::Arguments<'_>) {
    if !WARNED.swap(true, Ordering::Relaxed) {
        say(what);
    }
}

/// Ends the process: there is no way to go on.
pub fn give_up(why: fmt::Arguments<'_>) -> ! {
    say(why);
    // SAFETY: the call takes no pointers and has no conditions.
    unsafe { libc::_exit(4) }
}

struct Line {
    text: [u8; 512],
    used: usize,
}

impl Write for Line {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let room = &mut self.text[self.used..];
        let length = text.len().min(room.len());
        room[..length].copy_from_slice(&text.as_bytes()[..length]);
        self.used += length;
        Ok(())
    }
}

fn say(what: fmt::Arguments<'_>) {
    let mut line = Line {
        text: [0; 512],
        used: 0,
    };
    let _ = writeln!(line, "reweave run: {what}");
    // SAFETY: the line has so many bytes.
    unsafe { libc::write(2, line.text.as_ptr().cast(), line.used) };
}
