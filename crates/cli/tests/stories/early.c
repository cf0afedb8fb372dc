/* An early return keeps the lock. */
#include <pthread.h>
#include <stdbool.h>

static pthread_mutex_t table_lock = PTHREAD_MUTEX_INITIALIZER;
static int used;

static void table_acquire(void) { pthread_mutex_lock(&table_lock); }
static void table_release(void) { pthread_mutex_unlock(&table_lock); }

static bool insert(int limit) {
    table_acquire();
    if (used == limit)
        return false;
    used++;
    table_release();
    return true;
}

static void *fill(void *arg) {
    insert(1);
    insert(1);
    return arg;
}

int main(void) {
    pthread_t first, second;
    pthread_create(&first, NULL, fill, NULL);
    pthread_create(&second, NULL, fill, NULL);
    pthread_join(first, NULL);
    pthread_join(second, NULL);
    return 0;
}
