// Memory that a run changes and the next must find as it was: initialised and zeroed statics, statics of a function, the heap.
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

static int zeroed, set = 5;
static atomic_int turns;
static char *kept;

static void *work(void *arg) {
    (void)arg;
    static int calls;
    if (atomic_fetch_add(&turns, 1) == 1)
        assert(++calls == 1);
    return NULL;
}

int main(void) {
    assert(zeroed++ == 0 && set++ == 5 && kept == NULL);
    kept = malloc(8);
    strcpy(kept, "abc");
    pthread_t a, b;
    pthread_create(&a, NULL, work, NULL);
    pthread_create(&b, NULL, work, NULL);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    assert(strcmp(kept, "abc") == 0);
    free(kept);
    return 0;
}
