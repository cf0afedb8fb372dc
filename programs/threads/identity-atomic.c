// The address of a variable on the stack of a thread that was joined is compared with that of a later thread, which may be the same.
#include <pthread.h>
#include <stdatomic.h>

static _Atomic(int *) slot;

static void *publish(void *unused) {
    int own = 0;
    slot = &own;
    return unused;
}

int main(void) {
    int *seen = 0;
    for (int i = 0; i < 2; i++) {
        pthread_t thread;
        pthread_create(&thread, 0, publish, 0);
        pthread_join(thread, 0);
        if (i == 0)
            seen = slot;
    }
    return atomic_compare_exchange_strong(&slot, &seen, 0);
}
