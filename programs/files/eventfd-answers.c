// What the calls on an eventfd return, as they do without the checker.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <reweave.h>
#include <stdint.h>
#include <sys/eventfd.h>
#include <sys/uio.h>
#include <unistd.h>

#define fails(call, error) (errno = 0, (call) == -1 && errno == (error))

static const uint64_t most = 0xfffffffffffffffe;

static void reads_and_writes(void) {
    int counter = eventfd(3, EFD_NONBLOCK | EFD_CLOEXEC);
    reweave_check(fcntl(counter, F_GETFD) == FD_CLOEXEC, "it is not closed on exec");
    reweave_check(fcntl(counter, F_GETFL) & O_NONBLOCK, "it waits");
    uint64_t value = 4;
    reweave_check(write(counter, &value, sizeof value) == sizeof value, "nothing is written");
    uint64_t larger[2] = {0, 5};
    reweave_check(read(counter, larger, sizeof larger) == sizeof value, "more is read than there is");
    reweave_check(larger[0] == 7 && larger[1] == 5, "something else is read");
    reweave_check(fails(read(counter, &value, sizeof value), EAGAIN), "there is more");
    value = 0;
    reweave_check(write(counter, &value, sizeof value) == sizeof value, "zero is not written");
    reweave_check(fails(read(counter, &value, sizeof value), EAGAIN), "zero is something");
    reweave_check(fails(read(counter, &value, 7), EINVAL), "seven bytes are read");
    reweave_check(fails(write(counter, &value, 7), EINVAL), "seven bytes are written");
    reweave_check(fails(pread(counter, &value, 8, 0), ESPIPE), "it has places");
    reweave_check(fails(pwrite(counter, &value, 8, 0), ESPIPE), "it has places");
    reweave_check(eventfd_write(counter, most) == 0, "there is no room");
    reweave_check(fails(eventfd_write(counter, 1), EAGAIN), "there is more room");
    reweave_check(fails(eventfd_write(counter, most + 1), EINVAL), "there is a larger number");
    uint32_t low = 1, high = 1;
    struct iovec parts[] = {{&low, sizeof low}, {&high, sizeof high}};
    reweave_check(readv(counter, parts, 2) == 8, "not all is read");
    reweave_check(low == 0xfffffffe && high == 0xffffffff, "something else is read");
    value = 6;
    struct iovec whole = {&value, sizeof value};
    reweave_check(writev(counter, &whole, 1) == 8, "nothing is written");
    reweave_check(readv(counter, &whole, 1) == 8 && value == 6, "something else is read");
    reweave_check(close(counter) == 0, "it was closed");
    reweave_check(fails(read(counter, &value, sizeof value), EBADF), "it is still open");
    reweave_check(fails(eventfd_write(counter, 1), EBADF), "it is still open");
}

static void as_semaphore(void) {
    int counter = eventfd(2, EFD_SEMAPHORE);
    eventfd_t value;
    reweave_check(eventfd_read(counter, &value) == 0 && value == 1, "something else is read");
    reweave_check(fcntl(counter, F_SETFL, O_NONBLOCK) == 0, "it still waits");
    reweave_check(eventfd_read(counter, &value) == 0 && value == 1, "something else is read");
    reweave_check(fails(eventfd_read(counter, &value), EAGAIN), "there is more");
    reweave_check(close(counter) == 0, "it was closed");
}

static void shared(void) {
    int counter = eventfd(0, 0), other = dup(counter);
    reweave_check(fcntl(other, F_SETFL, O_NONBLOCK) == 0, "it still waits");
    reweave_check(eventfd_write(counter, 8) == 0, "nothing is written");
    reweave_check(close(counter) == 0, "it was closed");
    eventfd_t value;
    reweave_check(eventfd_read(other, &value) == 0 && value == 8, "something else is read");
    reweave_check(fails(eventfd_read(other, &value), EAGAIN), "there is more");
    // The number is free for something else.
    int file = open("/dev/null", O_RDWR);
    reweave_check(file == counter && read(file, &value, sizeof value) == 0, "it is an eventfd");
}

int main(void) {
    reweave_check(fails(eventfd(0, 1 << 30), EINVAL), "there is such a flag");
    reads_and_writes();
    as_semaphore();
    shared();
}
