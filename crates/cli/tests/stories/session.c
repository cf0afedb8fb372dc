/* A session is freed while its worker still uses it. */
#include <pthread.h>
#include <stdlib.h>

struct session {
    pthread_mutex_t lock;
    int bytes;
    int closed;
};

static void session_lock(struct session *s) { pthread_mutex_lock(&s->lock); }
static void session_unlock(struct session *s) { pthread_mutex_unlock(&s->lock); }

static struct session *current;

static void *worker(void *arg) {
    struct session *session = arg;
    session_lock(session);
    session->bytes += 512;
    session_unlock(session);
    return NULL;
}

static void *reaper(void *arg) {
    struct session *session = arg;
    session_lock(session);
    session->closed = 1;
    session_unlock(session);
    free(session);
    return NULL;
}

int main(void) {
    pthread_t first, second;
    current = calloc(1, sizeof *current);
    pthread_mutex_init(&current->lock, NULL);
    pthread_create(&first, NULL, worker, current);
    pthread_create(&second, NULL, reaper, current);
    pthread_join(first, NULL);
    pthread_join(second, NULL);
    return 0;
}
