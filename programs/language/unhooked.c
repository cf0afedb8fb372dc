// Accesses for which compilers have no hooks: two threads use one structure, and nothing orders them.
#include <pthread.h>
#include <stdarg.h>
#include <stddef.h>

struct wide {
    long values[6];
};

static struct wide shared = {{1, 2, 3, 4, 5, 6}};
static volatile long sink;

static __attribute__((noinline)) struct wide make(long first) {
    struct wide made = {{first, 0, 0, 0, 0, first}};
    return made;
}

static __attribute__((noinline, unused)) long sum(struct wide given) {
    return given.values[0] + given.values[5];
}

static __attribute__((noinline, unused)) long first_of(int count, ...) {
    va_list list;
    va_start(list, count);
    struct wide given = va_arg(list, struct wide);
    va_end(list);
    return given.values[count];
}

static void *writer(void *unused) {
#if WAY == 0
    shared = make(7); // <-
#elif WAY == 1
    __builtin_memset(&shared, 0, sizeof shared); // <-
#else
    shared.values[0] = 7; // <-
#endif
    return unused;
}

static void *reader(void *unused) {
#if WAY == 2
    sink = sum(shared); // <-
#elif WAY == 3
    sink = first_of(0, shared); // <-
#elif WAY == 4
    struct wide copy;
    __builtin_memcpy(&copy, &shared, sizeof copy); // <-
    sink = copy.values[0];
#elif WAY == 5
    struct wide zero = make(0);
    sink = __builtin_memcmp(&shared, &zero, 8) == 0; // <-
#else
    sink = shared.values[0]; // <-
#endif
    return unused;
}

int main(void) {
    pthread_t threads[2];
    pthread_create(&threads[0], NULL, writer, NULL);
    pthread_create(&threads[1], NULL, reader, NULL);
    pthread_join(threads[0], NULL);
    pthread_join(threads[1], NULL);
    return 0;
}
