//! Which functions change nothing that a hook does not see, by name.
//!
//! A function belongs here for one of three reasons. It is the runtime's own and notes itself what it changes: operations of the model,
//! accesses to memory, and [`count_one`](super::count_one) for the rest. It only reads. Or what it changes cannot be seen by the program
//! again. A name that is missing costs a search that does not end by itself; a name that should not be here makes a loop that goes on look
//! like one that waits.

/// Families of functions, by how their names begin.
const PREFIXES: &[&[u8]] = &[
    // The compiler's instrumentation, and functions on memory and text that report their accesses.
    b"__tsan_",
    // Called by assembly that relies on its flags and on the memory below its stack.
    b"__reweave_",
    b"__sanitizer_",
    b"__atomic_",
    b"__wrap_",
    b"Annotate",
    b"WTFAnnotate",
    b"reweave_",
    b"__VERIFIER_",
    // Threads and what they wait for: operations of the model.
    b"GOMP_",
    b"omp_",
    b"pthread_mutex_",
    b"pthread_cond_",
    b"pthread_rwlock_",
    b"pthread_barrier_",
    b"pthread_spin_",
    b"pthread_cancel",
    b"pthread_setcancel",
    b"pthread_testcancel",
    b"pthread_get",
    b"__pthread_",
    b"sem_",
    b"mtx_",
    b"cnd_",
    b"thrd_",
    b"tss_",
    b"eventfd_",
    b"_ZNSt18condition_variable",
    b"_ZNSt6thread",
    b"_ZNSt11this_thread",
    b"_ZNSt28__atomic_futex_unsigned_base",
    b"_ZNSt13__future_base",
    // The C++ library's errors and exceptions: what is thrown is caught again.
    b"_Unwind_",
    b"__gxx_personality",
    b"__cxa_guard_",
    b"_ZNSt15__exception_ptr",
    b"_ZNSt9exceptionD",
    b"_ZNSt12future_error",
    // Functions of the C++ library that only follow pointers or compute.
    b"_ZSt18_Rb_tree_increment",
    b"_ZSt18_Rb_tree_decrement",
    b"_ZSt11_Hash_bytes",
    b"_ZNSt19_Sp_make_shared_tag",
    b"_ZSt9use_facet",
    b"_ZSt9has_facet",
    // Members that do not change their object.
    b"_ZNKSt",
    b"_ZNKSs",
    b"_ZNSt6chrono",
];

/// Single functions, sorted.
const NAMES: &[&[u8]] = &[
    b"MPI_Iprobe",
    b"MPI_Test",
    b"MPI_Testall",
    b"MPI_Testany",
    b"MPI_Testsome",
    b"_Exit",
    b"_ZSt17current_exceptionv",
    b"_ZSt17rethrow_exceptionNSt15__exception_ptr13exception_ptrE",
    b"_ZSt18uncaught_exceptionv",
    b"_ZSt19uncaught_exceptionsv",
    b"_ZSt9terminatev",
    b"_ZdaPv",
    b"_ZdaPvSt11align_val_t",
    b"_ZdaPvm",
    b"_ZdaPvmSt11align_val_t",
    b"_ZdlPv",
    b"_ZdlPvSt11align_val_t",
    b"_ZdlPvm",
    b"_ZdlPvmSt11align_val_t",
    b"_Znam",
    b"_ZnamRKSt9nothrow_t",
    b"_ZnamSt11align_val_t",
    b"_Znwm",
    b"_ZnwmRKSt9nothrow_t",
    b"_ZnwmSt11align_val_t",
    b"__assert_fail",
    b"__ctype_b_loc",
    b"__ctype_tolower_loc",
    b"__ctype_toupper_loc",
    b"__cxa_allocate_exception",
    b"__cxa_bad_cast",
    b"__cxa_begin_catch",
    b"__cxa_end_catch",
    b"__cxa_free_exception",
    b"__cxa_get_exception_ptr",
    b"__cxa_pure_virtual",
    b"__cxa_rethrow",
    b"__cxa_throw",
    b"__cxa_throw_bad_array_new_length",
    b"__dprintf_chk",
    b"__dynamic_cast",
    b"__errno_location",
    b"__fprintf_chk",
    b"__fwprintf_chk",
    b"__longjmp_chk",
    b"__overflow",
    b"__printf_chk",
    b"__read",
    b"__read_chk",
    b"__sched_cpucount",
    b"__sigsetjmp",
    b"__stack_chk_fail",
    b"__tls_get_addr",
    b"__vdprintf_chk",
    b"__vfprintf_chk",
    b"__vfwprintf_chk",
    b"__vprintf_chk",
    b"__vwprintf_chk",
    b"__woverflow",
    b"__wprintf_chk",
    b"__write",
    b"_exit",
    b"_longjmp",
    b"_setjmp",
    b"abort",
    b"abs",
    b"aligned_alloc",
    b"atof",
    b"call_once",
    b"calloc",
    b"cbrt",
    b"ceil",
    b"ceilf",
    b"clock",
    b"clock_getres",
    b"clock_gettime",
    b"clock_nanosleep",
    b"cos",
    b"cosf",
    b"difftime",
    b"dprintf",
    b"exit",
    b"exp",
    b"exp2",
    b"expf",
    b"fabs",
    b"fdatasync",
    b"feof",
    b"feof_unlocked",
    b"ferror",
    b"ferror_unlocked",
    b"fflush",
    b"fflush_unlocked",
    b"fileno",
    b"flockfile",
    b"floor",
    b"floorf",
    b"fmax",
    b"fmin",
    b"fmod",
    b"fprintf",
    b"fputc",
    b"fputc_unlocked",
    b"fputs",
    b"fputs_unlocked",
    b"fputwc",
    b"fputwc_unlocked",
    b"fputws",
    b"fputws_unlocked",
    b"free",
    b"fsync",
    b"ftell",
    b"ftello",
    b"ftello64",
    b"ftrylockfile",
    b"funlockfile",
    b"fwprintf",
    b"fwrite",
    b"fwrite_unlocked",
    b"get_nprocs",
    b"get_nprocs_conf",
    b"getcpu",
    b"getegid",
    b"getenv",
    b"geteuid",
    b"getgid",
    b"getpid",
    b"getppid",
    b"getrusage",
    b"gettid",
    b"gettimeofday",
    b"getuid",
    b"hypot",
    b"isalnum",
    b"isalpha",
    b"isdigit",
    b"islower",
    b"isspace",
    b"isupper",
    b"labs",
    b"ldexp",
    b"llabs",
    b"log",
    b"log10",
    b"log2",
    b"logf",
    b"longjmp",
    b"lround",
    b"malloc",
    b"memalign",
    b"nanosleep",
    b"perror",
    b"poll",
    b"posix_memalign",
    b"pow",
    b"powf",
    b"ppoll",
    b"pread",
    b"pread64",
    b"preadv",
    b"preadv64",
    b"printf",
    b"psignal",
    b"pthread_create",
    b"pthread_detach",
    b"pthread_equal",
    b"pthread_exit",
    b"pthread_join",
    b"pthread_kill",
    b"pthread_once",
    b"pthread_self",
    b"pthread_setspecific",
    b"pthread_sigmask",
    b"pthread_timedjoin_np",
    b"pthread_tryjoin_np",
    b"pthread_yield",
    b"putc",
    b"putc_unlocked",
    b"putchar",
    b"putchar_unlocked",
    b"puts",
    b"putwc",
    b"putwc_unlocked",
    b"putwchar",
    b"putwchar_unlocked",
    b"pvalloc",
    b"raise",
    b"reach_error",
    b"read",
    b"readv",
    b"realloc",
    b"reallocarray",
    b"round",
    b"sched_getcpu",
    b"sched_yield",
    b"secure_getenv",
    b"select",
    b"setjmp",
    b"siglongjmp",
    b"sigpending",
    b"sigsetjmp",
    b"sigsuspend",
    b"sigtimedwait",
    b"sigwait",
    b"sigwaitinfo",
    b"sin",
    b"sinf",
    b"sleep",
    b"sqrt",
    b"sqrtf",
    b"syscall",
    b"sysconf",
    b"tan",
    b"time",
    b"times",
    b"timespec_get",
    b"tolower",
    b"toupper",
    b"trunc",
    b"usleep",
    b"valloc",
    b"vdprintf",
    b"vfprintf",
    b"vfwprintf",
    b"vprintf",
    b"vwarn",
    b"vwarnx",
    b"vwprintf",
    b"wprintf",
    b"write",
    b"writev",
];

