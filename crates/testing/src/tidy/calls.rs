//! The table of calls in `docs/calls.md`: what the runtime does about each, from the runtime's own sources.
//!
//! A call is *controlled* if the runtime has a function of its own for it, *looked at* if its arguments are looked at and libc's own
//! function does the rest, *unsupported* if reaching it ends the thread and makes the search incomplete, and *not seen* if the program
//! calls libc's own. `scripts/calls` writes the table, and a test compares it.

use super::tree::Source;
use std::fmt::Write;

const SOURCES: &str = "crates/runtime/src/calls/";

/// Calls by group. The first ones are those of dBug, by the headings of the thesis's appendix A. It speaks of 92 and lists 93.
const GROUPS: &[(&str, &str)] = &[
    (
        "Barriers",
        "pthread_barrier_init pthread_barrier_wait pthread_barrier_destroy",
    ),
    (
        "Condition variables",
        "pthread_cond_broadcast pthread_cond_destroy pthread_cond_init pthread_cond_signal pthread_cond_timedwait pthread_cond_wait",
    ),
    (
        "I/O",
        "accept bind close dup dup2 epoll_create epoll_create1 epoll_ctl epoll_wait fcntl listen open pipe poll read readv recv \
         recvfrom select send sendto socket socketpair unlink write writev",
    ),
    (
        "Mutexes",
        "pthread_mutex_destroy pthread_mutex_init pthread_mutex_lock pthread_mutex_timedlock pthread_mutex_trylock \
         pthread_mutex_unlock",
    ),
    (
        "Functions that are not reentrant",
        "gethostbyaddr gethostbyname inet_ntoa strtok",
    ),
    (
        "Processes",
        "execl execv execle execve execlp execvp exit fork posix_spawn posix_spawnp setpgid setpgrp wait waitpid _exit",
    ),
    (
        "Read-write locks",
        "pthread_rwlock_destroy pthread_rwlock_init pthread_rwlock_rdlock pthread_rwlock_timedrdlock pthread_rwlock_timedwrlock \
         pthread_rwlock_tryrdlock pthread_rwlock_trywrlock pthread_rwlock_unlock pthread_rwlock_wrlock",
    ),
    (
        "Scheduling and time",
        "clock gettimeofday nanosleep sched_yield sleep time usleep",
    ),
    (
        "Semaphores",
        "sem_close sem_destroy sem_init sem_open sem_post sem_unlink sem_wait",
    ),
    (
        "Spin locks",
        "pthread_spin_destroy pthread_spin_init pthread_spin_lock pthread_spin_trylock pthread_spin_unlock",
    ),
    (
        "Threads",
        "pthread_cancel pthread_create pthread_detach pthread_exit pthread_join",
    ),
];

/// What today's programs use besides.
const OTHERS: &[(&str, &str)] = &[
    (
        "Sockets",
        "accept4 connect getpeername getsockname getsockopt setsockopt shutdown sendmsg recvmsg sendmmsg recvmmsg getaddrinfo \
         getnameinfo",
    ),
    (
        "Pipes and files",
        "pipe2 dup3 mkfifo mkfifoat eventfd timerfd_create signalfd splice tee sendfile pread pwrite preadv pwritev lseek openat \
         rename mkdir rmdir flock fsync fdopen popen",
    ),
    (
        "Waiting for several",
        "ppoll pselect epoll_pwait epoll_pwait2",
    ),
    (
        "Processes and signals",
        "vfork clone fexecve system waitid wait3 wait4 kill killpg raise sigqueue sigaction signal sigprocmask sigsuspend sigwait \
         sigwaitinfo sigtimedwait pause alarm setitimer timer_create getpid getppid setsid daemon",
    ),
    (
        "Memory",
        "mmap munmap mprotect shm_open shm_unlink shmget shmat shmdt shmctl mq_open semget semop msgget process_vm_readv",
    ),
    (
        "Threads and synchronisation",
        "pthread_kill pthread_once pthread_key_create pthread_tryjoin_np pthread_cond_clockwait pthread_mutex_consistent sem_trywait \
         sem_timedwait sem_getvalue thrd_create mtx_lock cnd_wait call_once syscall",
    ),
    (
        "Time and random numbers",
        "clock_gettime clock_nanosleep clock_settime rand srand random drand48 getrandom getentropy arc4random",
    ),
];

/// What the runtime does about a call.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum How {
    Controlled,
    LookedAt,
    Unsupported,
    NotSeen,
}

impl How {
    fn name(self) -> &'static str {
        match self {
            How::Controlled => "controlled",
            How::LookedAt => "looked at, and passed on",
            How::Unsupported => "unsupported",
            How::NotSeen => "not seen",
        }
    }
}

