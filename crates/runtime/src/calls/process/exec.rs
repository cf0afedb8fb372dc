//! `exec`: a forked process begins again at `main`, with other arguments.
//!
//! The program has to be the one that is checked. Then its memory at `main` is known, and is what the process begins with; nothing is
//! loaded ([`crate::run::processes::begin_again`]). What the constructors did before `main` was done for all processes, with the
//! arguments and the environment of the first. Other programs are refused by their path.
//!
//! `exec` is no operation. Where it closes descriptors, it performs what `close` does.

use crate::{
    core::{
        per_thread::PerThread,
        trampoline::Frame,
        variadic::{List, variadic},
    },
    kernel::{
        closing,
        file_names::{self, HERE},
        os_files,
        overlay::overlay,
        path_resolution::{PathUse, reach},
        paths::of_own_process,
        program_memory::c_text,
    },
    outside_run,
    run::{accesses, call_sites, operations::failed, processes, world},
    trampoline,
};
use alloc::{format, string::String, vec::Vec};
use core::ffi::{CStr, c_char, c_int};
use reweave_model::{Site, ThreadId};

/// A list of texts that ends with a null.
pub(super) type Texts = *const *const c_char;

trampoline! {
    execv => exec, "rdx";
    execve => exec_with, "rcx";
    execvp => exec_found, "rdx";
    execvpe => exec_found_with, "rcx";
}

variadic! {
    execl => exec_list, 1, "rsi", "rdx";
    execlp => exec_list_found, 1, "rsi", "rdx";
    execle => exec_list_with, 1, "rsi", "rdx";
}

/// # Safety
///
/// As `execv`: the path ends with a nul, the list with a null.
unsafe extern "C" fn exec(path: usize, arguments: Texts, frame: &Frame) -> c_int {
    outside_run!(execv: fn(path: usize, arguments: Texts) -> c_int);
    // SAFETY: by this function's contract; the program's environment is such a list, too.
    unsafe { begin(find(path, frame), arguments, environment(), frame) }
}

/// # Safety
///
/// As `execve`: the path ends with a nul, the lists with a null.
unsafe extern "C" fn exec_with(path: usize, arguments: Texts, list: Texts, frame: &Frame) -> c_int {
    outside_run!(execve: fn(path: usize, arguments: Texts, list: Texts) -> c_int);
    // SAFETY: path, lists and texts end as this function's contract says.
    unsafe { begin(find(path, frame), arguments, list, frame) }
}

/// # Safety
///
/// As `execvp`: the name ends with a nul, the list with a null.
unsafe extern "C" fn exec_found(name: usize, arguments: Texts, frame: &Frame) -> c_int {
    outside_run!(execvp: fn(name: usize, arguments: Texts) -> c_int);
    // SAFETY: by this function's contract; the program's environment is such a list, too.
    unsafe { begin(search(name, frame), arguments, environment(), frame) }
}

/// # Safety
///
/// As `execvpe`: the name ends with a nul, the lists with a null.
unsafe extern "C" fn exec_found_with(
    name: usize,
    arguments: Texts,
    list: Texts,
    frame: &Frame,
) -> c_int {
    outside_run!(execvpe: fn(name: usize, arguments: Texts, list: Texts) -> c_int);
    // SAFETY: path, lists and texts end as this function's contract says.
    unsafe { begin(search(name, frame), arguments, list, frame) }
}

/// # Safety
///
/// As `execl`: the path and the texts end with a nul, the list with a null.
unsafe extern "C" fn exec_list(path: usize, list: List, frame: &Frame) -> c_int {
    // SAFETY: the list ends with a null, by this function's contract.
    let arguments = unsafe { listed(list) };
    // SAFETY: the list ends with a null, the texts with a nul.
    unsafe { exec(path, arguments, frame) }
}

/// # Safety
///
/// As `execlp`: the name and the texts end with a nul, the list with a null.
unsafe extern "C" fn exec_list_found(name: usize, list: List, frame: &Frame) -> c_int {
    // SAFETY: the list ends with a null, by this function's contract.
    let arguments = unsafe { listed(list) };
    // SAFETY: the list ends with a null, the texts with a nul.
    unsafe { exec_found(name, arguments, frame) }
}

/// # Safety
///
/// As `execle`: the path and the texts end with a nul, the list with a null, and the environment comes after it.
unsafe extern "C" fn exec_list_with(path: usize, list: List, frame: &Frame) -> c_int {
    // SAFETY: by this function's contract; the environment is the next argument.
    let (arguments, environment) = unsafe { (listed(list), next(list) as Texts) };
    // SAFETY: the lists end with a null, the texts with a nul.
    unsafe { exec_with(path, arguments, environment, frame) }
}

/// The next argument of a call that takes any number of them: a pointer.
///
/// # Safety
///
/// There is one.
unsafe fn next(list: List) -> usize {
    const REGISTERS: usize = 48;
    // SAFETY: a list has the offset of the next argument among the saved registers, the next one on the stack, and where registers
    // were saved.
    unsafe {
        let offset = (*list)[0] as u32 as usize;
        if offset < REGISTERS {
            *list.cast::<u32>() = (offset + 8) as u32;
            return *(((*list)[2] as usize + offset) as *const usize);
        }
        let place = (*list)[1] as usize;
        (*list)[1] += 8;
        *(place as *const usize)
    }
}

/// Arguments of each thread's last call. A thread that begins again never returns to free a list of its own.
static LISTED: PerThread<Vec<*const c_char>> = PerThread::new();

