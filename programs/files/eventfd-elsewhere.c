// Ways to use an eventfd that are not under control.
#define _GNU_SOURCE
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/eventfd.h>
#include <sys/uio.h>
#include <unistd.h>

static int early;

__attribute__((constructor)) static void before_main(void) { early = eventfd(1, 0); }

static int polled(int counter) {
    struct pollfd wanted = {.fd = counter, .events = POLLIN};
    sigset_t none;
    sigemptyset(&none);
    return ppoll(&wanted, 1, NULL, &none);
}

static int by_stream(int counter) { return fgetc(fdopen(counter, "r")); }

static int by_parts(int counter) {
    uint64_t one = 1;
    struct iovec parts[] = {{&one, sizeof one}, {&one, sizeof one}};
    return writev(counter, parts, 2);
}

static int from_early(int counter) {
    uint64_t value;
    (void)counter;
    return read(early, &value, sizeof value);
}

static int moved(int counter) { return lseek(counter, 0, SEEK_CUR); }

int main(void) {
    (void)polled, (void)by_stream, (void)by_parts, (void)from_early, (void)moved;
    return USE(eventfd(1, 0)) == 77;
}