/// The text of the calls to a macro in a source: what stands between its braces.
fn blocks<'a>(text: &'a str, name: &str) -> Vec<&'a str> {
    let begin = format!("\n{name}! {{");
    let ends = |rest: &'a str| {
        let line = rest.find('\n').unwrap_or(rest.len());
        // A call on one line ends there.
        let end = match rest[..line].ends_with('}') {
            true => line,
            false => rest.find("\n}").unwrap_or(rest.len()),
        };
        &rest[..end]
    };
    let starts = text.match_indices(&begin);
    starts
        .map(|(at, found)| ends(&text[at + found.len()..]))
        .collect()
}

/// Whether a text has a word that one of these follows, if any are given.
fn has(text: &str, word: &str, followed: &[&str]) -> bool {
    let part = |c: char| c.is_alphanumeric() || c == '_';
    text.match_indices(word).any(|(at, _)| {
        let before = text[..at].chars().next_back().is_some_and(part);
        let rest = &text[at + word.len()..];
        let begins = |end: &&str| rest.trim_start().starts_with(*end);
        let fits = followed.is_empty() || followed.iter().any(begins);
        !before && !rest.starts_with(part) && fits
    })
}

/// What the sources of the runtime say about a call.
pub fn how(sources: &[Source], call: &str) -> How {
    let calls: Vec<&str> = sources
        .iter()
        .filter(|source| source.path.starts_with(SOURCES))
        .map(|source| source.text.as_str())
        .collect();
    let in_block = |of: &str, followed: &[&str]| {
        let mut all = calls.iter().flat_map(|text| blocks(text, of));
        all.any(|block| has(block, call, followed))
    };
    if in_block("unsupported", &[]) {
        return How::Unsupported;
    }
    if in_block("passes", &["=>"]) || in_block("fills", &["=>"]) {
        return How::LookedAt;
    }
    let wrapped = format!("__wrap_{call}");
    let own = |text: &&str| {
        let defined = format!("extern \"C\" fn {call}");
        has(text, call, &["=>"]) || has(text, &wrapped, &["=>"]) || has(text, &defined, &["("])
    };
    match calls.iter().any(own) {
        true => How::Controlled,
        false => How::NotSeen,
    }
}

/// The page.
pub fn page(sources: &[Source]) -> String {
    let mut page = String::from(
        "# Calls\n\n\
         What the runtime does about calls of the C library. `scripts/calls` writes this page from the\n\
         runtime's sources, and a test keeps it true.\n\n\
         * *controlled*: the runtime has a function of its own. Some of what it can be asked for may be\n  \
           refused by name; [limits.md](limits.md) says what.\n\
         * *looked at, and passed on*: its arguments are looked at, and the C library does the rest.\n\
         * *unsupported*: a thread that reaches it goes no further, and the search is incomplete:\n  \
           `unsupported: <call>`, with the place.\n\
         * *not seen*: the program calls the C library's own.\n\n\
         Nothing is recorded and played back but standard input, which each run reads from its beginning.\n\
         Time, ids of processes, ports and random numbers of the C library are the same in every run.\n",
    );
    let mut section = |title: &str, groups: &[(&str, &str)]| {
        let calls = groups
            .iter()
            .flat_map(|(_, calls)| calls.split_whitespace());
        let controlled = calls
            .clone()
            .filter(|call| how(sources, call) == How::Controlled);
        let (controlled, all) = (controlled.count(), calls.count());
        write!(
            page,
            "\n## {title}\n\n{controlled} of {all} are controlled.\n"
        )
        .expect("a text has room");
        for (group, calls) in groups {
            write!(page, "\n### {group}\n\n| call | |\n| --- | --- |\n").expect("a text has room");
            for call in calls.split_whitespace() {
                let how = how(sources, call).name();
                writeln!(page, "| `{call}` | {how} |").expect("a text has room");
            }
        }
    };
    section("The calls of dBug", GROUPS);
    section("Other calls", OTHERS);
    page
}

#[cfg(test)]
mod tests {
    use super::*;

    fn source(text: &str) -> Vec<Source> {
        vec![Source {
            path: format!("{SOURCES}files/some.rs"),
            text: text.into(),
        }]
    }

    #[test]
    fn dbug_has_so_many_functions() {
        let groups = GROUPS.iter();
        let calls = groups.flat_map(|(_, calls)| calls.split_whitespace());
        assert_eq!(calls.count(), 93);
    }

    #[test]
    fn a_call_is_what_the_macro_says_that_names_it() {
        let text = "\ntrampoline! {\n    read => read_bytes, \"rcx\";\n}\n\nunsupported! {\n    execve alarm\n}\n\npasses! {\n    setsid => leaves;\n}\n\
            unsupported! { dlmopen }\npub unsafe extern \"C\" fn syscall() {\n";
        let sources = source(text);
        for (call, expected) in [
            ("read", How::Controlled),
            ("syscall", How::Controlled),
            ("execve", How::Unsupported),
            ("dlmopen", How::Unsupported),
            ("setsid", How::LookedAt),
            ("readv", How::NotSeen),
            ("read_bytes", How::NotSeen),
        ] {
            assert_eq!(how(&sources, call), expected, "{call}");
        }
    }
}
