// A thread that is created after another was joined may have its handle. Here it never has, so the search is not complete.
#include <pthread.h>
#include <stdatomic.h>

static pthread_t last;
static int same;

static void *start(void *unused) {
    pthread_t me = pthread_self();
    same |= pthread_equal(last, me);
    last = me;
    return unused;
}

int main(void) {
    for (int i = 0; i < 2; i++) {
        pthread_t thread;
        pthread_create(&thread, 0, start, 0);
        pthread_join(thread, 0);
    }
    return same;
}
