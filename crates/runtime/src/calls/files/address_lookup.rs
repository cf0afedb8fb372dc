//! `getaddrinfo` and `getnameinfo`: addresses of the run's own network, which is loopback by IPv4. Nothing is asked outside of the run.
//!
//! Numeric addresses, `localhost` and numeric ports are left to the C library, which only converts them. Other names are refused.

use crate::{
    core::trampoline::Frame,
    outside_run, real,
    run::{accesses::range, call_sites, world},
    trampoline,
};
use alloc::{format, string::String};
use core::{
    ffi::{CStr, c_char, c_int},
    mem::MaybeUninit,
    ptr,
};
use libc::{addrinfo, sockaddr, socklen_t};

trampoline! {
    getaddrinfo => look_up, "r8";
    getnameinfo => name_of, "r10";
}

/// A text of the program.
///
/// # Safety
///
/// `text` is null or ends with a nul.
unsafe fn text(text: *const c_char, frame: &Frame) -> Option<String> {
    if text.is_null() {
        return None;
    }
    // SAFETY: not null, so it ends with a nul, by this function's contract.
    let bytes = unsafe { CStr::from_ptr(text) }.to_bytes_with_nul();
    range(text as usize, bytes.len(), false, frame);
    let bytes = &bytes[..bytes.len() - 1];
    Some(String::from_utf8_lossy(bytes).into_owned())
}

/// Whether a name is an address that needs no look-up.
fn is_numeric(name: &str) -> bool {
    let hexadecimal = |c: char| c.is_ascii_hexdigit();
    let v4 = name.chars().all(|c| c == '.' || c.is_ascii_digit());
    let v6 = name.contains(':') && name.chars().all(|c| c == ':' || c == '.' || hexadecimal(c));
    !name.is_empty() && (v4 || v6)
}

/// `getaddrinfo`.
///
/// # Safety
///
/// As POSIX demands of the caller: `name` and `service` are null or end with a nul, `hints` is null or points to hints, `result` to room
/// for a pointer.
unsafe extern "C" fn look_up(
    name: *const c_char,
    service: *const c_char,
    hints: *const addrinfo,
    result: *mut *mut addrinfo,
    frame: &Frame,
) -> c_int {
    outside_run!(getaddrinfo: fn(name: *const c_char, service: *const c_char, hints: *const addrinfo, result: *mut *mut addrinfo) -> c_int);
    let site = call_sites::site(&frame.return_address);
    // SAFETY: both are null or end with a nul, by this function's contract.
    let (host, port) = unsafe { (text(name, frame), text(service, frame)) };
    let local = host.as_deref() == Some("localhost");
    if let Some(host) = host.as_deref().filter(|host| !local && !is_numeric(host)) {
        world::unsupported(&format!("getaddrinfo of {host}"), site);
    }
    let number = |port: &&str| !port.chars().all(|c| c.is_ascii_digit());
    if let Some(port) = port.as_deref().filter(number) {
        world::unsupported(&format!("getaddrinfo of the service {port}"), site);
    }
    // SAFETY: zeros are hints without wishes; `hints` points to hints if it is not null, by this function's contract.
    let mut wanted = unsafe {
        match hints.is_null() {
            true => MaybeUninit::<addrinfo>::zeroed().assume_init(),
            false => {
                range(hints as usize, size_of::<addrinfo>(), false, frame);
                ptr::read(hints)
            }
        }
    };
    match wanted.ai_family {
        libc::AF_UNSPEC => wanted.ai_family = libc::AF_INET,
        libc::AF_INET6 => return libc::EAI_FAMILY,
        _ => {}
    }
    // What the machine's interfaces are is not asked.
    wanted.ai_flags &= !libc::AI_ADDRCONFIG;
    wanted.ai_flags |= libc::AI_NUMERICSERV;
    if host.is_some() {
        wanted.ai_flags |= libc::AI_NUMERICHOST;
    }
    let name = match local {
        true => c"127.0.0.1".as_ptr(),
        false => name,
    };
    range(result as usize, size_of::<usize>(), true, frame);
    let real = real!(getaddrinfo: fn(*const c_char, *const c_char, *const addrinfo, *mut *mut addrinfo) -> c_int);
    // SAFETY: the texts and the result are the caller's, the hints a live local. The C library converts, and allocates.
    unsafe { real(name, service, &raw const wanted, result) }
}

/// `getnameinfo`. The last argument, flags, is above the frame.
///
/// # Safety
///
/// As POSIX demands of the caller: `address` has `length` bytes, `host` and `service` are null or have as much room as is said.
unsafe extern "C" fn name_of(
    address: *const sockaddr,
    length: socklen_t,
    host: *mut c_char,
    host_room: socklen_t,
    service: *mut c_char,
    service_room: socklen_t,
    frame: &Frame,
) -> c_int {
    // SAFETY: by the calling convention the seventh argument lies above the return address, which ends the frame.
    let mut flags = unsafe { *ptr::from_ref(frame).add(1).cast::<c_int>() };
    let real = real!(getnameinfo: fn(*const sockaddr, socklen_t, *mut c_char, socklen_t, *mut c_char, socklen_t, c_int) -> c_int);
    if world::active() {
        let numeric = libc::NI_NUMERICHOST | libc::NI_NUMERICSERV;
        let asks = [
            (host.is_null(), libc::NI_NUMERICHOST),
            (service.is_null(), libc::NI_NUMERICSERV),
        ];
        if asks
            .iter()
            .any(|(absent, flag)| !absent && flags & flag == 0)
        {
            let site = call_sites::site(&frame.return_address);
            world::unsupported("getnameinfo that asks for names", site);
        }
        flags |= numeric;
        range(address as usize, length as usize, false, frame);
        for (text, room) in [(host, host_room), (service, service_room)] {
            if !text.is_null() {
                range(text as usize, room as usize, true, frame);
            }
        }
    }
    // SAFETY: this function's own arguments, with the same contract; numeric answers are only converted.
    unsafe {
        real(
            address,
            length,
            host,
            host_room,
            service,
            service_room,
            flags,
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_not_numeric() {
        for name in ["127.0.0.1", "::1", "10.1", "::ffff:1.2.3.4"] {
            assert!(is_numeric(name), "{name}");
        }
        for name in ["localhost", "", "example.org", "abc", "fe80::1%eth0"] {
            assert!(!is_numeric(name), "{name}");
        }
    }
}
