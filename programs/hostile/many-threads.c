/* So many threads at once that most programs never have them. */
#include <pthread.h>
#include <stddef.h>
#ifndef N
#define N 500
#endif

static pthread_t threads[N];

static void *nothing(void *unused) {
    return unused;
}

int main(void) {
    for (int i = 0; i < N; i++)
        if (pthread_create(&threads[i], NULL, nothing, NULL))
            return 1;
    for (int i = 0; i < N; i++)
        pthread_join(threads[i], NULL);
    return 0;
}
