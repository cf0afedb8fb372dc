// The threads of C11.
#include <reweave.h>
#include <threads.h>

#define CHECK(claim) reweave_check(claim, #claim)

static mtx_t mutex, recursive;
static cnd_t ready;
static once_flag once = ONCE_FLAG_INIT;
static tss_t key;
static int inits, counter, destroyed;

static void init(void) { inits++; }

static void destroy(void *value) { destroyed += value == &counter; }

static int start(void *argument) {
    call_once(&once, init);
    CHECK(tss_get(key) == 0 && tss_set(key, argument) == thrd_success);
    mtx_lock(&mutex);
    counter++;
    cnd_signal(&ready);
    CHECK(mtx_unlock(&mutex) == thrd_success);
    thrd_exit(7);
}

int main(void) {
    thrd_t thread;
    int result;
    CHECK(mtx_init(&mutex, mtx_timed) == thrd_success && mtx_init(&recursive, mtx_recursive) == thrd_success);
    CHECK(cnd_init(&ready) == thrd_success && tss_create(&key, destroy) == thrd_success);
    CHECK(mtx_lock(&recursive) == thrd_success && mtx_trylock(&recursive) == thrd_success);
    CHECK(mtx_unlock(&recursive) == thrd_success && mtx_unlock(&recursive) == thrd_success);
    CHECK(thrd_create(&thread, start, &counter) == thrd_success);
    CHECK(!thrd_equal(thread, thrd_current()));
    mtx_lock(&mutex);
    while (counter == 0)
        CHECK(cnd_wait(&ready, &mutex) == thrd_success);
    CHECK(mtx_trylock(&mutex) == thrd_busy);
    mtx_unlock(&mutex);
    CHECK(thrd_join(thread, &result) == thrd_success && result == 7);
    CHECK(inits == 1 && destroyed == 1);
    mtx_destroy(&mutex);
    mtx_destroy(&recursive);
    cnd_destroy(&ready);
}
