//! `sendmsg` and `recvmsg`: as `send` and `recv`, from and to several blocks.

use crate::{
    calls::files::socket_calls::{received, sent},
    core::trampoline::Frame,
    kernel::program_memory::ProgramMemory,
    outside_run,
    run::{accesses, call_sites, operations::failed, world},
    trampoline,
};
use alloc::format;
use core::ffi::c_int;
use libc::{MSG_TRUNC, msghdr};

trampoline! {
    sendmsg => send_message, "rcx";
    recvmsg => receive_message, "rcx";
}

/// Stops the thread at what else a message can have.
fn refuse(what: &str, call: &str, frame: &Frame) -> ! {
    let site = call_sites::site(&frame.return_address);
    world::unsupported(&format!("{call} with {what}"), site)
}

/// `sendmsg`.
///
/// # Safety
///
/// As POSIX demands of the caller: `message` points to a message whose blocks can be read.
unsafe extern "C" fn send_message(
    descriptor: c_int,
    message: *const msghdr,
    flags: c_int,
    frame: &Frame,
) -> isize {
    outside_run!(sendmsg: fn(descriptor: c_int, message: *const msghdr, flags: c_int) -> isize);
    if message.is_null() {
        return failed(libc::EFAULT) as isize;
    }
    accesses::range(message as usize, size_of::<msghdr>(), false, frame);
    // SAFETY: not null, so a message lies there, as the caller promises.
    let header = unsafe { message.read() };
    if !header.msg_name.is_null() && header.msg_namelen > 0 {
        refuse("an address", "sendmsg", frame);
    }
    if !header.msg_control.is_null() && header.msg_controllen > 0 {
        refuse("descriptors or other control data", "sendmsg", frame);
    }
    // SAFETY: the message has so many blocks, as the caller promises.
    let memory = unsafe { ProgramMemory::blocks(header.msg_iov, header.msg_iovlen as c_int) };
    memory.note_list(frame);
    sent((descriptor, flags), "sendmsg", &memory, frame)
}

/// `recvmsg`.
///
/// # Safety
///
/// As POSIX demands of the caller: `message` points to a message whose blocks can be written to.
unsafe extern "C" fn receive_message(
    descriptor: c_int,
    message: *mut msghdr,
    flags: c_int,
    frame: &Frame,
) -> isize {
    outside_run!(recvmsg: fn(descriptor: c_int, message: *mut msghdr, flags: c_int) -> isize);
    if message.is_null() {
        return failed(libc::EFAULT) as isize;
    }
    accesses::range(message as usize, size_of::<msghdr>(), false, frame);
    // SAFETY: not null, so a message lies there, as the caller promises.
    let header = unsafe { message.read() };
    // SAFETY: the message has so many blocks, as the caller promises.
    let memory = unsafe { ProgramMemory::blocks(header.msg_iov, header.msg_iovlen as c_int) };
    memory.note_list(frame);
    let room = memory.length();
    // How long the message was says whether it was cut.
    let got = received((descriptor, flags), "recvmsg", &memory, frame);
    if got.result < 0 {
        return got.result;
    }
    accesses::range(message as usize, size_of::<msghdr>(), true, frame);
    // SAFETY: not null, so a message lies there that can be written to, as the caller promises.
    let header = unsafe { &mut *message };
    // What is connected is not named, and nothing but data is ever sent.
    header.msg_namelen = 0;
    header.msg_controllen = 0;
    header.msg_flags = if got.whole > room { MSG_TRUNC } else { 0 };
    got.result
}
