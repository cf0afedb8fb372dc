//! This process's standard input for the program: copied once, read from the beginning by every run.
//!
//! *Called by:* the command. *Owns:* a temporary file, which disappears with the last user.

use std::{
    fs::File,
    io::{self, Read, Seek, Write},
    os::unix::fs::FileTypeExt,
    sync::{Arc, mpsc},
    time::Duration,
};

/// The most input of a program: what has no end must not fill the disk.
const LARGEST: u64 = 1 << 30;

/// Copies all of it; `None` if it is no file, pipe or socket, such as a terminal. `slow` is called if that takes a second.
pub fn copy_standard_input(slow: impl FnOnce()) -> io::Result<Option<Arc<File>>> {
    let Ok(kind) = std::fs::metadata("/proc/self/fd/0").map(|found| found.file_type()) else {
        return Ok(None);
    };
    if !kind.is_file() && !kind.is_fifo() && !kind.is_socket() {
        return Ok(None);
    }
    let (done, all) = mpsc::channel();
    std::thread::spawn(move || {
        let copied = tempfile::tempfile().and_then(|mut file| {
            let input = &mut io::stdin().lock().take(LARGEST + 1);
            if io::copy(input, &mut file)? > LARGEST {
                let limit = format!("it is larger than {} MB", LARGEST >> 20);
                return Err(io::Error::other(limit));
            }
            file.flush()?;
            file.rewind()?;
            Ok(file)
        });
        // The receiver is gone only if the process is ending.
        let _ = done.send(copied);
    });
    let copied = match all.recv_timeout(Duration::from_secs(1)) {
        Err(mpsc::RecvTimeoutError::Timeout) => {
            slow();
            all.recv()
        }
        other => other.map_err(|_| mpsc::RecvError),
    };
    let file = copied.map_err(|_| io::Error::other("the thread that reads it has ended"))?;
    file.map(|file| Some(Arc::new(file)))
}
