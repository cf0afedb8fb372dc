//! Functions that read or write memory of the program by their arguments, and whose accesses are not noted. Beside other threads a race may be
//! missed, so such a call makes the search incomplete. Calls that other libraries make are their own matter.

use crate::{
    core::modules,
    kernel::{ordering, passed_calls::passes},
    run::{call_sites, world},
};
use alloc::format;
use core::ffi::CStr;

passes! {
    wcscpy => unlooked;
    wcpcpy => unlooked;
    wcsncpy => unlooked;
    wcscat => unlooked;
    wcsncat => unlooked;
    wcslen => unlooked;
    wcsnlen => unlooked;
    wcscmp => unlooked;
    wcsncmp => unlooked;
    wcschr => unlooked;
    wcsrchr => unlooked;
    wcsstr => unlooked;
    wcstok => unlooked;
    wcsdup => unlooked;
    wmemcpy => unlooked;
    wmemmove => unlooked;
    wmemset => unlooked;
    wmemcmp => unlooked;
    wmemchr => unlooked;
    swprintf => unlooked;
    vswprintf => unlooked;
    swscanf => unlooked;
    vswscanf => unlooked;
    mbstowcs => unlooked;
    wcstombs => unlooked;
    strsep => unlooked;
    swab => unlooked;
    memfrob => unlooked;
    strfry => unlooked;
    strxfrm => unlooked;
    strptime => unlooked;
    strerror_r => unlooked;
    ttyname_r => unlooked;
    gethostname => unlooked;
    getdomainname => unlooked;
    inet_aton => unlooked;
    tsearch => unlooked;
    tfind => unlooked;
    tdelete => unlooked;
    twalk => unlooked;
    lsearch => unlooked;
    insque => unlooked;
    remque => unlooked;
    hsearch_r => unlooked;
    random_r => unlooked;
    srandom_r => unlooked;
    initstate_r => unlooked;
    setstate_r => unlooked;
    drand48_r => unlooked;
    lrand48_r => unlooked;
    mrand48_r => unlooked;
    srand48_r => unlooked;
}

fn unlooked(name: &'static CStr, _: &[usize; 6], from: &usize) {
    if ordering::alone() || modules::is_library(*from) {
        return;
    }
    let what = format!("{} beside other threads", name.to_str().unwrap_or("?"));
    world::borrow().note_unsupported(&what, call_sites::site(from));
}
