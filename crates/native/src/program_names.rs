//! Names of a native program's places and objects: what its sites, stacks and addresses mean to people.
//!
//! *Decides:* which call of a stack is shown as its place, and how memory is called. *Called by:* `named_trace` and
//! `subject`. *Owns:* the symbols of the program's files, read on first use.

use reweave_model::Site;
use reweave_report::{CallEntry, Position, UnseenCode};
use reweave_toolchain::{
    Kit,
    executable::Executable,
    symbols::{Census, Frame, Symbols, census, has_hooks},
};
use reweave_wire::{HelloModule, Place, PlaceKind};
use std::{
    cell::OnceCell,
    collections::BTreeSet,
    path::{Path, PathBuf},
};

/// Names of one program and its libraries.
pub(crate) struct ProgramNames {
    program: PathBuf,
    modules: Vec<Module>,
    /// Whether the program has no debug information.
    bare: bool,
}

/// A file that the program is made of.
struct Module {
    /// Sites of it begin here.
    bias: u32,
    bytes: u32,
    path: PathBuf,
    symbols: OnceCell<Option<Symbols>>,
}

/// An object in memory, by its name.
pub(crate) struct Thing {
    /// Such as `queue.lock` or `heap#3+8`.
    pub(crate) name: String,
    /// Where its memory was allocated.
    pub(crate) allocated: Option<Position>,
}

impl Thing {
    /// With the place of its allocation.
    pub(crate) fn described(&self) -> String {
        match &self.allocated {
            Some(at) => format!("{} (allocated at {at})", self.name),
            None => self.name.clone(),
        }
    }
}

impl Module {
    fn is_ours(&self) -> bool {
        self.path.ends_with(Kit::RUNTIME)
    }

    fn symbols(&self) -> Option<&Symbols> {
        let load = || Symbols::load(&self.path).ok();
        self.symbols.get_or_init(load).as_ref()
    }
}

/// One name for functions, of which there may be many.
fn some_of(functions: &[String]) -> Option<String> {
    const NAMED: usize = 3;
    match functions.len() {
        0 => None,
        1..=NAMED => Some(functions.join(", ")),
        all => {
            let named = functions[..NAMED].join(", ");
            Some(format!("{named} and {} more", all - NAMED))
        }
    }
}

impl ProgramNames {
    /// For a program.
    pub(crate) fn new(program: &Path) -> ProgramNames {
        ProgramNames {
            program: program.into(),
            modules: Vec::new(),
            bare: Executable::inspect(program).is_ok_and(|it| !it.has_debug_info),
        }
    }

    /// Takes in the files of the program; there may be more than before.
    pub(crate) fn learn(&mut self, modules: &[HelloModule]) {
        let program = &self.program;
        let fresh = modules.iter().skip(self.modules.len());
        self.modules.extend(fresh.map(|module| Module {
            bias: module.bias,
            bytes: module.bytes,
            path: match module.path.as_str() {
                "" => program.clone(),
                path => path.into(),
            },
            symbols: OnceCell::new(),
        }));
    }

    fn module(&self, site: Site) -> Option<&Module> {
        self.modules.iter().find(|module| {
            let offset = site.0.checked_sub(module.bias);
            offset.is_some_and(|offset| offset < module.bytes)
        })
    }

    /// Whether it is a place of the runtime, which is never shown.
    fn is_ours(&self, site: Site) -> bool {
        self.module(site).is_some_and(Module::is_ours)
    }

    /// The module that a site is in, and its address there.
    pub(crate) fn find(&self, site: Site) -> Option<(&Symbols, u64)> {
        let module = self.module(site)?;
        let symbols = module.symbols()?;
        Some((symbols, (site.0 - module.bias).into()))
    }

    fn frames(&self, site: Site) -> Vec<Frame> {
        let found = self.find(site);
        found.map_or_else(Vec::new, |(symbols, address)| symbols.frames(address))
    }

    /// The function of the program at a site.
    pub(crate) fn function(&self, site: Site) -> Option<String> {
        self.frames(site).into_iter().next()?.function
    }

    /// Code of an instrumented program that is not observed: atomic instructions without a hook, sources compiled without hooks.
    pub(crate) fn uninstrumented(&self) -> BTreeSet<String> {
        let mut places = BTreeSet::new();
        let hooked = |module: &&Module| !module.is_ours() && has_hooks(&module.path);
        for module in self.modules.iter().filter(hooked) {
            let Some(symbols) = module.symbols() else {
                continue;
            };
            places.extend(symbols.plain_sources());
            places.extend(some_of(&symbols.plain_functions()));
            places.extend(symbols.unread_sources());
            for address in symbols.uninstrumented() {
                let at = self.position(Site(module.bias + address as u32));
                let at = at.map(|at| at.to_string());
                let function = || symbols.frames(address).pop()?.function;
                places.insert(at.or_else(function).unwrap_or_else(|| "?".into()));
            }
        }
        places
    }

    /// What a disassembler finds in the program and its libraries. The C library and the loader are left out: their calls are seen.
    pub(crate) fn unseen_code(&self) -> Vec<UnseenCode> {
        const SEEN: [&str; 3] = ["libc.so", "ld-linux", "linux-vdso"];
        let mut all = Vec::new();
        for module in self.modules.iter().filter(|module| !module.is_ours()) {
            let file = module.path.file_name().unwrap_or_default();
            let file = file.to_string_lossy().into_owned();
            if SEEN.iter().any(|seen| file.starts_with(seen)) {
                continue;
            }
            let counted = census(&module.path).filter(|census| *census != Census::default());
            if let Some(census) = counted {
                all.push(UnseenCode {
                    file,
                    atomics: census.atomics,
                    system_calls: census.system_calls,
                });
            }
        }
        all
    }

