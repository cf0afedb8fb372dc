// A thread polls with a time limit, again and again, until something comes.
#include <poll.h>
#include <pthread.h>
#include <reweave.h>
#include <unistd.h>

static int ends[2];

static void *writer(void *unused) {
    write(ends[1], "x", 1);
    return unused;
}

int main(void) {
    pthread_t thread;
    pipe(ends);
    pthread_create(&thread, NULL, writer, NULL);
    struct pollfd entry = {ends[0], POLLIN, 0};
#ifdef ONCE
    reweave_check(poll(&entry, 1, 100) == 1, "the time is over"); // <-
#elif defined TWICE
    if (poll(&entry, 1, 100) == 0)
        reweave_check(poll(&entry, 1, 100) == 1, "the time is over again"); // <-
#else
    while (poll(&entry, 1, 100) == 0)
        ;
    reweave_check(entry.revents == POLLIN, "something else came");
#endif
    pthread_join(thread, NULL);
}
