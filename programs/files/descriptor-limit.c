// What is opened beside other threads keeps its flags; and a program that opens more than it allows itself is not followed further.
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <reweave.h>
#include <sys/resource.h>
#include <unistd.h>

static void *start(void *unused) {
    int ends[2];
    reweave_check(pipe2(ends, O_CLOEXEC | O_NONBLOCK) == 0, "there is no pipe");
    for (int i = 0; i < 2; i++) {
        reweave_check(fcntl(ends[i], F_GETFD) == FD_CLOEXEC, "it stays open");
        reweave_check(fcntl(ends[i], F_GETFL) & O_NONBLOCK, "it waits");
    }
    reweave_check(pipe(ends) == 0 && fcntl(ends[1], F_GETFD) == 0, "it does not stay open");
    return unused;
}

int main(void) {
    struct rlimit limit;
    getrlimit(RLIMIT_NOFILE, &limit);
    limit.rlim_cur = 100;
    setrlimit(RLIMIT_NOFILE, &limit);
    pthread_t threads[2];
    for (int i = 0; i < 2; i++)
        pthread_create(&threads[i], 0, start, 0);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], 0);
#ifdef MANY
    for (int i = 0; i < 100; i++)
        open("/dev/null", O_RDONLY);
#endif
}
