// What `poll` and `select` return, as they do without the checker.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <reweave.h>
#include <sys/eventfd.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <unistd.h>

#define fails(call, error) (errno = 0, (call) == -1 && errno == (error))

static char block[65536];

static int events(int descriptor, int wanted) {
    struct pollfd entry = {descriptor, wanted, 0};
    return poll(&entry, 1, 0) == 1 ? entry.revents : 0;
}

static void pipes(void) {
    int ends[2];
    pipe(ends);
    reweave_check(events(ends[0], POLLIN) == 0, "there is something to read");
    reweave_check(events(ends[1], POLLOUT) == POLLOUT, "there is no room");
    write(ends[1], block, sizeof block);
    reweave_check(events(ends[0], POLLIN) == POLLIN, "there is nothing to read");
    reweave_check(events(ends[1], POLLOUT) == 0, "there is room");
    close(ends[1]);
    reweave_check(events(ends[0], POLLIN) == (POLLIN | POLLHUP), "the writer is there");
    read(ends[0], block, sizeof block);
    reweave_check(events(ends[0], POLLIN) == POLLHUP, "there is something to read");
    reweave_check(events(ends[1], POLLIN) == POLLNVAL, "it is open");
    close(ends[0]);
    pipe(ends);
    close(ends[0]);
    reweave_check(events(ends[1], POLLOUT) == (POLLOUT | POLLERR), "the reader is there");
    close(ends[1]);
}

static void sockets(void) {
    int ends[2];
    socketpair(AF_UNIX, SOCK_STREAM, 0, ends);
    reweave_check(events(ends[0], POLLIN | POLLOUT) == POLLOUT, "there is something to read");
    send(ends[1], block, 1, 0);
    reweave_check(events(ends[0], POLLIN | POLLOUT) == (POLLIN | POLLOUT), "there is nothing to read");
    recv(ends[0], block, 1, 0);
    shutdown(ends[1], SHUT_WR);
    reweave_check(events(ends[0], POLLIN | POLLRDHUP) == (POLLIN | POLLRDHUP), "it has no end");
    close(ends[1]);
    reweave_check(events(ends[0], POLLIN) == (POLLIN | POLLHUP), "the other one is there");
    close(ends[0]);
}

static void several(void) {
    int ends[2], counter = eventfd(0, 0);
    pipe(ends);
    struct pollfd list[] = {{counter, POLLIN, 0}, {-1, POLLIN, 7}, {ends[0], POLLIN, 0}};
    reweave_check(poll(list, 3, 10) == 0 && list[1].revents == 0, "something is ready");
    write(ends[1], block, 1);
    eventfd_write(counter, 1);
    reweave_check(poll(list, 3, -1) == 2, "they are not ready");
    reweave_check(list[0].revents == POLLIN && list[2].revents == POLLIN, "they are not ready");
    fd_set read, write;
    FD_ZERO(&read);
    FD_ZERO(&write);
    FD_SET(ends[0], &read);
    FD_SET(counter, &read);
    FD_SET(ends[1], &write);
    struct timeval time = {0, 0};
    reweave_check(select(ends[1] + 1, &read, &write, NULL, &time) == 3, "they are not ready");
    eventfd_t value;
    eventfd_read(counter, &value);
    reweave_check(select(ends[1] + 1, &read, NULL, NULL, NULL) == 1, "the counter is ready");
    reweave_check(FD_ISSET(ends[0], &read) && !FD_ISSET(counter, &read), "the counter is ready");
    int closed = dup(counter);
    close(closed);
    FD_SET(closed, &read);
    reweave_check(fails(select(closed + 1, &read, NULL, NULL, &time), EBADF), "it is open");
}

int main(void) {
    pipes();
    sockets();
    several();
}
