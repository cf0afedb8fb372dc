// Many threads open a file each, or some open many: each has numbers of its own, and nobody meets anybody.
#include <fcntl.h>
#include <pthread.h>
#include <reweave.h>
#include <unistd.h>

#ifndef N
#define N 60
#endif
#ifndef FILES
#define FILES 1
#endif

static void *start(void *unused) {
    int files[FILES];
    for (int i = 0; i < FILES; i++) {
        files[i] = open("/dev/null", O_WRONLY);
        reweave_check(write(files[i], "text", 4) == 4, "nothing is written");
    }
    for (int i = 0; i < FILES; i++)
        close(files[i]);
    return unused;
}

int main(void) {
    pthread_t threads[N];
    for (int i = 0; i < N; i++)
        pthread_create(&threads[i], 0, start, 0);
    for (int i = 0; i < N; i++)
        pthread_join(threads[i], 0);
}
