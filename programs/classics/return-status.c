// main returns a status of failure when the two threads came in the wrong order.
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

static atomic_int order;
static int position[2];

static void *arrive(void *arg) {
    position[(intptr_t)arg] = atomic_fetch_add(&order, 1);
    return NULL;
}

int main(void) {
    pthread_t a, b;
    pthread_create(&a, NULL, arrive, (void *)(intptr_t)0);
    pthread_create(&b, NULL, arrive, (void *)(intptr_t)1);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    return position[0] < position[1] ? 0 : 1;
}
