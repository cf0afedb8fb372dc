// A call that is not under control ends the thread there, and the search says so; the others go on.
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#ifndef CALL
#define CALL system("true")
#endif

static int ends[2];
static char bytes[64];

static void *start(void *unused) {
    (void)ends;
    (void)bytes;
    if (CALL)
        return unused;
    abort();
}

int main(void) {
    pthread_t thread;
    pthread_create(&thread, 0, start, 0);
    pthread_join(thread, 0);
}
