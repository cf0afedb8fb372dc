//! Families and meetings of pipes, sockets, eventfds and files. As in `families.rs` and `meetings.rs`.

use super::families::{
    Family,
    Place::{Anywhere, Outside},
};
use super::meetings::Meeting;

pub const INCLUDES: &str = "#include <poll.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
";

const PIPES: Family = Family {
    name: "pipes",
    cxx: false,
    globals: "static int ends[2], pair[2];
static int taken(int fd) { char c = 0; ssize_t n = read(fd, &c, 1); return n == 1 ? c : n ? -errno : 0; }
static int ready(int fd, short what) { struct pollfd p = {fd, what, 0}; int n = poll(&p, 1, 0); return n * 1000 + p.revents; }",
    setup: "EXPECT(pipe2(ends, O_NONBLOCK)); EXPECT(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, pair));",
    teardown: "for (int c; (c = taken(ends[0])) > 0;) REC(c); for (int c; (c = taken(pair[1])) > 0;) REC(c); REC(taken(pair[0])); EXPECT(close(ends[0])); EXPECT(close(ends[1])); EXPECT(close(pair[0])); EXPECT(close(pair[1]));",
    steps: &[
        (
            Anywhere,
            "{ char c = (char)(me * 2 + $a + 1); REC(write(ends[1], &c, 1)); }",
        ),
        (Anywhere, "REC(taken(ends[0]));"),
        (Anywhere, "REC(ready(ends[0], POLLIN));"),
        (
            Anywhere,
            "{ char c = (char)(me * 2 + $a + 1); REC(send(pair[0], &c, 1, MSG_NOSIGNAL)); }",
        ),
        (Anywhere, "REC(taken(pair[1]));"),
        (Anywhere, "REC(ready(pair[1], POLLIN | POLLOUT));"),
        (
            Anywhere,
            "{ char c = 0; REC(recv(pair[1], &c, 1, MSG_PEEK)); REC(c); }",
        ),
        (Anywhere, "REC(shutdown(pair[0], SHUT_WR));"),
        (
            Outside,
            "{ char c = 5; int copy; delay(); copy = dup(ends[1]); $i REC(write(copy, &c, 1)); DO(close(copy)); }",
        ),
    ],
};

const EVENTS: Family = Family {
    name: "eventfds",
    cxx: false,
    globals: "static int event, counted, watch;
static int got(int fd) { eventfd_t v = 0; return eventfd_read(fd, &v) ? -errno : (int)v; }
static int watched(void) { struct epoll_event e[2]; int n = epoll_wait(watch, e, 2, 0), all = n; for (int i = 0; i < n; i++) all += 10 * (int)e[i].data.u32; return all; }",
    setup: "event = eventfd(0, EFD_NONBLOCK); counted = eventfd(2, EFD_NONBLOCK | EFD_SEMAPHORE); watch = epoll_create1(0); { struct epoll_event e; e.events = EPOLLIN; e.data.u32 = 1; EXPECT(epoll_ctl(watch, EPOLL_CTL_ADD, event, &e)); e.events = EPOLLIN | EPOLLET; e.data.u32 = 2; EXPECT(epoll_ctl(watch, EPOLL_CTL_ADD, counted, &e)); }",
    teardown: "REC(got(event)); for (int v; (v = got(counted)) > 0;) REC(v); EXPECT(close(watch)); EXPECT(close(event)); EXPECT(close(counted));",
    steps: &[
        (Anywhere, "REC(eventfd_write(event, $k));"),
        (Anywhere, "REC(got(event));"),
        (Anywhere, "REC(eventfd_write(counted, $k));"),
        (Anywhere, "REC(got(counted));"),
        (Anywhere, "REC(watched());"),
    ],
};

