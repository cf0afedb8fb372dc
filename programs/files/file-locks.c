// Locks of files that belong to what `open` made: threads with descriptors of their own exclude each other. Those of the process do not keep its threads apart.
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <reweave.h>
#include <stdlib.h>
#include <sys/file.h>
#include <unistd.h>

static char name[] = "reweave-XXXXXX";
static char second[] = "reweave-XXXXXX";
// Not known to this file alone: `flock` is declared not to call back, and compilers would keep what others count.
int count;

static int opened(const char *file) {
    int own = open(file, O_RDWR);
    reweave_check(own >= 0, "it cannot be opened");
    return own;
}

#if defined(OWN) || defined(PROCESS)
// By `fcntl`, all of it, wherever that ends.
static void set(int own, int what, short type) {
    struct flock lock = {.l_type = type, .l_whence = SEEK_SET};
    reweave_check(fcntl(own, what, &lock) == 0, "it cannot be locked");
}
#endif

static void *counts(void *unused) {
    int own = opened(name);
#if defined(SHARED)
    flock(own, LOCK_SH);
#elif defined(TRIES)
    reweave_check(flock(own, LOCK_EX | LOCK_NB) == 0, "another has it"); // <-
#elif defined(OWN)
    set(own, F_OFD_SETLKW, F_WRLCK);
#elif defined(PROCESS)
    set(own, F_SETLKW, F_WRLCK);
    lockf(own, F_LOCK, 0);
#else
    reweave_check(flock(own, LOCK_EX) == 0, "it cannot be locked");
#endif
    int before = count; // <-
#ifdef UPGRADES
    // Not at once: who waits may come first.
    flock(own, LOCK_SH);
    before = count;
    flock(own, LOCK_EX);
    reweave_check(before == count, "another came in between"); // <-
#endif
    count = before + 1; // <-
#if defined(CLOSES)
    int other = dup(own);
    close(own);
    count += 0; // The other one still has it.
    own = other;
#elif defined(OWN)
    set(own, F_OFD_SETLK, F_UNLCK);
#elif defined(PROCESS)
    set(own, F_SETLK, F_UNLCK);
#else
    flock(own, LOCK_UN);
#endif
    close(own);
    return unused;
}

// In the other order.
static void *stuck(void *unused) {
    int one = opened(second), other = opened(name);
    flock(one, LOCK_EX);
    flock(other, LOCK_EX); // <-
    close(one);
    close(other);
    return unused;
}

static int made(char *file) {
    int new = mkstemp(file);
    reweave_check(new >= 0, "it cannot be made");
    return new;
}

int main(void) {
    int file = made(name), last = made(second);
    void *(*start)(void *) = counts;
#ifdef STUCK
    start = stuck;
#endif
    pthread_t thread;
    pthread_create(&thread, 0, start, 0);
    if (start == stuck) {
        flock(file, LOCK_EX);
        flock(last, LOCK_SH); // <-
        flock(file, LOCK_UN);
        flock(last, LOCK_UN);
    } else {
        start(0);
    }
    pthread_join(thread, 0);
#ifndef UPGRADES
    reweave_check(start == stuck || count == 2, "one was lost");
#endif
    close(file);
    close(last);
    unlink(name);
    unlink(second);
}
