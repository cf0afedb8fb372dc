/* Where the process is, its mask and what it does about a signal are everybody's: each order is explored. The environment is too, without protection. */
#define _GNU_SOURCE
#include <assert.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static void *changes(void *unused) {
    (void)unused;
#if defined(DIRECTORY)
    assert(chdir("/") == 0);
#elif defined(MASK)
    umask(077);
#else
    setenv("REWEAVE_CORPUS", "set", 1); /* <- */
    signal(SIGUSR1, SIG_IGN);
#endif
    return NULL;
}

int main(void) {
    pthread_t thread;
    umask(022);
    signal(SIGUSR1, SIG_DFL);
    pthread_create(&thread, NULL, changes, NULL);
#if defined(DIRECTORY)
    char here[4096];
    assert(getcwd(here, sizeof here) && strcmp(here, "/") != 0); /* <- */
#elif defined(MASK)
    struct stat made;
    close(open("mask.tmp", O_WRONLY | O_CREAT, 0666));
    assert(stat("mask.tmp", &made) == 0 && (made.st_mode & 0777) == 0644); /* <- */
#elif defined(ENVIRONMENT)
    assert(!getenv("REWEAVE_CORPUS")); /* <- */
#elif defined(SIGNAL)
    raise(SIGUSR1); /* <- */
#endif
    pthread_join(thread, NULL);
    return 0;
}