    /// Code that was run without being observed: its place, or its library if that was compiled without hooks.
    pub(crate) fn unseen(&self, site: Site) -> String {
        let module = self.module(site).filter(|module| !has_hooks(&module.path));
        let library = module.and_then(|module| module.path.file_name());
        match library {
            Some(library) => library.to_string_lossy().into_owned(),
            None => {
                let at = self.position(site).map(|at| at.to_string());
                at.unwrap_or_else(|| "?".into())
            }
        }
    }

    /// Where a site is, in the program's own sources if it is there.
    pub(crate) fn position(&self, site: Site) -> Option<Position> {
        self.place_of(&[site])
    }

    /// Where a stack is: at its innermost call in the program's own sources, or else at the innermost that has a line.
    pub(crate) fn place_of(&self, stack: &[Site]) -> Option<Position> {
        let mut any = None;
        for site in stack.iter().filter(|site| !self.is_ours(**site)) {
            for frame in self.frames(*site) {
                let at = position(&frame);
                if at.is_some() && !foreign(&frame) {
                    return at;
                }
                any = any.or(at);
            }
        }
        any.or_else(|| stack.iter().find_map(|site| self.bare_place(*site)))
    }

    /// A place in a program without debug information: its function, or at least its address.
    fn bare_place(&self, site: Site) -> Option<Position> {
        let program = self.modules.first()?;
        let offset = site.0.checked_sub(program.bias)?;
        if offset >= program.bytes || !self.bare {
            return None;
        }
        let file = program.path.file_name()?.to_string_lossy();
        let function = self
            .frames(site)
            .into_iter()
            .find_map(|frame| frame.function);
        Some(Position {
            file: match function {
                Some(function) => format!("{file}+{offset:#x} in {function}"),
                None => format!("{file}+{offset:#x}"),
            },
            line: 0,
            column: 0,
        })
    }

    /// The calls of a stack, such as `push at queue.c:12`, the innermost first.
    pub(crate) fn calls(&self, stack: &[Site]) -> Vec<String> {
        let own = stack.iter().filter(|site| !self.is_ours(**site));
        let frames = own.flat_map(|site| self.frames(*site));
        let calls = frames.filter_map(|frame| {
            let at = position(&frame).map(|at| format!(" at {at}"));
            Some(frame.function? + &at.unwrap_or_default())
        });
        calls.take(MOST_CALLS).collect()
    }

    /// The calls of a stack, the innermost first. Of a library's, only the one that the program called remains.
    pub(crate) fn entries(&self, stack: &[Site]) -> Vec<CallEntry> {
        let mut calls: Vec<CallEntry> = Vec::new();
        let own = stack.iter().filter(|site| !self.is_ours(**site));
        for frame in own.flat_map(|site| self.frames(*site)) {
            let library = foreign(&frame);
            let at = position(&frame);
            let Some(function) = frame.function else {
                continue;
            };
            // `std::thread` and its kin call the program from inside: that is of no interest to a reader.
            if library && calls.iter().any(|call| !call.library) {
                continue;
            }
            if library {
                calls.clear();
            }
            calls.push(CallEntry {
                function,
                at,
                library,
            });
            if calls.len() == MOST_CALLS {
                break;
            }
        }
        calls
    }

    /// The function that a thread began with, by the stack of something that it did.
    pub(crate) fn start(&self, stack: &[Site]) -> Option<String> {
        let own = stack.iter().rev().filter(|site| !self.is_ours(**site));
        let mut frames = own.flat_map(|site| self.frames(*site).into_iter().rev());
        let found =
            frames.find(|frame| frame.function.is_some() && !foreign(frame) && frame.line > 0);
        found?.function
    }

    /// The object at a place; `None`: it has no name.
    pub(crate) fn thing(&self, place: &Place) -> Option<Thing> {
        match &place.kind {
            PlaceKind::Static { offset } => {
                let (symbols, address) = self.find(Site(*offset))?;
                Some(Thing {
                    name: symbols.variable(address, 1)?,
                    allocated: None,
                })
            }
            PlaceKind::Heap {
                thread,
                number,
                site,
                offset,
                ..
            } => {
                let whose = thread
                    .iter()
                    .fold(String::new(), |text, n| format!("{text}.{n}"));
                let whose = match whose.is_empty() {
                    true => whose,
                    false => format!("main{whose}:"),
                };
                let offset = match offset {
                    0 => String::new(),
                    bytes => format!("+{bytes}"),
                };
                Some(Thing {
                    name: format!("{whose}heap#{}{offset}", number + 1),
                    allocated: self.position(*site),
                })
            }
            PlaceKind::Named(name) => Some(Thing {
                name: name.clone(),
                allocated: None,
            }),
            PlaceKind::Stack { .. } | PlaceKind::Unknown => None,
        }
    }
}

/// Calls of a stack that are shown; only unbounded recursion has more.
const MOST_CALLS: usize = 40;

fn position(frame: &Frame) -> Option<Position> {
    (frame.line > 0 && !frame.file.is_empty()).then(|| Position {
        file: frame.file.clone(),
        line: frame.line,
        // Two accesses of one line are one place.
        column: 0,
    })
}

/// Whether it is in a header of the system, or in the standard library of Rust: where that was compiled, and as others see it.
fn foreign(frame: &Frame) -> bool {
    const RUST: [&str; 4] = ["alloc", "core", "std", "test"];
    let file = &frame.file;
    let of_rust = file.strip_prefix("library/").is_some_and(|rest| {
        let part = rest.split_once("/src/");
        part.is_some_and(|(part, _)| RUST.contains(&part))
    });
    of_rust || file.starts_with("/usr/") || file.starts_with("/rustc/")
}
