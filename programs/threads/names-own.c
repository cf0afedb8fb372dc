// A thread names itself by `prctl` while another one asks for its name; the process goes elsewhere while another thread asks where it is.
#define _GNU_SOURCE
#include <pthread.h>
#include <reweave.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

static void *start(void *unused) {
#ifdef WHERE
    chdir("/");
#else
    char name[16];
    prctl(PR_SET_NAME, "worker");
    prctl(PR_GET_NAME, name);
    reweave_check(strcmp(name, "worker") == 0, "it has another name");
#endif
    return unused;
}

int main(void) {
    pthread_t thread;
    pthread_create(&thread, 0, start, 0);
#ifdef WHERE
    char *where = get_current_dir_name();
    int there = strcmp(where, "/") == 0;
    free(where);
    reweave_check(!there, "it is elsewhere"); // <-
#else
    char name[16];
    pthread_getname_np(thread, name, sizeof name);
    reweave_check(strcmp(name, "worker") != 0, "it has a name"); // <-
#endif
    pthread_join(thread, 0);
}
