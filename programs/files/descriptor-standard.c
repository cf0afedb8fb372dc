// The lowest number that is free, beside a thread that opens nothing.
#include <fcntl.h>
#include <pthread.h>
#include <reweave.h>
#include <unistd.h>

static pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER;

static void *start(void *unused) {
    pthread_mutex_lock(&gate);
    pthread_mutex_unlock(&gate);
#ifdef WRITES
    reweave_check(write(1, "x", 1) == 1, "standard output is closed"); // <-
#endif
    return unused;
}

int main(void) {
    pthread_t thread;
    pthread_mutex_lock(&gate);
    pthread_create(&thread, 0, start, 0);
    close(0);
    reweave_check(open("/dev/null", O_RDONLY) == 0, "0 was free");
    int copy = dup(1);
    pthread_mutex_unlock(&gate);
    close(1);
    reweave_check(dup(copy) == 1, "1 was free");
    pthread_join(thread, 0);
}
