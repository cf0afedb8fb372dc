//! Cells by address: a table over the whole address space that points to chunks of cells, made when first touched.
//!
//! The memory is never the program's. Both tables are mapped without reserve: what is not touched
//! is not there.

use alloc::vec::Vec;
use core::{
    arch::asm,
    ptr::{self, NonNull},
};

/// What is known of 8 bytes of memory: two words; `super::rules` says what they mean.
pub(crate) type Cell = [u64; 2];

/// Addresses of programs end here.
pub(crate) const END: usize = 1 << 47;

const CHUNK_SHIFT: u32 = 16;
/// Memory can be shared by processes in pieces of so many bytes.
pub const SHARED_UNIT: usize = 1 << CHUNK_SHIFT;
/// Cells in a chunk, one for 8 bytes.
const CELLS: usize = 1 << (CHUNK_SHIFT - 3);
const CHUNKS: usize = END >> CHUNK_SHIFT;
type Chunk = [Cell; CELLS];

/// Chunks mapped at once: 8 MB.
const SLAB: usize = 64;

/// Where memory comes from: so many bytes, all zero, at a page; never given back.
pub type Memory = fn(usize) -> Option<NonNull<u8>>;

pub(crate) struct Table {
    memory: Memory,
    /// An array of `CHUNKS` pointers, null or to a chunk of one of the slabs, each to another one.
    top: NonNull<*mut Chunk>,
    /// The tables of all processes of the program, the first one's first; `top` is one of them.
    tops: Vec<NonNull<*mut Chunk>>,
    /// Entries of processes that were made to share a chunk, with what was there.
    lent: Vec<(NonNull<*mut Chunk>, *mut Chunk)>,
    /// Whether the memory is shared with other processes.
    shared: bool,
    /// Arrays of `SLAB` chunks.
    slabs: Vec<NonNull<Chunk>>,
    /// Chunks of the last slab that are in use.
    used: usize,
}

impl Table {
    /// `None`: the system refuses the address space (16 GB).
    pub(crate) fn new(memory: Memory, shared: bool) -> Option<Table> {
        let top = new_top(memory)?;
        Some(Table {
            memory,
            top,
            tops: Vec::from([top]),
            lent: Vec::new(),
            shared,
            slabs: Vec::new(),
            used: SLAB,
        })
    }

    /// From now on addresses are those of this process. `false`: there is no address space for it.
    pub(crate) fn enter(&mut self, process: usize) -> bool {
        while self.tops.len() <= process {
            let Some(top) = new_top(self.memory) else {
                return false;
            };
            self.tops.push(top);
        }
        self.top = self.tops[process];
        true
    }

    /// The chunks of this memory are shared: at `to` of one process lies what is at `from` of another. Both are where chunks begin.
    pub(crate) fn share(
        &mut self,
        (owner, from): (usize, usize),
        (process, to): (usize, usize),
        bytes: usize,
    ) {
        let now = self.top;
        for offset in (0..bytes).step_by(1 << CHUNK_SHIFT) {
            self.top = self.tops[owner];
            let chunk: *mut Cell = self.get_mut(from + offset);
            self.top = self.tops[process];
            let entry = self.entry(to + offset);
            // SAFETY: both are entries of tables of `CHUNKS` entries; the cell of an address where a chunk begins is the first of
            // its chunk.
            unsafe {
                self.lent.push((NonNull::new_unchecked(entry), *entry));
                *entry = chunk.cast();
            }
        }
        self.top = now;
    }

    /// No process shares anything any more, and addresses are those of the first.
    pub(crate) fn part(&mut self) {
        for (entry, chunk) in self.lent.drain(..).rev() {
            // SAFETY: an entry of a table, which is mapped for good.
            unsafe { *entry.as_ptr() = chunk };
        }
        self.top = self.tops[0];
    }

    #[inline]
    fn entry(&self, address: usize) -> *mut *mut Chunk {
        // SAFETY: the index is less than `CHUNKS`, the length of the array.
        unsafe { self.top.as_ptr().add((address >> CHUNK_SHIFT) % CHUNKS) }
    }

    /// The cell of an address (taken modulo the end of the address space); `None`: there was never one.
    #[inline]
    pub(crate) fn get(&self, address: usize) -> Option<&Cell> {
        // SAFETY: the entry is inside the array, and null or points to a chunk of a slab, which is mapped as long as `self`
        // lives. Any bits are a chunk. Chunks are changed only through `&mut self`.
        let chunk = unsafe { (*self.entry(address)).as_ref() }?;
        Some(&chunk[address / 8 % CELLS])
    }

    /// The cell of an address; `None`: there was never one, or it is beyond the end.
    #[inline]
    pub(crate) fn find_mut(&mut self, address: usize) -> Option<&mut Cell> {
        if address >= END {
            return None;
        }
        // SAFETY: as in `get`; `&mut self` makes this the only reference to any chunk.
        let chunk = unsafe { (*self.entry(address)).as_mut() }?;
        Some(&mut chunk[address / 8 % CELLS])
    }

