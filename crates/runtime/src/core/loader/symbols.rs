//! What stands behind a function of ours: the next one of its name in the order in which the loader searches.
//!
//! The loader's own answer (`dlsym`) would take away what `dlerror` has for the program, and frees memory, which is a function of ours as well.

use crate::{
    core::loader::{
        Map, maps,
        tables::{GNU_HASH, STRINGS, SYMBOLS, VERSIONS, entries},
    },
    real,
};
use core::{
    ffi::{CStr, c_char, c_int, c_void},
    ptr,
};

unsafe extern "C" {
    /// This library's own dynamic section, by which the loader's list is known to be at this library.
    #[link_name = "_DYNAMIC"]
    static OWN: [usize; 2];
}

/// What comes after this library. What comes before it has tables that are not made for reading, those of the kernel's own library.
fn later() -> impl Iterator<Item = *const Map> {
    // SAFETY: the dynamic loader's list of loaded objects: entries stay valid while no library is closed.
    let is_own = |map: &*const Map| unsafe { (**map).dynamic.cast_const() == &raw const OWN };
    maps().skip_while(move |map| !is_own(map)).skip(1)
}

/// A function of this name in what comes after this library.
pub fn next(name: &CStr) -> Option<*mut c_void> {
    // SAFETY: `maps` lists only libraries that are loaded.
    later().find_map(|map| unsafe { function(map, name) })
}

/// A function that a library gives to those who ask for no version.
///
/// # Safety
/// The loader has mapped it.
unsafe fn function(map: *const Map, name: &CStr) -> Option<*mut c_void> {
    const PLAIN: u8 = 2;
    const CHOSEN: u8 = 10;
    // SAFETY: the library is loaded, by this function's contract. Functions that choose can be called once it is.
    unsafe {
        let symbol = symbol(map, name, &[PLAIN, CHOSEN])?;
        let address = (*map).start + symbol.st_value as usize;
        Some(match symbol.st_info & 0xf {
            // It says itself which of several fits the processor.
            CHOSEN => core::mem::transmute::<usize, extern "C" fn() -> *mut c_void>(address)(),
            _ => address as *mut c_void,
        })
    }
}

/// A variable of this name that a library after this one has for each thread, in the running thread.
pub fn thread_local(name: &CStr) -> Option<*mut c_void> {
    const THREAD_LOCAL: u8 = 6;
    // SAFETY: `maps` lists only libraries that are loaded.
    let found = later().find_map(|map| unsafe {
        let symbol = symbol(map, name, &[THREAD_LOCAL])?;
        Some(((*map).start, symbol.st_value as usize))
    });
    let (start, offset) = found?;
    Some(thread_local_memory(start)?.wrapping_byte_add(offset))
}

/// The running thread's memory for the variables of the library that begins there.
fn thread_local_memory(start: usize) -> Option<*mut c_void> {
    struct Search {
        start: usize,
        found: *mut c_void,
    }
    /// # Safety
    ///
    /// `info` is a valid entry, and `search` points to a [`Search`].
    unsafe extern "C" fn look(
        info: *mut libc::dl_phdr_info,
        _: usize,
        search: *mut c_void,
    ) -> c_int {
        // SAFETY: by this function's contract; nothing else uses the search meanwhile.
        unsafe {
            let search = &mut *search.cast::<Search>();
            if (*info).dlpi_addr as usize == search.start {
                search.found = (*info).dlpi_tls_data;
            }
        }
        0
    }
    let mut search = Search {
        start,
        found: ptr::null_mut(),
    };
    type Each = unsafe extern "C" fn(*mut libc::dl_phdr_info, usize, *mut c_void) -> c_int;
    let list = real!(dl_iterate_phdr: fn(Each, *mut c_void) -> c_int);
    // SAFETY: `look` has the type that the loader calls, and `search` outlives the call.
    unsafe { list(look, (&raw mut search).cast()) };
    (!search.found.is_null()).then_some(search.found)
}

