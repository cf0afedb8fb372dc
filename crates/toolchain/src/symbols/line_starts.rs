//! Where the lines of the program's own sources begin in its code, by its line table.
//!
//! *Called by:* `reweave-native`, to find out which lines are run. *Owns:* nothing. Lines of headers of the system, and of code that
//! the linker left out, are not among them.

use super::Symbols;
use object::{elf, read::elf::ProgramHeader};
use std::ops::Range;

/// An instruction with which a line begins.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct LineStart {
    /// Its address.
    pub address: u64,
    /// The file, as short as someone in the directory of the compilation would type it.
    pub file: String,
    /// The line.
    pub line: u32,
}

impl Symbols {
    /// All starts of lines, ascending.
    pub fn line_starts(&self) -> Vec<LineStart> {
        let code = self.code();
        let mut starts = Vec::new();
        for unit in 0..self.info().count() {
            self.starts_of(unit, &code, &mut starts);
        }
        starts.sort();
        starts.dedup();
        starts
    }

    fn starts_of(&self, unit: usize, code: &[Range<u64>], starts: &mut Vec<LineStart>) {
        let program = self.info().unit(unit).line_program.clone();
        let Some(program) = program else {
            return;
        };
        let mut rows = program.rows();
        while let Ok(Some((_, row))) = rows.next_row() {
            let address = row.address();
            let begins = row.is_stmt() && !row.end_sequence();
            let (Some(line), true) = (row.line(), begins) else {
                continue;
            };
            if !code.iter().any(|range| range.contains(&address)) {
                continue;
            }
            let file = self.info().file(unit, row.file_index());
            let own = file.filter(|file| !file.starts_with("/usr/"));
            if let (Some(file), Ok(line)) = (own, u32::try_from(line.get())) {
                starts.push(LineStart {
                    address,
                    file,
                    line,
                });
            }
        }
    }

    /// Addresses of what can be run.
    fn code(&self) -> Vec<Range<u64>> {
        let file = self.file();
        let endian = file.endian();
        let headers = file.elf_program_headers().iter();
        let runs = headers.filter(|header| header.p_flags(endian).0 & elf::PF_X.0 != 0);
        runs.map(|header| {
            let start = header.p_vaddr(endian);
            start..start + header.p_memsz(endian)
        })
        .collect()
    }
}
