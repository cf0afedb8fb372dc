// A server gives up its privileges, if it has any, before it starts its threads: all of them have given them up.
#define _GNU_SOURCE
#include <assert.h>
#include <grp.h>
#include <pthread.h>
#include <unistd.h>

static uid_t wanted;

static void *serve(void *argument) {
    assert(getuid() == wanted && geteuid() == wanted);
    if (wanted == 1)
        assert(setuid(0) == -1);
    return argument;
}

int main(void) {
    wanted = getuid();
    if (wanted == 0) {
        wanted = 1;
        assert(setgroups(0, NULL) == 0 && setgid(1) == 0 && setuid(1) == 0);
    }
    pthread_t threads[2];
    for (int i = 0; i < 2; i++)
        pthread_create(&threads[i], NULL, serve, NULL);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
}
