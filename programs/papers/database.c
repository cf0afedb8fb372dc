// The database of Inspect's Fig. 3: operations of class A may run together, and so may operations of class B, but never an A beside a B.
// The first of a class takes `room` for it and the last gives it back, all under `counts`. Who waits for the room keeps `counts`, and then
// nobody can leave: a deadlock.
#include <pthread.h>
#include <stddef.h>

static pthread_mutex_t counts = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t room = PTHREAD_MUTEX_INITIALIZER;
static int a_inside, b_inside;

static void enter(int *inside) {
    pthread_mutex_lock(&counts);
    if (++*inside == 1)
        pthread_mutex_lock(&room); // <- the second class waits for the room
    pthread_mutex_unlock(&counts);
}

static void leave(int *inside) {
    pthread_mutex_lock(&counts); // <- the first class cannot leave
    if (--*inside == 0)
        pthread_mutex_unlock(&room);
    pthread_mutex_unlock(&counts);
}

static void *operation(void *inside) {
    enter(inside);
    leave(inside);
    return NULL;
}

int main(void) {
    pthread_t a, b;
    pthread_create(&a, NULL, operation, &a_inside);
    pthread_create(&b, NULL, operation, &b_inside);
    pthread_join(a, NULL); // <- nor does anybody come to an end
    pthread_join(b, NULL); // <-
    return 0;
}
