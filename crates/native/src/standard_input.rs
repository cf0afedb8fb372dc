//! Standard input for the checked program: read once, given to every run from its beginning.

use crate::say;
use std::{
    fs::File,
    io::{self, Seek, Write},
    os::unix::fs::FileTypeExt,
    sync::{Arc, mpsc},
    time::Duration,
};

/// All of it; `None` when it is no file and no pipe: nobody types the same for every execution.
pub fn read() -> Result<Option<Arc<File>>, String> {
    let Ok(kind) = std::fs::metadata("/proc/self/fd/0").map(|found| found.file_type()) else {
        return Ok(None);
    };
    if !kind.is_file() && !kind.is_fifo() && !kind.is_socket() {
        return Ok(None);
    }
    let failed = |error: io::Error| format!("standard input cannot be read: {error}");
    let (done, all) = mpsc::channel();
    std::thread::spawn(move || {
        let copied = tempfile::tempfile().and_then(|mut file| {
            io::copy(&mut io::stdin().lock(), &mut file)?;
            file.flush()?;
            file.rewind()?;
            Ok(file)
        });
        // Nobody listens to a command that is ending.
        let _ = done.send(copied);
    });
    let copied = match all.recv_timeout(Duration::from_secs(1)) {
        Err(mpsc::RecvTimeoutError::Timeout) => {
            say("standard input is read to its end, for the program; `< /dev/null` gives it none");
            all.recv()
        }
        other => other.map_err(|_| mpsc::RecvError),
    };
    let file = copied.map_err(|_| "standard input cannot be read".to_owned())?;
    file.map(|file| Some(Arc::new(file))).map_err(failed)
}
