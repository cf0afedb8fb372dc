//! How calls reach what is open: a step that looks the descriptor up, and one of the file.

use crate::{
    core::{call_sites, cancellation, world},
    hooks::Frame,
    kernel::{
        descriptor_table,
        file_mappings::{self, At, By},
        file_names, file_objects, offsets,
    },
};
use core::ffi::c_int;
use reweave_model::Site;
use reweave_shadow::Kind;

/// What a call does with an open file.
#[derive(Clone, Copy)]
pub(crate) struct Way {
    pub(crate) call: &'static str,
    /// It changes what is in it.
    pub(crate) writes: bool,
    /// It begins where that stands, and moves it.
    pub(crate) moves: bool,
    /// It sees what is in it.
    pub(crate) looks: bool,
}

/// From where it stands.
pub(crate) const READS: Way = Way {
    call: "read",
    writes: false,
    moves: true,
    looks: true,
};
pub(crate) const WRITES: Way = Way {
    call: "write",
    writes: true,
    ..READS
};
/// From where the call says.
pub(crate) const READS_AT: Way = Way {
    call: "pread",
    moves: false,
    ..READS
};
pub(crate) const WRITES_AT: Way = Way {
    call: "pwrite",
    moves: false,
    ..WRITES
};

/// What a descriptor stood for when it was looked up.
#[derive(Clone, Copy)]
pub(crate) struct Looked {
    descriptor: c_int,
    /// 0: none that matters here.
    kind: u32,
    /// It is for output.
    output: bool,
    /// The object of the file, beside other threads.
    file: Option<usize>,
    site: Site,
    pc: usize,
}

/// A file that a call has reached.
pub(crate) struct Reached {
    pub(crate) descriptor: c_int,
    writes: bool,
    /// It is for output: a pipe, as far as the program can tell.
    pub(crate) output: bool,
    pub(crate) by: By,
}

/// Looks a descriptor up.
pub(crate) fn look_up(descriptor: c_int, way: Way, frame: &Frame) -> Looked {
    if !matches!(way.call, "lseek" | "ftruncate" | "fallocate") {
        cancellation::point(frame);
    }
    file_objects::moving();
    let site = call_sites::site(&frame.return_address);
    descriptor_table::look_up(descriptor, site);
    let (kind, output) = match file_objects::kind(descriptor) {
        _ if descriptor_table::is_output(descriptor) => (0, true),
        libc::S_IFREG if file_objects::is_output(descriptor) => (0, true),
        kind => (kind, false),
    };
    let is_file = matches!(kind, libc::S_IFREG | libc::S_IFBLK | libc::S_IFDIR);
    let file = (is_file && !file_names::alone()).then(|| file_names::number_of_open(descriptor));
    Looked {
        descriptor,
        kind,
        output,
        file,
        site,
        pc: frame.return_address,
    }
}

impl Looked {
    /// Touches the file, unless that is for output. Pipes and the like are not under control.
    pub(crate) fn reach(self, way: Way) -> Reached {
        let world = world::get();
        let since = world.races.epoch(world.current);
        if matches!(self.kind, libc::S_IFIFO | libc::S_IFSOCK) {
            let what = alloc::format!("{} of a pipe", way.call);
            world.unsupported(&what, self.site);
        }
        if let Some(file) = self.file {
            let shared = self.kind != libc::S_IFREG || offsets::are_shared();
            if way.writes || way.moves && shared {
                file_objects::touch(file, self.site);
            } else if way.looks {
                file_objects::look_at(file, self.site);
            }
        }
        let (descriptor, open) = descriptor_table::found_open(self.descriptor);
        if way.writes && self.kind == libc::S_IFREG {
            file_objects::spare(descriptor, self.site);
        }
        if way.moves && self.file.is_some() {
            offsets::used(open, since);
        }
        Reached {
            descriptor,
            writes: way.writes,
            output: self.output,
            by: By {
                pc: self.pc,
                site: self.site,
                since,
            },
        }
    }
}

/// Looks a descriptor up and touches its file.
pub(crate) fn reach(descriptor: c_int, way: Way, frame: &Frame) -> Reached {
    look_up(descriptor, way, frame).reach(way)
}

impl Reached {
    /// It was read or written.
    pub(crate) fn accessed(&self, at: At, bytes: isize) {
        let kind = match self.writes {
            true => Kind::Write,
            false => Kind::Read,
        };
        file_mappings::accessed(self.descriptor, at, bytes, kind, &self.by);
    }
}
