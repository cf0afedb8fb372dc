//! `sendmsg` and `recvmsg`: as `send` and `recv`, from and to several blocks.

use crate::{
    calls::files::socket_calls::{received, sent},
    core::trampoline::Frame,
    kernel::{addresses, program_memory::ProgramMemory},
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
    if !header.msg_control.is_null() && header.msg_controllen > 0 {
        refuse("descriptors or other control data", "sendmsg", frame);
    }
    // SAFETY: the message has so many blocks, as the caller promises.
    let memory = unsafe { ProgramMemory::blocks(header.msg_iov, header.msg_iovlen as c_int) };
    memory.note_list(frame);
    let address = (header.msg_name.cast_const().cast(), header.msg_namelen);
    // SAFETY: the address is null, or has so many bytes, as the caller promises.
    unsafe { sent((descriptor, flags), "sendmsg", &memory, address, frame) }
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
    let (name, length) = (header.msg_name.cast(), &raw mut header.msg_namelen);
    // SAFETY: the name is null, or has so much room, as the caller promises.
    if let Err(error) = unsafe { addresses::store(&got.sender, name, length, frame) } {
        return failed(error) as isize;
    }
    // Nothing but data is ever sent.
    header.msg_controllen = 0;
    header.msg_flags = if got.whole > room { MSG_TRUNC } else { 0 };
    got.result
}
