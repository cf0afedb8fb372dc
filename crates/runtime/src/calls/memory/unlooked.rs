//! Functions that read or write memory of the program by their arguments, and whose accesses are not noted. Beside other threads a race may be
//! missed, so such a call makes the search incomplete. Calls that other libraries make are their own matter.

use crate::{
    core::{modules, program_start::calls_only},
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
    strtold => unlooked;
    strtof_l => unlooked;
    strtod_l => unlooked;
    strtold_l => unlooked;
    strtol_l => unlooked;
    strtoul_l => unlooked;
    strtoll_l => unlooked;
    strtoull_l => unlooked;
    strtoimax => unlooked;
    strtoumax => unlooked;
    wcstol => unlooked;
    wcstoul => unlooked;
    wcstoll => unlooked;
    wcstoull => unlooked;
    wcstoimax => unlooked;
    wcstoumax => unlooked;
    wcstod => unlooked;
    wcstof => unlooked;
    wcstold => unlooked;
    wcsspn => unlooked;
    wcscspn => unlooked;
    wcspbrk => unlooked;
    wcscoll => unlooked;
    wcsxfrm => unlooked;
    wcscasecmp => unlooked;
    wcsncasecmp => unlooked;
    wmempcpy => unlooked;
    wcpncpy => unlooked;
    mbsnrtowcs => unlooked;
    wcsnrtombs => unlooked;
    mbrtoc16 => unlooked;
    c16rtomb => unlooked;
    mbrtoc32 => unlooked;
    c32rtomb => unlooked;
    wcsftime => unlooked;
    strcasestr => unlooked;
    strverscmp => unlooked;
    strcoll => unlooked;
    strcoll_l => unlooked;
    strxfrm_l => unlooked;
    rawmemchr => unlooked;
    a64l => unlooked;
    gcvt => unlooked;
    ecvt_r => unlooked;
    fcvt_r => unlooked;
    qecvt_r => unlooked;
    qfcvt_r => unlooked;
    getsubopt => unlooked;
    fnmatch => unlooked;
    timegm => unlooked;
    inet_addr => unlooked;
    inet_network => unlooked;
    inet_pton => unlooked;
    inet_ntop => unlooked;
    ether_aton_r => unlooked;
    ether_ntoa_r => unlooked;
    iconv => unlooked;
    regcomp => unlooked;
    regexec => unlooked;
    regerror => unlooked;
    confstr => unlooked;
    addmntent => unlooked;
    lfind => unlooked;
    twalk_r => unlooked;
    tdestroy => unlooked;
    hcreate_r => unlooked;
    hdestroy_r => unlooked;
    erand48_r => unlooked;
    jrand48_r => unlooked;
    nrand48_r => unlooked;
    seed48_r => unlooked;
    lcong48_r => unlooked;
    argz_create => unlooked;
    argz_create_sep => unlooked;
    argz_add => unlooked;
    argz_add_sep => unlooked;
    argz_append => unlooked;
    argz_count => unlooked;
    argz_delete => unlooked;
    argz_extract => unlooked;
    argz_insert => unlooked;
    argz_next => unlooked;
    argz_replace => unlooked;
    argz_stringify => unlooked;
    envz_add => unlooked;
    envz_entry => unlooked;
    envz_get => unlooked;
    envz_merge => unlooked;
    envz_remove => unlooked;
    envz_strip => unlooked;
    getloadavg => unlooked;
}

fn unlooked(name: &'static CStr, _: &[usize; 6], from: &usize) {
    // Of an unmodified program no access is noted anyway.
    if ordering::alone() || modules::is_library(*from) || calls_only() {
        return;
    }
    let what = format!("{} beside other threads", name.to_str().unwrap_or("?"));
    world::borrow().note_unsupported(&what, call_sites::site(from));
}
