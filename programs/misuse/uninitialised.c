// A lock in allocated memory that nobody has initialised.
#include <pthread.h>
#include <stdlib.h>

struct account {
    pthread_mutex_t lock;
    int balance;
};

static void *pay_in(void *arg) {
    struct account *account = arg;
    pthread_mutex_lock(&account->lock); // <- what is in it is whatever was there
    account->balance++;
    pthread_mutex_unlock(&account->lock);
    return NULL;
}

int main(void) {
    struct account *account = malloc(sizeof *account);
    account->balance = 0;
    pthread_t thread;
    pthread_create(&thread, NULL, pay_in, account);
    pthread_join(thread, NULL);
    free(account);
    return 0;
}
