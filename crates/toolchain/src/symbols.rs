//! Names of places and objects of a native program, from its debug information and its symbol table.
//!
//! *Decides:* which functions, file and line a return address stands for, and which variable an address in memory
//! (`queue.lock`). *Called by:* `reweave-native`, when an execution is shown. *Owns:* the bytes of one ELF file; each part
//! is read on first use. *Invariants:* addresses count from where the program was loaded (from zero for a program linked
//! at a fixed address). Missing or damaged debug information means no name; nothing here fails after [`Symbols::load`].

mod debug_info;
mod demangle;
mod inline_assembly;
mod line_starts;
mod locals;
mod members;
mod plain_functions;
mod rust_units;
mod source_paths;
mod symbol_table;
mod typed;
mod unit_outline;

use std::{
    cell::{OnceCell, RefCell},
    collections::HashMap,
    fmt, fs, io,
    ops::Range,
    path::{Path, PathBuf},
    sync::Arc,
};

use crate::assemble;
use addr2line::{Context, LookupResult};
use gimli::{BaseAddresses, Dwarf, LittleEndian, UnitOffset, UnitRef};
use object::{
    CompressionFormat, Object, ObjectSection, read::elf::ElfFile64, read::elf::ProgramHeader,
};

pub use demangle::demangle;
pub use inline_assembly::{Census, census, has_hooks};
pub use line_starts::LineStart;
pub use typed::{Member, Shape, Type, Variable};

use debug_info::{Bytes, Die, Info};
use locals::Unwinding;
use rust_units::RustUnits;
use symbol_table::{Symbol, SymbolTable};
use unit_outline::Static;

/// One function of a place in the program.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Frame {
    /// Its name, demangled, without parameters.
    pub function: Option<String>,
    /// The file, as short as someone in the directory of the compilation would type it. Empty: not known.
    pub file: String,
    /// The line; 0: not known.
    pub line: u32,
    /// The column; 0: not known.
    pub column: u32,
}

/// How the canonical frame address (the stack pointer before the call that entered a function) is found.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Cfa {
    /// This far above what `rsp` holds.
    StackPointer(i64),
    /// This far above what `rbp` holds.
    BasePointer(i64),
}

/// Names of one ELF file. What is not asked for is not read.
pub struct Symbols {
    bytes: Arc<[u8]>,
    dwarf: Arc<Dwarf<Bytes>>,
    unwinding: Unwinding,
    table: OnceCell<SymbolTable>,
    /// Size of the block of variables that each thread has, up to the thread pointer.
    thread_block: u64,
    lines: OnceCell<Option<Context<Bytes>>>,
    info: OnceCell<Info>,
    rust_units: OnceCell<RustUnits>,
    statics: OnceCell<Statics>,
    frames: RefCell<HashMap<u64, Vec<Frame>>>,
}

/// Why a file has no names.
#[derive(Debug)]
pub enum SymbolsError {
    /// It cannot be read.
    Unreadable(PathBuf, io::Error),
    /// It is no ELF file, or a damaged one.
    Elf(object::read::Error),
    /// It is for another kind of machine.
    OtherMachine,
    /// Its debug information is damaged.
    DebugInfo(gimli::Error),
}

