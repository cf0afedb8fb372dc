// What the calls on an epoll return, as they do without the checker.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <reweave.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#define fails(call, error) (errno = 0, (call) == -1 && errno == (error))

static struct epoll_event got[4];
static int pipes[2][2], epfd;

static int control(int operation, int fd, unsigned events) {
    struct epoll_event event = {.events = events, .data.fd = fd};
    return epoll_ctl(epfd, operation, fd, &event);
}

/* What is ready: how many, and the first one. */
static int ready(int fd, unsigned events) {
    int count = epoll_wait(epfd, got, 4, 0);
    if (count > 0)
        reweave_check(got[0].data.fd == fd && got[0].events == events, "something else is ready");
    return count;
}

static void level(void) {
    int in = pipes[0][0], out = pipes[0][1];
    char text[8];
    reweave_check(control(EPOLL_CTL_ADD, in, EPOLLIN) == 0, "it cannot be added");
    reweave_check(fails(control(EPOLL_CTL_ADD, in, EPOLLIN), EEXIST), "it is added twice");
    reweave_check(ready(in, 0) == 0, "it is ready");
    write(out, "ab", 2);
    reweave_check(ready(in, EPOLLIN) == 1 && ready(in, EPOLLIN) == 1, "it is not ready still");
    read(in, text, 8);
    reweave_check(ready(in, 0) == 0, "it is ready");
    reweave_check(control(EPOLL_CTL_MOD, in, EPOLLIN | EPOLLRDHUP) == 0, "it cannot be changed");
    reweave_check(control(EPOLL_CTL_DEL, in, 0) == 0, "it cannot be removed");
    reweave_check(fails(control(EPOLL_CTL_DEL, in, 0), ENOENT), "it is still there");
    reweave_check(fails(control(EPOLL_CTL_MOD, in, 0), ENOENT), "it is still there");
    write(out, "ab", 2);
    reweave_check(ready(in, 0) == 0, "it is watched");
    read(in, text, 8);
}

static void edge(void) {
    int in = pipes[0][0], out = pipes[0][1];
    char text[8];
    write(out, "a", 1);
    reweave_check(control(EPOLL_CTL_ADD, in, EPOLLIN | EPOLLET) == 0, "it cannot be added");
    reweave_check(ready(in, EPOLLIN) == 1 && ready(in, 0) == 0, "it is ready twice");
    write(out, "b", 1);
    write(out, "c", 1);
    reweave_check(ready(in, EPOLLIN) == 1 && ready(in, 0) == 0, "it is ready twice");
    read(in, text, 1);
    reweave_check(ready(in, 0) == 0, "it is ready again");
    reweave_check(control(EPOLL_CTL_MOD, in, EPOLLIN | EPOLLET) == 0 && ready(in, EPOLLIN) == 1, "it is not seen");
    reweave_check(control(EPOLL_CTL_MOD, in, EPOLLIN | EPOLLONESHOT) == 0 && ready(in, EPOLLIN) == 1, "it is not seen");
    write(out, "d", 1);
    reweave_check(ready(in, 0) == 0, "it is seen more than once");
    reweave_check(control(EPOLL_CTL_MOD, in, EPOLLIN | EPOLLONESHOT) == 0 && ready(in, EPOLLIN) == 1, "it is not seen");
    read(in, text, 8);
    control(EPOLL_CTL_DEL, in, 0);
}

/* In the order in which they came, and from the one on that was left out. */
static void order(void) {
    char text[8];
    int first = pipes[0][0], second = pipes[1][0];
    control(EPOLL_CTL_ADD, first, EPOLLIN);
    control(EPOLL_CTL_ADD, second, EPOLLIN);
    write(pipes[1][1], "a", 1);
    write(pipes[0][1], "a", 1);
    reweave_check(epoll_wait(epfd, got, 4, 0) == 2 && got[0].data.fd == second, "another one came first");
    reweave_check(epoll_wait(epfd, got, 1, 0) == 1 && got[0].data.fd == second, "another one is first");
    reweave_check(epoll_wait(epfd, got, 1, 0) == 1 && got[0].data.fd == first, "it is first again");
    reweave_check(epoll_wait(epfd, got, 1, 0) == 1 && got[0].data.fd == second, "it is not first again");
    read(first, text, 8);
    read(second, text, 8);
    /* What is closed is not watched any more. */
    write(pipes[1][1], "a", 1);
    close(second);
    reweave_check(ready(first, 0) == 0, "it is watched");
    close(pipes[0][1]);
    reweave_check(ready(first, EPOLLHUP) == 1, "it has no end");
}

static void others(void) {
    int counter = eventfd(0, EFD_NONBLOCK), ends[2];
    eventfd_t count;
    reweave_check(control(EPOLL_CTL_ADD, counter, EPOLLIN | EPOLLOUT) == 0, "it cannot be added");
    reweave_check(control(EPOLL_CTL_DEL, pipes[0][0], 0) == 0, "it was not there");
    reweave_check(ready(counter, EPOLLOUT) == 1, "it is full");
    eventfd_write(counter, 1);
    reweave_check(ready(counter, EPOLLIN | EPOLLOUT) == 1, "it is empty");
    eventfd_read(counter, &count);
    reweave_check(ready(counter, EPOLLOUT) == 1, "it is not empty");
    close(counter);
    socketpair(AF_UNIX, SOCK_STREAM, 0, ends);
    reweave_check(control(EPOLL_CTL_ADD, ends[0], EPOLLIN | EPOLLRDHUP | EPOLLET) == 0, "it cannot be added");
    reweave_check(ready(ends[0], 0) == 0, "it is ready");
    shutdown(ends[1], SHUT_WR);
    reweave_check(ready(ends[0], EPOLLIN | EPOLLRDHUP) == 1 && ready(ends[0], 0) == 0, "it has no end");
    close(ends[1]);
    reweave_check(ready(ends[0], EPOLLIN | EPOLLRDHUP | EPOLLHUP) == 1, "it is open");
}

int main(void) {
    epfd = epoll_create1(EPOLL_CLOEXEC);
    reweave_check(epfd >= 0 && fails(epoll_create(0), EINVAL), "there is none");
    reweave_check(fails(epoll_wait(epfd, got, 0, 0), EINVAL) && fails(epoll_wait(99, got, 1, 0), EBADF), "it is one");
    reweave_check(fails(control(EPOLL_CTL_ADD, 99, EPOLLIN), EBADF), "it is open");
    pipe(pipes[0]);
    pipe(pipes[1]);
    reweave_check(fails(epoll_wait(pipes[0][0], got, 1, 0), EINVAL), "a pipe is one");
    int file = open("epoll-file", O_RDWR | O_CREAT, 0600);
    reweave_check(fails(control(EPOLL_CTL_ADD, file, EPOLLIN), EPERM), "a file is watched");
    level();
    edge();
    order();
    others();
    close(epfd);
}