    /// The cell of an address (taken modulo the end of the address space).
    #[inline]
    pub(crate) fn get_mut(&mut self, address: usize) -> &mut Cell {
        // SAFETY: as in `get`; `&mut self` makes this the only reference to any chunk.
        let chunk = match unsafe { (*self.entry(address)).as_mut() } {
            Some(chunk) => chunk,
            None => self.add(address),
        };
        &mut chunk[address / 8 % CELLS]
    }

    #[cold]
    fn add(&mut self, address: usize) -> &mut Chunk {
        if self.used == SLAB {
            let size = SLAB * size_of::<Chunk>();
            let slab = (self.memory)(size).expect("the system has memory left");
            if !self.slabs.is_empty() {
                // A program that touches so much gets large pages; it is advice, and may fail.
                // SAFETY: the range was just mapped.
                unsafe { advise(slab, size, libc::MADV_HUGEPAGE) };
            }
            self.slabs.push(slab.cast());
            self.used = 0;
        }
        let slab = self.slabs.last().expect("one was just made");
        // SAFETY: `used` is less than `SLAB`, the length of the slab. This chunk is handed out once: `used` grows. Fresh memory is
        // zero, which is a chunk.
        let chunk = unsafe { slab.add(self.used).as_mut() };
        self.used += 1;
        // SAFETY: the entry is inside the array; nothing else refers to it.
        unsafe { *self.entry(address) = chunk };
        chunk
    }

    /// All cells that were ever touched, and some more.
    pub(crate) fn each(&mut self, mut with: impl FnMut(&mut u64)) {
        let last = self.slabs.len().wrapping_sub(1);
        for (index, slab) in self.slabs.iter_mut().enumerate() {
            let used = if index == last { self.used } else { SLAB };
            // SAFETY: a slab has `SLAB` chunks, and `used` is at most that; `&mut self` makes this the only reference to them.
            let chunks = unsafe { core::slice::from_raw_parts_mut(slab.as_ptr(), used) };
            let words = chunks.iter_mut().flatten().flatten();
            words.for_each(&mut with);
        }
    }

    /// Makes all cells zero, and gives their memory back.
    pub(crate) fn wipe(&mut self) {
        for slab in &mut self.slabs {
            let size = SLAB * size_of::<Chunk>();
            // SAFETY: the range is a slab, private and without a file behind it, so it reads as zero afterwards. No reference to its
            // chunks is alive: `&mut self`.
            let advice = match self.shared {
                true => libc::MADV_REMOVE,
                false => libc::MADV_DONTNEED,
            };
            // SAFETY: as above; shared memory reads as zero after MADV_REMOVE.
            let done = unsafe { advise(slab.cast(), size, advice) };
            if !done {
                // SAFETY: the same range, of plain numbers. (Locked memory cannot be given back.)
                unsafe { ptr::write_bytes(slab.as_ptr(), 0, SLAB) };
            }
        }
    }
}

/// An array of `CHUNKS` null pointers.
fn new_top(memory: Memory) -> Option<NonNull<*mut Chunk>> {
    let top = memory(CHUNKS * size_of::<*mut Chunk>())?.cast();
    // One page for each touched entry, and not 2 MB; it is advice, and may fail.
    // SAFETY: the range was just mapped.
    unsafe { advise(top.cast(), CHUNKS * 8, libc::MADV_NOHUGEPAGE) };
    Some(top)
}

/// The first address whose cell is in the next chunk.
pub(crate) fn next_chunk(address: usize) -> usize {
    ((address >> CHUNK_SHIFT) + 1) << CHUNK_SHIFT
}

/// Fresh memory straight from the system.
pub fn fresh(bytes: usize) -> Option<NonNull<u8>> {
    let access = libc::PROT_READ | libc::PROT_WRITE;
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
    let arguments = [0, bytes, access as usize, flags as usize, usize::MAX, 0];
    // SAFETY: a new mapping at a place of the system's choice touches nothing that exists.
    let place = unsafe { system_call(libc::SYS_mmap, arguments) };
    // Errors are small negative numbers.
    let place = (place > 0).then_some(place as usize as *mut u8)?;
    NonNull::new(place)
}

/// Whether the system took the advice.
///
/// # Safety
/// The range is memory of the table, and nobody minds what the advice does to its contents.
unsafe fn advise(place: NonNull<u8>, bytes: usize, advice: libc::c_int) -> bool {
    let arguments = [place.as_ptr() as usize, bytes, advice as usize, 0, 0, 0];
    // SAFETY: the range is memory of the table whose contents may change, as the caller promises.
    unsafe { system_call(libc::SYS_madvise, arguments) == 0 }
}

/// Straight to the system: inside a program the C library's functions may be our own, and would change its `errno`.
///
/// # Safety
/// As for the call.
unsafe fn system_call(number: libc::c_long, [a, b, c, d, e, f]: [usize; 6]) -> isize {
    let result;
    // SAFETY: the kernel's calling convention on x86-64; what the call does is the caller's promise.
    unsafe {
        asm!(
            "syscall",
            inlateout("rax") number as isize => result,
            in("rdi") a,
            in("rsi") b,
            in("rdx") c,
            in("r10") d,
            in("r8") e,
            in("r9") f,
            lateout("rcx") _,
            lateout("r11") _,
            options(nostack),
        );
    }
    result
}