impl fmt::Display for SymbolsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SymbolsError::Unreadable(path, error) => write!(f, "{}: {error}", path.display()),
            SymbolsError::Elf(error) => error.fmt(f),
            SymbolsError::OtherMachine => f.write_str("not a program for this machine"),
            SymbolsError::DebugInfo(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for SymbolsError {}

/// Variables with a fixed place, ascending.
#[derive(Default)]
struct Statics {
    program: Vec<(u64, Die)>,
    thread: Vec<(u64, Die)>,
}

impl Symbols {
    /// Opens a 64-bit little-endian ELF file.
    pub fn load(path: &Path) -> Result<Symbols, SymbolsError> {
        let bytes = fs::read(path);
        Symbols::parse(bytes.map_err(|error| SymbolsError::Unreadable(path.into(), error))?)
    }

    /// The same for a file that is in memory already.
    pub fn parse(bytes: Vec<u8>) -> Result<Symbols, SymbolsError> {
        let bytes: Arc<[u8]> = bytes.into();
        let file = ElfFile64::<object::Endianness>::parse(&*bytes).map_err(SymbolsError::Elf)?;
        if !file.is_little_endian() {
            return Err(SymbolsError::OtherMachine);
        }
        let whole = Bytes::new(bytes.clone(), LittleEndian);
        let section = |name: &str| {
            let found = file.section_by_name(name);
            let range = found.and_then(|section| plain_range(&section));
            let range = range.filter(|range| range.end <= bytes.len());
            whole.range(range.unwrap_or_default())
        };
        let dwarf = Dwarf::load(|id| Ok::<_, gimli::Error>(section(id.name())));
        let dwarf = dwarf.map_err(SymbolsError::DebugInfo)?;
        let address = |name: &str| {
            file.section_by_name(name)
                .map_or(0, |found| found.address())
        };
        let bases = BaseAddresses::default()
            .set_eh_frame(address(".eh_frame"))
            .set_text(address(".text"))
            .set_got(address(".got"));
        let mut frame = gimli::EhFrame::from(section(".eh_frame"));
        frame.set_address_size(8);
        let thread_block = thread_block(&file);
        Ok(Symbols {
            bytes,
            dwarf: Arc::new(dwarf),
            unwinding: Unwinding {
                section: frame,
                bases,
            },
            table: OnceCell::new(),
            thread_block,
            lines: OnceCell::new(),
            info: OnceCell::new(),
            rust_units: OnceCell::new(),
            statics: OnceCell::new(),
            frames: RefCell::default(),
        })
    }

    /// The functions that are at this return address, the innermost inlined one first; empty when nothing is known.
    pub fn frames(&self, return_address: u64) -> Vec<Frame> {
        let known = self.frames.borrow().get(&return_address).cloned();
        known.unwrap_or_else(|| {
            let frames = self.find_frames(return_address.saturating_sub(1));
            let mut known = self.frames.borrow_mut();
            known.insert(return_address, frames.clone());
            frames
        })
    }

    /// The global or static variable at this address, with the path to the member that an access of `size` bytes means:
    /// `queue.lock`, `slots[3].owner`, `Pool::instance`, `worker::count`; `table+24` where types are unknown.
    pub fn variable(&self, address: u64, size: u64) -> Option<String> {
        let named = self.table().variable(address);
        self.fixed(&self.statics().program, named, address, size)
    }

    /// The same for a variable that each thread has, by its distance from the thread pointer (`fs:0`); below it, so
    /// negative.
    pub fn thread_variable(&self, from_thread_pointer: i64, size: u64) -> Option<String> {
        let offset = self.thread_block.checked_add_signed(from_thread_pointer)?;
        let named = self.table().thread_variable(offset);
        self.fixed(&self.statics().thread, named, offset, size)
    }

    /// The local variable or parameter at this distance from the canonical frame address of the function at this return
    /// address, or of one that was inlined there: `buffer`, `state.lock`.
    pub fn local(&self, return_address: u64, cfa_offset: i64, size: u64) -> Option<String> {
        self.search(return_address, cfa_offset, size)?.run()
    }

    /// How the frame of the function at this return address is found.
    pub fn cfa(&self, return_address: u64) -> Option<Cfa> {
        self.unwinding.cfa(return_address.checked_sub(1)?)
    }

    /// Atomic instructions in code that the compiler instrumented and that it did not make itself: inline assembly, which nobody sees.
    /// As return addresses. Where debug information was taken away all code counts. To be asked of files that [have hooks](has_hooks).
    pub fn uninstrumented(&self) -> Vec<u64> {
        let file = self.file();
        let mut found = inline_assembly::find(&file);
        if file.section_by_name(".debug_info").is_some() {
            found.retain(|end| {
                let unit = self.unit_at(end - 1);
                unit.is_some_and(|unit| self.instrumented(unit))
            });
        }
        found
    }

    /// Sources that were compiled without hooks, and with debug information: what they access nobody sees.
    pub fn plain_sources(&self) -> Vec<String> {
        let units = self.info().units();
        let plain = units.filter(|unit| !self.instrumented(*unit));
        let sources = plain.filter_map(debug_info::source_of);
        sources.filter(|source| !sets_float_mode(source)).collect()
    }

    /// Functions that were compiled without hooks and without debug information: what they access nobody sees. Where debug information was taken
    /// away altogether, they cannot be told from others.
    pub fn plain_functions(&self) -> Vec<String> {
        let file = self.file();
        if file.section_by_name(".debug_info").is_none() {
            return Vec::new();
        }
        let found = plain_functions::accessing(&file, |address| self.unit_at(address).is_none());
        // Some crates that the standard library of Rust consists of have hooks, and no debug information.
        let plain = found.iter();
        let plain = plain.filter(|name| !self.rust_units().have_function(name));
        plain.map(|name| demangle(name)).collect()
    }

    /// Sources whose assembly was not understood: accesses without hooks may be left in them.
    pub fn unread_sources(&self) -> Vec<String> {
        let file = self.file();
        let section = file.section_by_name(assemble::UNREAD);
        let names = section.and_then(|section| section.data().ok());
        let names = names.unwrap_or_default().split(|byte| *byte == 0);
        let names = names.filter(|name| !name.is_empty());
        names
            .map(|name| String::from_utf8_lossy(name).into_owned())
            .collect()
    }

    /// Whether the compiler was told to insert hooks into a unit. C compilers write their command line down; rustc's code shows it.
    fn instrumented(&self, unit: UnitRef<'_, Bytes>) -> bool {
        let producer = debug_info::producer_of(unit);
        let mut words = producer.split_ascii_whitespace();
        if words.any(|word| word == "-fsanitize=thread") {
            return true;
        }
        let name = || debug_info::name_of(unit);
        let hooked = |name: String| self.rust_units().have_hooks(&name);
        rust_units::is_rust(&producer) && name().is_some_and(hooked)
    }

    fn rust_units(&self) -> &RustUnits {
        let read = || RustUnits::read(&self.file());
        self.rust_units.get_or_init(read)
    }

    fn file(&self) -> ElfFile64<'_> {
        ElfFile64::parse(&*self.bytes).expect("it was parsed before")
    }

    fn table(&self) -> &SymbolTable {
        self.table.get_or_init(|| SymbolTable::read(&self.file()))
    }

    fn lines(&self) -> Option<&Context<Bytes>> {
        let read = || Context::from_arc_dwarf(self.dwarf.clone()).ok();
        self.lines.get_or_init(read).as_ref()
    }

    fn info(&self) -> &Info {
        self.info.get_or_init(|| Info::new(self.dwarf.clone()))
    }

    fn unit_at(&self, address: u64) -> Option<UnitRef<'_, Bytes>> {
        output(self.lines()?.find_dwarf_and_unit(address))?
    }

    fn find_frames(&self, address: u64) -> Vec<Frame> {
        let mut frames = self.debug_frames(address).unwrap_or_default();
        let outer = self.table().function(address);
        match frames.last_mut() {
            Some(last) if last.function.is_none() => last.function = outer,
            None if outer.is_some() => frames.push(Frame {
                function: outer,
                file: String::new(),
                line: 0,
                column: 0,
            }),
            _ => {}
        }
        frames
    }

    fn debug_frames(&self, address: u64) -> Option<Vec<Frame>> {
        let unit = self.unit_at(address)?;
        let directory = debug_info::directory_of(unit);
        let mut found = output(self.lines()?.find_frames(address))?.ok()?;
        let mut frames = Vec::new();
        while let Ok(Some(frame)) = found.next() {
            let raw = frame.function.as_ref();
            let raw = raw.and_then(|name| Some(name.raw_name().ok()?.into_owned()));
            let function = raw.map(|raw| self.function_name(raw, unit, frame.dw_die_offset));
            let location = frame.location.as_ref();
            let file = location.and_then(|location| location.file);
            frames.push(Frame {
                function,
                file: source_paths::shorten(file.unwrap_or_default(), &directory),
                line: location.and_then(|location| location.line).unwrap_or(0),
                column: location.and_then(|location| location.column).unwrap_or(0),
            });
        }
        Some(frames)
    }

    /// A mangled name says its scopes; others are looked up, for a C++ function need not have a mangled name.
    fn function_name(
        &self,
        raw: String,
        unit: UnitRef<'_, Bytes>,
        at: Option<UnitOffset>,
    ) -> String {
        if raw.starts_with("_Z") {
            return demangle(&raw);
        }
        let info = self.info();
        let die = info.same(&unit).zip(at);
        let name = die.and_then(|(unit, offset)| info.qualified(Die { unit, offset }));
        name.unwrap_or_else(|| demangle(&raw))
    }

    fn statics(&self) -> &Statics {
        self.statics.get_or_init(|| {
            let mut statics = Statics::default();
            for (die, place) in self.info().statics() {
                match place {
                    Static::Program(address) => statics.program.push((address, die)),
                    Static::Thread(offset) => statics.thread.push((offset, die)),
                }
            }
            statics.program.sort_by_key(|&(address, _)| address);
            statics.thread.sort_by_key(|&(offset, _)| offset);
            statics
        })
    }

    /// The variable around a place, by debug information or else by the symbol table, which also knows the real size of a
    /// variable that ends in an array without bounds.
    fn fixed(
        &self,
        list: &[(u64, Die)],
        named: Option<&Symbol>,
        at: u64,
        size: u64,
    ) -> Option<String> {
        let after = list.partition_point(|&(begin, _)| begin <= at);
        let begin = after.checked_sub(1).map(|last| list[last].0);
        // Several where the compiler tells of one variable in several units, or of the members of a nameless union.
        let first = list.partition_point(|&(own, _)| Some(own) < begin);
        let same = list[first..after].iter();
        let known = same.filter_map(|&(begin, die)| self.known(die, begin, named, at, size));
        let known: Vec<(String, bool)> = known.collect();
        let best = known.iter().find(|(_, whole)| *whole).or(known.first());
        let found = best.map(|(name, _)| name.clone());
        found.or_else(|| Some(named?.with_offset(at)))
    }

    /// What an access is called if it is to this variable, and whether all of it is.
    fn known(
        &self,
        die: Die,
        begin: u64,
        named: Option<&Symbol>,
        at: u64,
        size: u64,
    ) -> Option<(String, bool)> {
        let info = self.info();
        let kind = info.type_of(die)?;
        let symbol = named.filter(|named| named.address == begin);
        let bytes = members::size(info, kind).max(symbol.map(|named| named.size))?;
        let offset = at - begin;
        if offset >= bytes {
            return None;
        }
        let mut name = info.qualified(die)?;
        // A compiler may forget whose static variable it is, but not to name the symbol after both.
        let long = symbol.map(Symbol::demangled);
        let long = long.filter(|long| long.ends_with(&format!("::{name}")));
        if let Some(long) = long.filter(|_| !name.contains("::")) {
            name = long;
        }
        let path = members::path(info, kind, offset, size);
        Some((name + &path, size <= bytes - offset))
    }
}

