//! What a check is about, as text that is equal when nothing has changed: the program, how it is started, how it is explored.
//!
//! *Decides:* whether a stored search belongs to a check. *Called by:* `check`, `search_file`. *Owns:* nothing.

use crate::args::CheckRequest;
use reweave_native::NativeProgram;
use reweave_toolchain::Kit;
use std::{
    fs::File,
    hash::{DefaultHasher, Hasher},
    io::{self, Read},
    os::unix::fs::FileExt,
    path::Path,
};

/// Lines of text, each about one thing.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Facts {
    lines: Vec<String>,
}

impl Facts {
    /// Of a program that was built, or found, for this request.
    pub fn of(request: &CheckRequest, program: &NativeProgram) -> io::Result<Facts> {
        let mut facts = Facts::default();
        let options = &request.options;
        facts.add(
            "version",
            &format!("{} {:?}", env!("CARGO_PKG_VERSION"), Kit::FINGERPRINT),
        );
        facts.add("program", &hash_of_file(&program.launch.program)?);
        facts.add("arguments", &format!("{:?}", request.args));
        let stdin = program.launch.stdin.as_deref().map(hash_of_input);
        facts.add("input", &format!("{:?}", stdin.transpose()?));
        let search = request.search;
        facts.add(
            "search",
            &format!(
                "{:?} {:?} {} {}",
                search.algorithm, search.preemptions, search.max_steps, search.seed
            ),
        );
        facts.add(
            "options",
            &format!(
                "{:?} {:?} {:?} {:?} {:?} {:?} {} {:?}",
                options.granularity,
                request.races(),
                options.faults,
                (options.ranks, options.sends),
                options.threads,
                options.restart,
                options.keep_going,
                (options.max_memory, options.max_output, options.max_time)
            ),
        );
        Ok(facts)
    }

    pub fn add(&mut self, name: &str, value: &str) {
        self.lines.push(format!("{name}: {value}"));
    }

    /// All of it in 128 bits.
    pub fn digest(&self) -> String {
        let half = |seed: u8| {
            let mut hasher = DefaultHasher::new();
            hasher.write_u8(seed);
            for line in &self.lines {
                hasher.write(line.as_bytes());
                hasher.write_u8(b'\n');
            }
            hasher.finish()
        };
        format!("{:016x}{:016x}", half(1), half(2))
    }
}

/// A file by its contents.
pub fn hash_of_file(path: &Path) -> io::Result<String> {
    let mut file = File::open(path)?;
    hash_of(|buffer, _| file.read(buffer))
}

/// From its beginning, wherever it is read at the moment.
fn hash_of_input(file: &File) -> io::Result<String> {
    hash_of(|buffer, at| file.read_at(buffer, at))
}

fn hash_of(mut read: impl FnMut(&mut [u8], u64) -> io::Result<usize>) -> io::Result<String> {
    let (mut hasher, mut length) = (DefaultHasher::new(), 0);
    let mut buffer = vec![0; 1 << 16];
    loop {
        match read(&mut buffer, length)? {
            0 => return Ok(format!("{:016x} {length}", hasher.finish())),
            count => {
                hasher.write(&buffer[..count]);
                length += count as u64;
            }
        }
    }
}
