// uninitialised.c put right.
#include <pthread.h>
#include <stdlib.h>

struct account {
    pthread_mutex_t lock;
    int balance;
};

static void *pay_in(void *arg) {
    struct account *account = arg;
    pthread_mutex_lock(&account->lock);
    account->balance++;
    pthread_mutex_unlock(&account->lock);
    return NULL;
}

int main(void) {
    struct account *account = malloc(sizeof *account);
    pthread_mutex_init(&account->lock, NULL);
    account->balance = 0;
    pthread_t thread;
    pthread_create(&thread, NULL, pay_in, account);
    pthread_join(thread, NULL);
    pthread_mutex_destroy(&account->lock);
    free(account);
    return 0;
}