/// Where in the file a section lies. A compressed one counts as missing.
fn plain_range<'a>(section: &impl ObjectSection<'a>) -> Option<Range<usize>> {
    let range = section.compressed_file_range().ok()?;
    if range.format != CompressionFormat::None {
        return None;
    }
    let begin = usize::try_from(range.offset).ok()?;
    let size = usize::try_from(range.uncompressed_size).ok()?;
    Some(begin..begin.checked_add(size)?)
}

/// Whether a source is that of code which `-ffast-math` links from the compiler's own library. It runs before `main` and writes to its stack.
fn sets_float_mode(source: &str) -> bool {
    source.ends_with("/libgcc/config/i386/crtfastmath.c")
}

/// The result of a lookup. Debug information in separate files is not followed.
fn output<L>(result: LookupResult<L>) -> Option<L::Output>
where
    L: addr2line::LookupContinuation,
{
    match result {
        LookupResult::Output(output) => Some(output),
        LookupResult::Load { .. } => None,
    }
}

/// The variables of each thread end at its thread pointer, on this machine.
fn thread_block(file: &ElfFile64<'_>) -> u64 {
    let endian = file.endian();
    let mut headers = file.elf_program_headers().iter();
    let header = headers.find(|header| header.p_type(endian) == object::elf::PT_TLS);
    header.map_or(0, |header| {
        let align = header.p_align(endian).max(1);
        let size = header.p_memsz(endian);
        size.checked_next_multiple_of(align).unwrap_or(0)
    })
}
