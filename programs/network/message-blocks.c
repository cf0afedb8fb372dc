// What sendmsg and recvmsg return, as they do without the checker.
#define _GNU_SOURCE
#include <errno.h>
#include <reweave.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

static char first[4], second[8];
static int ends[2];

static ssize_t sends(const char *one, const char *other) {
    struct iovec blocks[2] = {{(void *)one, strlen(one)}, {(void *)other, strlen(other)}};
    struct msghdr message = {.msg_iov = blocks, .msg_iovlen = 2};
    return sendmsg(ends[0], &message, MSG_NOSIGNAL);
}

static ssize_t receives(size_t room, int flags, int *seen) {
    struct iovec blocks[2] = {{first, sizeof first}, {second, room}};
    struct msghdr message = {.msg_iov = blocks, .msg_iovlen = 2, .msg_flags = -1};
    ssize_t got = recvmsg(ends[1], &message, flags);
    *seen = message.msg_flags;
    return got;
}

int main(void) {
    int flags;
    socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends);
    reweave_check(sends("abc", "defgh") == 8 && sends("i", "") == 1, "it is not sent");
    reweave_check(receives(8, MSG_PEEK, &flags) == 8 && !memcmp(first, "abcd", 4), "it is something else");
    reweave_check(receives(2, 0, &flags) == 6 && flags == MSG_TRUNC && !memcmp(second, "ef", 2), "it is not cut");
    reweave_check(receives(2, 0, &flags) == 1 && flags == 0 && first[0] == 'i', "it is cut");
    errno = 0;
    reweave_check(receives(2, MSG_DONTWAIT, &flags) == -1 && errno == EAGAIN, "there is another one");
    close(ends[0]);
    reweave_check(receives(2, 0, &flags) == 0, "it has no end");
    close(ends[1]);
    reweave_check(sends("a", "b") == -1 && errno == EBADF, "it is open");
}
