//! Statics begin every execution from their const value.
//!
//! *Decides:* which objects live in the program's static memory, and what their bytes were before `main`. *Called by:* every shim
//! method through [`super::here`]. *Owns:* a snapshot of the initialised data of the executable, taken by an `.init_array` function
//! before any code of the program ran, and, for each execution, the copies of the statics that it used.
//!
//! Inside a check a shim object in static memory is replaced by a copy of its pristine bytes, one an execution: executions
//! do not see each other's values, and parallel workers do not share them. The copy is dropped when the execution is over, so what it
//! came to own is freed, though a static is never dropped in Rust.
//!
//! *Limit:* only statics of the executable itself. One in a shared library is taken for an object made outside the closure, which is
//! reported at its second execution.

use std::{
    alloc::{Layout, alloc_zeroed, dealloc},
    cell::{Cell, RefCell},
    collections::HashMap,
    ptr,
    sync::{
        OnceLock,
        atomic::{AtomicUsize, Ordering::Relaxed},
    },
};

/// The writable memory of the executable: `LOW..HIGH`. Empty until the snapshot was taken.
static LOW: AtomicUsize = AtomicUsize::new(usize::MAX);
static HIGH: AtomicUsize = AtomicUsize::new(0);

/// The part of it that was loaded from the file, as it was before `main`; the rest began as zeros.
static SNAPSHOT: OnceLock<Snapshot> = OnceLock::new();

struct Snapshot {
    low: usize,
    bytes: Box<[u8]>,
}

#[used]
#[unsafe(link_section = ".init_array")]
static BEFORE_MAIN: extern "C" fn() = before_main;

extern "C" fn before_main() {
    prepare();
}

/// Takes the snapshot, unless it was taken.
pub(crate) fn prepare() {
    SNAPSHOT.get_or_init(|| {
        let mut found: Option<(usize, usize, usize)> = None;
        // SAFETY: the callback matches the signature and `found` outlives the call.
        unsafe { libc::dl_iterate_phdr(Some(visit), (&raw mut found).cast()) };
        let Some((low, filled, high)) = found else {
            return Snapshot {
                low: 0,
                bytes: Box::new([]),
            };
        };
        // SAFETY: a loaded segment of this executable is readable from its start to the end of what the file filled. Nothing writes
        // to it meanwhile: before `main` there is one thread, this one.
        let bytes = unsafe { std::slice::from_raw_parts(low as *const u8, filled - low) };
        let bytes = bytes.into();
        LOW.store(low, Relaxed);
        HIGH.store(high, Relaxed);
        Snapshot { low, bytes }
    });
}

/// Finds the last writable segment of the image that holds this code: start, end of the file's bytes, end.
///
/// # Safety
///
/// `info` is a description by `dl_iterate_phdr`, and `found` points to an `Option<(usize, usize, usize)>` that nobody else uses.
unsafe extern "C" fn visit(
    info: *mut libc::dl_phdr_info,
    _: libc::size_t,
    found: *mut libc::c_void,
) -> libc::c_int {
    // SAFETY: dl_iterate_phdr passes a valid description, and `prepare` a pointer to this option.
    let (info, found) = unsafe { (&*info, &mut *found.cast::<Option<(usize, usize, usize)>>()) };
    // SAFETY: the description says how many headers there are.
    let headers = unsafe { std::slice::from_raw_parts(info.dlpi_phdr, info.dlpi_phnum.into()) };
    let mine = &raw const LOW as usize;
    for header in headers {
        let start = info.dlpi_addr as usize + header.p_vaddr as usize;
        let end = start + header.p_memsz as usize;
        let loaded = header.p_type == libc::PT_LOAD && header.p_flags & libc::PF_W != 0;
        if loaded && (start..end).contains(&mine) {
            *found = Some((start, start + header.p_filesz as usize, end));
            return 1;
        }
    }
    0
}

/// Whether an address is in static memory.
#[inline]
pub(crate) fn holds(address: usize) -> bool {
    address < HIGH.load(Relaxed) && address >= LOW.load(Relaxed)
}

/// The copies of one execution.
#[derive(Default)]
pub(crate) struct Copies {
    by_address: RefCell<HashMap<usize, Copy>>,
    used: Cell<bool>,
}

struct Copy {
    bytes: *mut u8,
    layout: Layout,
    /// The other half of a pointer to an unsized object.
    metadata: usize,
    drop: unsafe fn(*mut u8, usize),
}

impl Copies {
    /// This execution's copy of a static.
    pub(crate) fn of<'a, T: ?Sized>(&self, object: &'a T) -> &'a T {
        self.used.set(true);
        let address = ptr::from_ref(object).cast::<u8>() as usize;
        let mut copies = self.by_address.borrow_mut();
        let copy = copies
            .entry(address)
            .or_insert_with(|| make(object, address));
        // SAFETY: the bytes are the constant the static was initialised with, so a valid T; they stay until the execution is over, and
        // the threads that can hold the reference end before.
        unsafe { &*join::<T>(copy.bytes, copy.metadata) }
    }

    /// The execution is over and nobody refers to the copies, unless `keep`.
    pub(crate) fn end(&self, keep: bool) {
        if !self.used.replace(false) {
            return;
        }
        let copies = self.by_address.take();
        for copy in copies.into_values().filter(|_| !keep) {
            // SAFETY: made in `of` with this layout as a T of this `drop`, referred to by nobody, and dropped once.
            unsafe {
                (copy.drop)(copy.bytes, copy.metadata);
                dealloc(copy.bytes, copy.layout);
            }
        }
    }
}

impl Drop for Copies {
    fn drop(&mut self) {
        self.end(false);
    }
}

fn make<T: ?Sized>(object: &T, address: usize) -> Copy {
    let layout = Layout::for_value(object);
    assert!(layout.size() > 0, "a shim object has a slot");
    // SAFETY: the layout is not of size 0: asserted above.
    let bytes = unsafe { alloc_zeroed(layout) };
    assert!(!bytes.is_null(), "out of memory");
    let snapshot = SNAPSHOT.get().expect("a static was recognised by it");
    let filled = snapshot
        .bytes
        .get(address - snapshot.low..)
        .unwrap_or_default();
    let length = filled.len().min(layout.size());
    // SAFETY: `length` bytes fit into both.
    unsafe { ptr::copy_nonoverlapping(filled.as_ptr(), bytes, length) };
    Copy {
        bytes,
        layout,
        metadata: metadata(object),
        // SAFETY: called once, on bytes that are a T.
        drop: |bytes, metadata| unsafe { ptr::drop_in_place(join::<T>(bytes, metadata)) },
    }
}

/// The second word of a wide pointer, 0 for a thin one.
fn metadata<T: ?Sized>(object: *const T) -> usize {
    let mut words = [0_usize; 2];
    let length = size_of_val(&object).min(size_of_val(&words));
    // SAFETY: copies the representation of a pointer, one or two words.
    unsafe {
        ptr::copy_nonoverlapping(
            (&raw const object).cast(),
            words.as_mut_ptr().cast::<u8>(),
            length,
        )
    };
    words[1]
}

/// A pointer from its two words: address first.
fn join<T: ?Sized>(bytes: *mut u8, metadata: usize) -> *mut T {
    // SAFETY: a pointer is its address, followed by the metadata when it is wide.
    unsafe { std::mem::transmute_copy::<Words, *mut T>(&Words(bytes, metadata)) }
}

#[repr(C)]
struct Words(*mut u8, usize);
