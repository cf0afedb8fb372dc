/* What libraries map for themselves stays behind, and the next run gets a process of its own. */
#define _GNU_SOURCE
#include <assert.h>
#include <locale.h>
#include <pthread.h>
#include <pwd.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>

static atomic_int turns;

static void *counts(void *unused) {
    atomic_fetch_add(&turns, 1);
    return unused;
}

int main(void) {
    pthread_t one, other;
    assert(getenv("TURN") == NULL);
    setenv("TURN", "1", 1);
    setlocale(LC_ALL, "C.UTF-8");
    getpwuid(0);
    pthread_create(&one, NULL, counts, NULL);
    pthread_create(&other, NULL, counts, NULL);
    pthread_join(one, NULL);
    pthread_join(other, NULL);
    return 0;
}