/// What a library gives to those who ask for no version, if it is of one of these kinds.
///
/// # Safety
/// The loader has mapped it.
unsafe fn symbol(map: *const Map, name: &CStr, kinds: &[u8]) -> Option<&'static libc::Elf64_Sym> {
    // SAFETY: the caller passes a loaded library, whose dynamic section points to the tables that the loader
    // itself reads.
    unsafe {
        let table = |tag| {
            let entry = entries(map).find(|entry| (**entry)[0] == tag)?;
            Some((*entry)[1])
        };
        let symbols = table(SYMBOLS)? as *const libc::Elf64_Sym;
        let strings = table(STRINGS)? as *const c_char;
        let versions = table(VERSIONS).map(|table| table as *const u16);
        let hashes = Hashes::at(table(GNU_HASH)? as *const u32);
        let fits = |place: &usize| {
            let symbol = &*symbols.add(*place);
            symbol.st_shndx != 0
                && kinds.contains(&(symbol.st_info & 0xf))
                && versions.is_none_or(|versions| is_default(versions.add(*place).read()))
                && CStr::from_ptr(strings.add(symbol.st_name as usize)) == name
        };
        Some(&*symbols.add(hashes.candidates(name).find(fits)?))
    }
}

/// Whether two libraries both define a name of which only one definition counts for others.
pub fn define_one_name(one: *const Map, other: *const Map) -> bool {
    const VARIABLE: u8 = 1;
    const PLAIN: u8 = 2;
    const GLOBAL: u8 = 1;
    // SAFETY: the callers pass libraries that are loaded and stay, whose dynamic sections point to the tables that the loader
    // itself reads.
    unsafe {
        let table = |tag| {
            let entry = entries(one).find(|entry| (**entry)[0] == tag)?;
            Some((*entry)[1])
        };
        let (Some(symbols), Some(strings), Some(hashes)) =
            (table(SYMBOLS), table(STRINGS), table(GNU_HASH))
        else {
            return false;
        };
        let symbols = symbols as *const libc::Elf64_Sym;
        Hashes::at(hashes as *const u32).all().any(|place| {
            let own = &*symbols.add(place);
            // Weak ones, such as C++'s inline functions, are the same everywhere.
            let counts = own.st_shndx != 0 && own.st_info >> 4 == GLOBAL;
            let name = CStr::from_ptr((strings as *const c_char).add(own.st_name as usize));
            counts
                && symbol(other, name, &[VARIABLE, PLAIN])
                    .is_some_and(|other| other.st_info >> 4 == GLOBAL)
        })
    }
}

/// Whether a version is what those get who ask for none: neither local nor one of the past.
fn is_default(version: u16) -> bool {
    const PAST: u16 = 0x8000;
    version != 0 && version & PAST == 0
}

/// A library's table of names by their hashes.
struct Hashes {
    buckets: *const u32,
    bucket_count: u32,
    /// Hashes, of symbols from this one on.
    chains: *const u32,
    first: u32,
}

impl Hashes {
    /// # Safety
    /// There is such a table.
    unsafe fn at(table: *const u32) -> Hashes {
        // SAFETY: as promised: four numbers, a filter of words of 8 bytes, the buckets, the chains.
        unsafe {
            let [bucket_count, first, filter, _] = table.cast::<[u32; 4]>().read();
            let buckets = table.add(4 + 2 * filter as usize);
            Hashes {
                buckets,
                bucket_count,
                chains: buckets.add(bucket_count as usize),
                first,
            }
        }
    }

    /// All symbols.
    fn all(&self) -> impl Iterator<Item = usize> {
        (0..self.bucket_count as usize).flat_map(|bucket| self.chain(bucket, |_| true))
    }

    /// Symbols with the hash of a name.
    fn candidates(&self, name: &CStr) -> impl Iterator<Item = usize> {
        let add = |hash: u32, byte: &u8| hash.wrapping_mul(33).wrapping_add((*byte).into());
        let hash = name.to_bytes().iter().fold(5381, add);
        let bucket = (hash % self.bucket_count) as usize;
        self.chain(bucket, move |found| found | 1 == hash | 1)
    }

    /// The symbols of a bucket whose hashes, but for the lowest bit, are as wanted.
    fn chain(&self, bucket: usize, wanted: impl Fn(u32) -> bool) -> impl Iterator<Item = usize> {
        // SAFETY: the table's own numbers; an odd one is the last of its chain.
        unsafe {
            let first = self.buckets.add(bucket).read();
            let at = move |symbol: u32| self.chains.add((symbol - self.first) as usize).read();
            let follows = move |symbol: &u32| (at(*symbol) & 1 == 0).then_some(symbol + 1);
            core::iter::successors((first != 0).then_some(first), follows)
                .filter(move |symbol| wanted(at(*symbol)))
                .map(|symbol| symbol as usize)
        }
    }
}
