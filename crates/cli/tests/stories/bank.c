/* Two transfers in opposite directions, with locks behind a wrapper. */
#include <pthread.h>
#include <stdlib.h>

typedef struct {
    pthread_mutex_t mutex;
} lock_t;

static void lock_init(lock_t *l) { pthread_mutex_init(&l->mutex, NULL); }
static void lock_enter(lock_t *l) { pthread_mutex_lock(&l->mutex); }
static void lock_leave(lock_t *l) { pthread_mutex_unlock(&l->mutex); }

struct account {
    lock_t guard;
    int balance;
};

static struct account *savings, *checking;

static void transfer(struct account *from, struct account *to, int amount) {
    lock_enter(&from->guard);
    lock_enter(&to->guard);
    from->balance -= amount;
    to->balance += amount;
    lock_leave(&to->guard);
    lock_leave(&from->guard);
}

static void *pay(void *arg) {
    transfer(savings, checking, 10);
    return arg;
}

static void *refund(void *arg) {
    transfer(checking, savings, 20);
    return arg;
}

int main(void) {
    savings = calloc(1, sizeof *savings);
    checking = calloc(1, sizeof *checking);
    lock_init(&savings->guard);
    lock_init(&checking->guard);
    pthread_t first, second;
    pthread_create(&first, NULL, pay, NULL);
    pthread_create(&second, NULL, refund, NULL);
    pthread_join(first, NULL);
    pthread_join(second, NULL);
    return 0;
}
