// A limit on the size of files might matter to a program that writes some. One on processes might matter to one with threads.
#define _GNU_SOURCE
#include <pthread.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#ifndef THREADS
#define THREADS 0
#endif

static void *nothing(void *unused) {
    return unused;
}

int main(void) {
    struct rlimit limit = {100, 100};
    setrlimit(THREADS ? RLIMIT_NPROC : RLIMIT_FSIZE, &limit);
    if (THREADS) {
        pthread_t thread;
        return pthread_create(&thread, NULL, nothing, NULL) == 0 && pthread_join(thread, NULL) != 0;
    }
    char name[] = "/tmp/limited-XXXXXX";
    int file = mkstemp(name);
    unlink(name);
    return write(file, name, 1) != 1;
}