/// Whether a function of this name changes nothing that a hook does not see.
pub(super) fn is_harmless(name: &[u8]) -> bool {
    let begins = |prefix: &&[u8]| name.starts_with(prefix);
    let throws = || name.starts_with(b"_ZSt") && name.windows(8).any(|part| part == b"__throw_");
    NAMES.binary_search(&name).is_ok() || PREFIXES.iter().any(begins) || throws()
}

/// The characters of a stream.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Width {
    Narrow,
    Wide,
}

/// Whether a function of this name only writes to a stream of C++, which is its first argument.
pub(super) fn writes_to(name: &[u8]) -> Option<Width> {
    const WIDE: &[&[u8]] = &[
        b"_ZNSt13basic_ostreamIw",
        b"_ZStlsIw",
        b"_ZSt16__ostream_insertIw",
        b"_ZSt4endlIw",
        b"_ZSt5flushIw",
    ];
    const NARROW: &[&[u8]] = &[
        b"_ZNSo",
        b"_ZStls",
        b"_ZSt16__ostream_insertIc",
        b"_ZSt4endlIc",
        b"_ZSt5flushIc",
    ];
    let has = |part: &[u8]| name.windows(part.len()).any(|found| found == part);
    if has(b"tellp") || has(b"seekp") {
        return None;
    }
    let begins = |prefixes: &[&[u8]]| prefixes.iter().any(|prefix| name.starts_with(prefix));
    match () {
        () if begins(WIDE) => Some(Width::Wide),
        () if begins(NARROW) => Some(Width::Narrow),
        () => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_sorted_and_each_is_there_once() {
        assert!(NAMES.is_sorted_by(|a, b| a < b));
    }

    #[test]
    fn calls_that_wait_are_harmless_and_calls_that_go_on_are_not() {
        for name in ["sched_yield", "usleep", "pthread_mutex_trylock", "read"] {
            assert!(is_harmless(name.as_bytes()), "{name}");
        }
        for name in ["fgetc", "lseek", "getline", "strtoul", "_ZNSi3getEv"] {
            assert!(!is_harmless(name.as_bytes()), "{name}");
        }
    }

    #[test]
    fn functions_that_write_to_a_stream_are_known_by_their_first_argument() {
        let integer = b"_ZNSolsEi";
        assert_eq!(writes_to(integer), Some(Width::Narrow));
        assert_eq!(writes_to(b"_ZNSo5tellpEv"), None);
        assert_eq!(writes_to(b"_ZStlsIwSt11char_traitsIwEE"), Some(Width::Wide));
        assert_eq!(writes_to(b"_ZNSi3getEv"), None);
        assert!(!is_harmless(integer));
    }
}