const FILES: Family = Family {
    name: "files",
    cxx: false,
    globals: "static int file, added;
static int size(int fd) { struct stat s; return fstat(fd, &s) ? -errno : (int)s.st_size; }",
    setup: "{ char name[] = \"/tmp/conformanceXXXXXX\"; file = mkstemp(name); added = open(name, O_WRONLY | O_APPEND); EXPECT(unlink(name)); }",
    teardown: "length = (int)pread(file, text, 200, 0); text[length < 0 ? 0 : length] = 0; for (int i = 0; i < length; i++) if (!text[i]) text[i] = '_'; EXPECT(close(file)); EXPECT(close(added));",
    steps: &[
        (
            Anywhere,
            "{ char c[2] = {(char)('a' + me), (char)('0' + $a)}; REC(write(file, c, 2)); }",
        ),
        (
            Anywhere,
            "{ char c = (char)('A' + me); REC(write(added, &c, 1)); }",
        ),
        (
            Anywhere,
            "{ char c = (char)('p' + me); REC(pwrite(file, &c, 1, $k)); }",
        ),
        (
            Anywhere,
            "{ char c = 0; REC(pread(file, &c, 1, $k)); REC(c); }",
        ),
        (Anywhere, "{ char c = 0; REC(read(file, &c, 1)); REC(c); }"),
        (Anywhere, "REC(lseek(file, $a, SEEK_CUR));"),
        (Anywhere, "REC(lseek(file, 0, SEEK_END));"),
        (Anywhere, "REC(ftruncate(file, $k));"),
        (Anywhere, "REC(size(file));"),
    ],
};

pub const FAMILIES: &[&Family] = &[&PIPES, &EVENTS, &FILES];

/// One byte for each of the others.
const HANDED_OUT: Meeting = Meeting {
    name: "pipe",
    cxx: false,
    globals: "static int way[2];",
    setup: "EXPECT(pipe(way));",
    teardown: "EXPECT(close(way[0]) + close(way[1]));",
    roles: [
        "for (int w = 0; w < $w; w++) { char c = (char)(w + 1); REC(write(way[1], &c, 1)); }",
        "{ char c = 0; REC(read(way[0], &c, 1)); REC(c); $i }",
    ],
};

const CONNECTED: Meeting = Meeting {
    name: "connections",
    cxx: false,
    globals: "static int listening; static struct sockaddr_un where; static socklen_t where_bytes;
static int connected(void) { int s = socket(AF_UNIX, SOCK_STREAM, 0); EXPECT(connect(s, (struct sockaddr *)&where, where_bytes)); return s; }",
    setup: "memset(&where, 0, sizeof where); where.sun_family = AF_UNIX; where_bytes = (socklen_t)(sizeof(sa_family_t) + 1 + sprintf(where.sun_path + 1, \"conformance-%d\", (int)getpid())); listening = socket(AF_UNIX, SOCK_STREAM, 0); EXPECT(bind(listening, (struct sockaddr *)&where, where_bytes)); EXPECT(listen(listening, 8));",
    teardown: "EXPECT(close(listening));",
    roles: [
        "for (int w = 0; w < $w; w++) { delay(); int s = accept(listening, 0, 0); char c = 0; REC(read(s, &c, 1)); REC(c); c = (char)(c + 8); REC(send(s, &c, 1, MSG_NOSIGNAL)); REC(read(s, &c, 1)); EXPECT(close(s)); }",
        "{ delay(); int s = connected(); char c = (char)me; $i REC(send(s, &c, 1, MSG_NOSIGNAL)); REC(read(s, &c, 1)); REC(c); EXPECT(close(s)); }",
    ],
};

/// Edges and levels wake one waiter for each event.
const WATCHED: Meeting = Meeting {
    name: "epoll",
    cxx: false,
    globals: "static int bell, tower;",
    setup: "bell = eventfd(0, EFD_NONBLOCK | EFD_SEMAPHORE); tower = epoll_create1(0); { struct epoll_event e; e.events = EPOLLIN; e.data.u32 = 7; EXPECT(epoll_ctl(tower, EPOLL_CTL_ADD, bell, &e)); }",
    teardown: "EXPECT(close(tower)); EXPECT(close(bell));",
    roles: [
        "REC(eventfd_write(bell, $w)); $i",
        "{ struct epoll_event e; eventfd_t v = 0; REC(epoll_wait(tower, &e, 1, -1)); REC(e.data.u32); REC(eventfd_read(bell, &v)); REC((int)v); }",
    ],
};

pub const MEETINGS: &[&Meeting] = &[&HANDED_OUT, &CONNECTED, &WATCHED];
