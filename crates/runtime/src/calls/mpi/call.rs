//! How calls of MPI come in: their arguments, and what they answer.

use crate::{
    core::{channel, sys, trampoline::Frame},
    run::{accesses, call_sites, operations, processes, world},
};
use alloc::{format, string::String};
use core::{
    ffi::{CStr, c_int},
    sync::atomic::Ordering,
};
use reweave_model::Site;

/// A call of the program under way.
pub(super) struct Call<'a> {
    pub(super) name: &'static CStr,
    registers: &'a [usize; 6],
    pub(super) frame: &'a Frame,
    pub(super) site: Site,
}

/// A call that the standard forbids.
pub(super) struct Wrong {
    pub(super) rule: &'static str,
    pub(super) message: String,
    /// The class of the error, by the numbers of MPICH.
    pub(super) class: c_int,
}

pub(super) type Answer<T = ()> = Result<T, Wrong>;

/// An argument that the standard forbids.
pub(super) fn invalid<T>(class: c_int, message: impl Into<String>) -> Answer<T> {
    Err(Wrong {
        rule: "mpi-invalid-argument",
        message: message.into(),
        class,
    })
}

impl Call<'_> {
    /// An argument, counted from 0.
    pub(super) fn word(&self, index: usize) -> usize {
        match self.registers.get(index) {
            Some(word) => *word,
            // SAFETY: further arguments lie above the return address, and a call has as many as its function demands.
            None => unsafe {
                let stack = (&raw const self.frame.return_address).add(1);
                stack.add(index - self.registers.len()).read()
            },
        }
    }

    pub(super) fn int(&self, index: usize) -> c_int {
        self.word(index) as c_int
    }

    /// The name of the function.
    pub(super) fn name(&self) -> &'static str {
        self.name.to_str().unwrap_or("?")
    }

    /// The rank that makes the call.
    pub(super) fn rank(&self) -> usize {
        processes::current().index()
    }

    /// The program's memory is read.
    pub(super) fn reads(&self, address: usize, bytes: usize) {
        accesses::range(address, bytes, false, self.frame);
    }

    /// The program's memory is about to be written.
    pub(super) fn writes(&self, address: usize, bytes: usize) {
        accesses::range(address, bytes, true, self.frame);
    }

    /// Writes an answer to where an argument points; nothing if it is null.
    pub(super) fn put<T>(&self, index: usize, value: T) {
        self.put_at(self.word(index), value);
    }

    /// As [`Call::put`], to an address.
    pub(super) fn put_at<T>(&self, address: usize, value: T) {
        if address == 0 {
            return;
        }
        self.writes(address, size_of::<T>());
        // SAFETY: the program promises room for the answer where the argument points.
        unsafe { (address as *mut T).write_unaligned(value) };
    }

    /// Reads one of several values that an argument points to.
    pub(super) fn get<T: Copy>(&self, address: usize, place: usize) -> T {
        let address = address + place * size_of::<T>();
        self.reads(address, size_of::<T>());
        // SAFETY: the program promises that the argument points to so many values.
        unsafe { (address as *const T).read_unaligned() }
    }

    /// The call is not supported like this: its thread goes no further.
    pub(super) fn unsupported(&self, what: &str) -> ! {
        world::unsupported(&format!("{}{what}", self.name()), self.site)
    }
}

/// What a function of MPI does.
pub(super) type Body = fn(&Call) -> Answer;

/// Where calls of the program arrive.
pub(super) extern "C" fn enter(
    registers: &[usize; 6],
    frame: &Frame,
    function: &'static Function,
) -> c_int {
    let call = begin(registers, frame, function.name);
    super::environment::check_phase(&call);
    match (function.body)(&call) {
        Ok(()) => 0,
        Err(wrong) => refuse(&call, wrong),
    }
}

/// A function of MPI, which assembly passes on by its address.
pub(super) struct Function {
    pub(super) name: &'static CStr,
    pub(super) body: Body,
}

/// A call of the program.
pub(super) fn begin<'a>(
    registers: &'a [usize; 6],
    frame: &'a Frame,
    name: &'static CStr,
) -> Call<'a> {
    if !world::active() {
        alone(name);
    }
    let site = call_sites::site(&frame.return_address);
    let call = Call {
        name,
        registers,
        frame,
        site,
    };
    let ranks = channel::header().ranks.load(Ordering::Relaxed) as usize;
    if ranks == 0 {
        call.unsupported(" without --ranks");
    }
    if call.rank() >= ranks {
        call.unsupported(" in a process that a rank forked");
    }
    if world::borrow().current != processes::main_of_current()
        && !super::environment::is_query(name)
    {
        call.unsupported(" in another thread than the first one of its rank");
    }
    call
}

/// What happens after a wrong call: an error code if the program has asked for that, else an error of the run.
fn refuse(call: &Call, wrong: Wrong) -> c_int {
    if super::state::returns_errors(call.rank()) {
        return wrong.class;
    }
    let message = format!("{}: {}", call.name(), wrong.message);
    operations::misuse(wrong.rule, &message, 0, call.site)
}

/// The program was started without the driver.
fn alone(name: &CStr) -> ! {
    let text = format!(
        "{}: this program is to be started by `reweave check --ranks N`\n",
        name.to_str().unwrap_or("MPI")
    );
    let arguments = [2, text.as_ptr() as usize, text.len(), 0, 0, 0];
    // SAFETY: the kernel reads `text.len()` bytes of `text`, which lives until after the call.
    unsafe { sys::call(libc::SYS_write, arguments) };
    sys::exit(2)
}

/// Defines functions of MPI for the program.
macro_rules! mpi {
    ($($name:ident => $body:path;)*) => {$(
        const _: () = {
            static FUNCTION: $crate::calls::mpi::call::Function = $crate::calls::mpi::call::Function {
                // SAFETY: the name of a function has no nul, and one is added at its end.
                name: unsafe { core::ffi::CStr::from_bytes_with_nul_unchecked(concat!(stringify!($name), "\0").as_bytes()) },
                body: $body,
            };
            /// # Safety
            ///
            /// For the program, by the rules of the function that it stands for.
            #[cfg_attr(not(test), unsafe(no_mangle))]
            #[unsafe(naked)]
            pub unsafe extern "C" fn $name() {
                core::arch::naked_asm!(
                    ".cfi_startproc",
                    $crate::core::trampoline::assembly!(push frame),
                    "mov r11, rsp",
                    $crate::core::trampoline::assembly!(push arguments),
                    "mov rdi, rsp",
                    "mov rsi, r11",
                    "lea rdx, [rip + {function}]",
                    $crate::core::trampoline::assembly!(room "8"),
                    "call {enter}",
                    $crate::core::trampoline::assembly!(drop "104"),
                    "ret",
                    ".cfi_endproc",
                    function = sym FUNCTION,
                    enter = sym $crate::calls::mpi::call::enter,
                )
            }
        };
    )*};
}

pub(super) use mpi;
