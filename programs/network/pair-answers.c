// What the calls on a pair of sockets return, as they do without the checker.
#define _GNU_SOURCE
#include <errno.h>
#include <reweave.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define fails(call, error) (errno = 0, (call) == -1 && errno == (error))

static int ends[2];
static char text[16];

static void streams(void) {
    reweave_check(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends) == 0, "there is no pair");
    reweave_check(fails(recv(ends[0], text, 1, 0), EAGAIN), "there is something");
    reweave_check(send(ends[0], "abc", 3, 0) == 3 && write(ends[1], "x", 1) == 1, "nothing is sent");
    reweave_check(recv(ends[1], text, 2, MSG_PEEK) == 2 && !memcmp(text, "ab", 2), "something else is there");
    reweave_check(recv(ends[1], text, 16, 0) == 3 && !memcmp(text, "abc", 3), "something else is received");
    reweave_check(read(ends[0], text, 16) == 1 && text[0] == 'x', "something else is received");
    reweave_check(send(ends[0], "rest", 4, 0) == 4 && shutdown(ends[0], SHUT_WR) == 0, "it cannot be shut");
    reweave_check(fails(send(ends[0], "x", 1, MSG_NOSIGNAL), EPIPE), "it is still open");
    reweave_check(recv(ends[1], text, 16, 0) == 4, "the rest is lost");
    reweave_check(recv(ends[1], text, 16, 0) == 0 && recv(ends[1], text, 16, 0) == 0, "it has no end");
    reweave_check(send(ends[1], "y", 1, 0) == 1 && recv(ends[0], text, 16, 0) == 1, "the other way is shut");
    reweave_check(fails(shutdown(ends[1], 7), EINVAL) && fails(shutdown(99, 0), EBADF), "there is such a way");
    reweave_check(close(ends[0]) == 0 && fails(send(ends[1], "x", 1, MSG_NOSIGNAL), EPIPE), "it is open");
    close(ends[1]);
}

static void reset(void) {
    reweave_check(socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0, "there is no pair");
    reweave_check(send(ends[0], "abc", 3, 0) == 3 && close(ends[1]) == 0, "nothing is sent");
    reweave_check(fails(recv(ends[0], text, 16, 0), ECONNRESET), "it was received");
    reweave_check(recv(ends[0], text, 16, 0) == 0, "it has no end");
    close(ends[0]);
}

static void messages(int kind) {
    reweave_check(socketpair(AF_UNIX, kind, 0, ends) == 0, "there is no pair");
    reweave_check(send(ends[0], "abc", 3, 0) == 3 && send(ends[0], "defg", 4, 0) == 4, "nothing is sent");
    reweave_check(recv(ends[1], text, 16, MSG_PEEK) == 3, "it is no message");
    reweave_check(recv(ends[1], text, 2, MSG_TRUNC) == 3 && !memcmp(text, "ab", 2), "it is not cut");
    reweave_check(recv(ends[1], text, 16, 0) == 4 && !memcmp(text, "defg", 4), "it is no message");
    reweave_check(fails(recv(ends[1], text, 16, MSG_DONTWAIT), EAGAIN), "there is another one");
    reweave_check(close(ends[0]) == 0, "it was closed");
    if (kind == SOCK_SEQPACKET) {
        reweave_check(recv(ends[1], text, 16, 0) == 0, "it has no end");
        reweave_check(fails(send(ends[1], "x", 1, 0), EPIPE), "it is open");
    } else {
        reweave_check(fails(recv(ends[1], text, 16, MSG_DONTWAIT), EAGAIN), "it has an end");
        reweave_check(fails(send(ends[1], "x", 1, 0), ECONNREFUSED), "it is open");
    }
    close(ends[1]);
}

int main(void) {
    streams();
    reset();
    messages(SOCK_SEQPACKET);
    messages(SOCK_DGRAM);
    pipe(ends);
    reweave_check(fails(send(ends[1], "x", 1, 0), ENOTSOCK), "a pipe is a socket");
    reweave_check(fails(recv(98, text, 1, 0), EBADF), "it is open");
}
