// pfscan: a parallel file scanner. main puts the names of FILES files into a bounded queue and closes it; WORKERS threads take them out,
// count matches and say when they are done. From the SDPOR paper, Table 1, and Inspect, Table 2 (there two files, and 3, 4 and 5 threads
// with main). The files lie in memory, and the workers are joined in the end.
#include <assert.h>
#include <pthread.h>
#include <stddef.h>
#include <string.h>

#ifndef WORKERS
#define WORKERS 2
#endif
#ifndef FILES
#define FILES 2
#endif
#ifndef SIZE
#define SIZE 4
#endif

struct queue {
    const char *items[SIZE];
    int used, next_in, next_out, closed;
    pthread_mutex_t lock;
    pthread_cond_t more, less;
};

static struct queue queue = {
    .lock = PTHREAD_MUTEX_INITIALIZER, .more = PTHREAD_COND_INITIALIZER, .less = PTHREAD_COND_INITIALIZER};
static pthread_mutex_t matches_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t active_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t none_active = PTHREAD_COND_INITIALIZER;
static int active = WORKERS;
static int matches;

static void put(const char *item) {
    pthread_mutex_lock(&queue.lock);
    while (queue.used == SIZE)
        pthread_cond_wait(&queue.less, &queue.lock);
    queue.items[queue.next_in] = item;
    queue.next_in = (queue.next_in + 1) % SIZE;
    queue.used++;
    pthread_mutex_unlock(&queue.lock);
    pthread_cond_signal(&queue.more);
}

static void close_queue(void) {
    pthread_mutex_lock(&queue.lock);
    queue.closed = 1;
    pthread_mutex_unlock(&queue.lock);
    pthread_cond_broadcast(&queue.more);
}

static const char *get(void) {
    const char *item = NULL;
    pthread_mutex_lock(&queue.lock);
    while (queue.used == 0 && !queue.closed)
        pthread_cond_wait(&queue.more, &queue.lock);
    if (queue.used > 0) {
        item = queue.items[queue.next_out];
        queue.next_out = (queue.next_out + 1) % SIZE;
        queue.used--;
        pthread_cond_signal(&queue.less);
    }
    pthread_mutex_unlock(&queue.lock);
    return item;
}

static void scan(const char *text) {
    int found = 0;
    for (; *text != 0; text++)
        found += *text == 'x';
    if (found > 0) {
        pthread_mutex_lock(&matches_lock);
        matches += found;
        pthread_mutex_unlock(&matches_lock);
    }
}

static void *work(void *unused) {
    (void)unused;
    const char *text;
    while ((text = get()) != NULL)
        scan(text);
    pthread_mutex_lock(&active_lock);
    if (--active == 0)
        pthread_cond_signal(&none_active);
    pthread_mutex_unlock(&active_lock);
    return NULL;
}

int main(void) {
    static const char *const files[] = {"ax", "xbx", "c", "xd"};
    pthread_t workers[WORKERS];
    for (int i = 0; i < WORKERS; i++)
        pthread_create(&workers[i], NULL, work, NULL);
    for (int i = 0; i < FILES; i++)
        put(files[i]);
    close_queue();
    pthread_mutex_lock(&active_lock);
    while (active > 0)
        pthread_cond_wait(&none_active, &active_lock);
    pthread_mutex_unlock(&active_lock);
    for (int i = 0; i < WORKERS; i++)
        pthread_join(workers[i], NULL);
    assert(matches == (FILES > 1 ? 3 : 1));
    return 0;
}
