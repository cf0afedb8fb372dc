// Each thread polls for what the other one writes only then.
#include <poll.h>
#include <pthread.h>
#include <sys/socket.h>
#include <unistd.h>

static int ends[2];

static void *exchange(void *end) {
    char text;
    struct pollfd entry = {*(int *)end, POLLIN, 0};
#ifdef FIXED
    write(entry.fd, "x", 1);
#endif
    poll(&entry, 1, -1); // <-
#ifndef FIXED
    write(entry.fd, "x", 1);
#endif
    read(entry.fd, &text, 1);
    return NULL;
}

int main(void) {
    pthread_t thread;
    socketpair(AF_UNIX, SOCK_STREAM, 0, ends);
    pthread_create(&thread, NULL, exchange, &ends[1]);
    exchange(&ends[0]);
    pthread_join(thread, NULL);
}
