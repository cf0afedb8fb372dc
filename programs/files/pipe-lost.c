// The last reader leaves while another thread still writes: SIGPIPE ends the process.
#include <pthread.h>
#include <signal.h>
#include <unistd.h>

static int ends[2];

static void *writer(void *unused) {
    write(ends[1], "x", 1); // <- nobody reads any more
    return unused;
}

int main(void) {
    pthread_t thread;
#ifdef FIXED
    signal(SIGPIPE, SIG_IGN);
#endif
    pipe(ends);
    pthread_create(&thread, NULL, writer, NULL);
    close(ends[0]);
    pthread_join(thread, NULL);
}
