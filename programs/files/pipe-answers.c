// What the calls on a pipe return, as they do without the checker.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <reweave.h>
#include <signal.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#define fails(call, error) (errno = 0, (call) == -1 && errno == (error))

static char block[65536];
static int ends[2];

static void reads_and_writes(void) {
    char text[8] = "";
    reweave_check(pipe2(ends, O_NONBLOCK | O_CLOEXEC) == 0, "there is no pipe");
    reweave_check(fcntl(ends[0], F_GETFD) == FD_CLOEXEC, "it is not closed on exec");
    reweave_check(fails(read(ends[0], text, 8), EAGAIN), "there is something");
    reweave_check(read(ends[0], text, 0) == 0, "nothing is something");
    reweave_check(write(ends[1], "abcdef", 6) == 6, "not all is written");
    reweave_check(read(ends[0], text, 2) == 2 && !memcmp(text, "ab", 2), "something else is read");
    reweave_check(write(ends[1], "g", 1) == 1 && write(ends[1], "", 0) == 0, "not all is written");
    struct iovec parts[] = {{text, 3}, {text + 4, 4}};
    reweave_check(readv(ends[0], parts, 2) == 5, "there is more");
    reweave_check(!memcmp(text, "cde", 3) && !memcmp(text + 4, "fg", 2), "something else is read");
    reweave_check(writev(ends[1], parts, 2) == 7, "not all is written");
    reweave_check(read(ends[0], text, 8) == 7 && !memcmp(text, "cdefg", 5), "something else is read");
    reweave_check(fails(read(ends[1], text, 1), EBADF), "the writer reads");
    reweave_check(fails(write(ends[0], text, 1), EBADF), "the reader writes");
    reweave_check(fails(pread(ends[0], text, 1, 0), ESPIPE), "it has places");
}

static void full(void) {
    reweave_check(write(ends[1], block, sizeof block) == sizeof block, "there is no room");
    reweave_check(fails(write(ends[1], block, 1), EAGAIN), "there is more room");
    reweave_check(fails(write(ends[1], block, sizeof block), EAGAIN), "there is more room");
    reweave_check(read(ends[0], block, 4096) == 4096, "there is less");
    reweave_check(write(ends[1], block, 2 * 4096) == 4096, "not as much as fits is written");
    reweave_check(read(ends[0], block, 4096) == 4096, "there is less");
    // So much is written at once or not at all.
    reweave_check(write(ends[1], block, 4096) == 4096, "there is no room");
    reweave_check(fails(write(ends[1], block, 4096), EAGAIN), "there is more room");
}

static void closed(void) {
    int other = dup(ends[1]), third = fcntl(other, F_DUPFD, 20);
    reweave_check(close(ends[1]) == 0 && third == 20, "it was closed");
    reweave_check(read(ends[0], block, sizeof block) == sizeof block, "there is less");
    reweave_check(fails(read(ends[0], block, 1), EAGAIN), "all writers are gone");
    reweave_check(dup2(ends[0], other) == other, "there is no copy");
    reweave_check(fails(read(other, block, 1), EAGAIN), "all writers are gone");
    reweave_check(close(ends[0]) == 0, "it was closed");
    reweave_check(write(third, block, 1) == 1, "all readers are gone");
    reweave_check(close(other) == 0, "it was closed");
    signal(SIGPIPE, SIG_IGN);
    reweave_check(fails(write(third, block, 1), EPIPE), "there is a reader");
    reweave_check(close(third) == 0 && fails(close(third), EBADF), "it is open");
}

static volatile sig_atomic_t broken;

static void breaks(int number) { broken = number; }

static void ended(void) {
    char text;
    reweave_check(pipe(ends) == 0, "there is no pipe");
    reweave_check(write(ends[1], "x", 1) == 1 && close(ends[1]) == 0, "nothing is written");
    reweave_check(read(ends[0], &text, 1) == 1 && text == 'x', "something else is read");
    reweave_check(read(ends[0], &text, 1) == 0 && read(ends[0], &text, 1) == 0, "it has no end");
    close(ends[0]);
    pipe(ends);
    close_range(ends[0], ends[0], 0);
    signal(SIGPIPE, breaks);
    reweave_check(fails(write(ends[1], &text, 1), EPIPE) && broken == SIGPIPE, "there is no signal");
}

int main(void) {
    reads_and_writes();
    full();
    closed();
    ended();
}
