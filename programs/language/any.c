// Every number is tried; a check that fails ends the thread, the others go on.
#include <pthread.h>
#include <reweave.h>
#include <stdatomic.h>

static atomic_int sum;

static void *start(void *unused) {
    unsigned n = reweave_any(3);
    sum += n;
    reweave_check(n != 2, "two is too much"); // <-
    reweave_assume(n > 0);
    sum++;
    return unused;
}

int main(void) {
    pthread_t thread;
    pthread_create(&thread, 0, start, 0);
    sum += 10;
    pthread_join(thread, 0);
    reweave_check(sum == 12, "the sum is wrong");
}
