// A descriptor is closed while another thread waits for it. The operating system goes on waiting for what it was open on: a deadlock, which the
// model does not have. Who comes later finds it closed.
#include <poll.h>
#include <pthread.h>
#include <reweave.h>
#include <unistd.h>

static int ends[2];

static void *start(void *unused) {
    struct pollfd entry = {ends[0], POLLIN, 0};
    reweave_check(poll(&entry, 1, -1) == 1, "nothing is ready");
    return unused;
}

int main(void) {
    reweave_check(pipe(ends) == 0, "there is no pipe");
    pthread_t thread;
    pthread_create(&thread, 0, start, 0);
    close(ends[0]);
    pthread_join(thread, 0);
    close(ends[1]);
}