/// The arguments of a call up to the null, with it: a list that stays until the thread's next call of this kind.
///
/// # Safety
///
/// There is a null.
unsafe fn listed(list: List) -> Texts {
    let me = match world::active() {
        true => world::borrow().current,
        false => ThreadId::MAIN,
    };
    LISTED.with(me, |all| {
        all.clear();
        loop {
            // SAFETY: no null was among them yet.
            let text = unsafe { next(list) } as *const c_char;
            all.push(text);
            if text.is_null() {
                return all.as_ptr();
            }
        }
    })
}

/// The environment of the running process.
fn environment() -> Texts {
    unsafe extern "C" {
        static environ: Texts;
    }
    // SAFETY: the C library's variable, which its start has set.
    unsafe { environ }
}

/// The texts of a list, each with its nul.
///
/// # Safety
///
/// The list is null or ends with a null, and its texts with a nul.
unsafe fn copies(list: Texts, frame: &Frame) -> Vec<Vec<u8>> {
    let mut all = Vec::new();
    let mut place = list;
    // SAFETY: by this function's contract: the list goes on up to a null.
    while let Some(text) = unsafe { place.as_ref().filter(|text| !text.is_null()) } {
        // SAFETY: the text ends with a nul, by this function's contract.
        let bytes = unsafe { CStr::from_ptr(*text) }.to_bytes_with_nul();
        accesses::range(place as usize, size_of::<usize>(), false, frame);
        accesses::range(*text as usize, bytes.len(), false, frame);
        all.push(bytes.to_vec());
        place = place.wrapping_add(1);
    }
    all
}

/// As [`find`], as `execvp` looks for a program.
///
/// # Safety
///
/// `name` is the address of a text that ends with a nul.
pub(super) unsafe fn search(name: usize, frame: &Frame) -> Result<(), c_int> {
    // SAFETY: the name ends with a nul, by this function's contract.
    let text = unsafe { c_text(name) }.unwrap_or_default();
    if text.is_empty() || text.contains(&b'/') {
        // SAFETY: the name ends with a nul, by this function's contract.
        return unsafe { find(name, frame) };
    }
    // SAFETY: the name and the result, which is copied at once, are texts that end with a nul.
    let path = unsafe { c_text(libc::getenv(c"PATH".as_ptr()) as usize) };
    let path = path.unwrap_or(b"/bin:/usr/bin").to_vec();
    let mut denied = false;
    for directory in path.split(|byte| *byte == b':') {
        let slash: &[u8] = if directory.is_empty() { b"" } else { b"/" };
        let whole = [directory, slash, text, b"\0"].concat();
        // SAFETY: the path ends with a nul and lives until the call returns.
        match unsafe { find(whole.as_ptr() as usize, frame) } {
            Err(libc::EACCES) => denied = true,
            Err(libc::ENOENT | libc::ENOTDIR) => {}
            found => return found,
        }
    }
    Err(if denied { libc::EACCES } else { libc::ENOENT })
}

/// Looks whether the program that is checked lies at a path; an error number if nothing lies there that can be run. Another program stops
/// the thread.
///
/// # Safety
///
/// `path` is the address of a text that ends with a nul.
pub(super) unsafe fn find(path: usize, frame: &Frame) -> Result<(), c_int> {
    /// Leads to the running program, whatever its file is called by now.
    const OWN: &[u8] = b"/proc/self/exe";
    let site = call_sites::site(&frame.return_address);
    // SAFETY: the path ends with a nul, by this function's contract.
    let text = unsafe { c_text(path) }.unwrap_or_default();
    if text == OWN || of_own_process(text).is_some_and(|path| path == OWN) {
        return Ok(());
    }
    let reached = reach(HERE, path, true, PathUse::Look, site);
    let found = reached.and_then(|real| {
        let place = overlay().place(&real);
        let stat = os_files::inspect(&place, 0)?;
        if os_files::file_type(&stat) != libc::S_IFREG {
            return Err(libc::EACCES);
        }
        os_files::executable(&place)?;
        let own = os_files::look_behind(OWN);
        let same = own.is_some_and(|own| (own.st_dev, own.st_ino) == (stat.st_dev, stat.st_ino));
        Ok(same)
    });
    file_names::leave(site);
    if !found? {
        let path = String::from_utf8_lossy(text);
        world::unsupported(
            &format!("exec of {path}, another program than the one that is checked"),
            site,
        );
    }
    Ok(())
}

/// The running process begins again, if the program was found.
///
/// # Safety
///
/// The lists are null or end with a null, and their texts with a nul.
pub(super) unsafe fn begin(
    found: Result<(), c_int>,
    arguments: Texts,
    environment: Texts,
    frame: &Frame,
) -> c_int {
    /// Far less than a stack has, and more than programs pass.
    const MOST: usize = 1 << 20;
    if let Err(error) = found {
        return failed(error);
    }
    let site = call_sites::site(&frame.return_address);
    // SAFETY: the lists end with a null, by this function's contract.
    let mut texts = unsafe { [copies(arguments, frame), copies(environment, frame)] };
    check(site);
    let bytes = |list: &Vec<Vec<u8>>| -> usize { list.iter().map(|text| text.len() + 8).sum() };
    if texts.iter().map(bytes).sum::<usize>() > MOST {
        world::unsupported("exec with more than 1 MiB of arguments", site);
    }
    if texts[0].is_empty() {
        // As the operating system has it.
        texts[0].push(b"\0".to_vec());
    }
    closing::close_on_exec(site);
    processes::begin_again(texts)
}

/// Whether the running process can begin again: else its thread goes no further.
fn check(site: Site) {
    if processes::current().is_first() {
        world::unsupported("exec in the first process", site);
    }
    let first = processes::main_of_current() == world::borrow().current;
    if !first || !world::borrow().is_alone_in_process() {
        world::unsupported("exec beside other threads of the process", site);
    }
    if processes::all().len() >= processes::MOST {
        world::unsupported("more than 64 processes", site);
    }
}
