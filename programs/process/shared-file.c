/* A parent and its children add to a counter in a file that they map. With APART each process maps it for itself, at another
   address; with SHM it is memory that has a name. With PLAIN the counter is no atomic, with MUTEX it is under a lock in the
   file. With READS the parent reads the file by a call meanwhile. */
#define _GNU_SOURCE
#include <assert.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#ifndef N
#define N 1
#endif

struct shared {
    pthread_mutex_t lock;
#if defined PLAIN || defined MUTEX
    int count;
#else
    atomic_int count;
#endif
};

#ifdef SHM
static const char name[] = "/reweave-counter";
#else
static char name[] = "/tmp/reweave-counter-XXXXXX";
#endif

static struct shared *mapped(int file) {
#ifdef SHM
    int again = shm_open(name, O_RDWR, 0);
#else
    int again = open(name, O_RDWR);
#endif
    assert(again >= 0);
    void *memory = mmap(NULL, sizeof(struct shared), PROT_READ | PROT_WRITE, MAP_SHARED, again, 0);
    assert(memory != MAP_FAILED);
    close(again);
    (void)file;
    return memory;
}

static void add(struct shared *shared) {
#ifdef MUTEX
    pthread_mutex_lock(&shared->lock);
#endif
    ++shared->count; /* <- */
#ifdef MUTEX
    pthread_mutex_unlock(&shared->lock);
#endif
}

int main(void) {
#ifdef SHM
    shm_unlink(name);
    int file = shm_open(name, O_RDWR | O_CREAT | O_EXCL, 0600);
#else
    int file = mkstemp(name);
#endif
    assert(file >= 0 && ftruncate(file, sizeof(struct shared)) == 0);
    struct shared *shared = mapped(file);
    pthread_mutexattr_t attributes;
    pthread_mutexattr_init(&attributes);
    pthread_mutexattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
    pthread_mutex_init(&shared->lock, &attributes);
    pthread_mutexattr_destroy(&attributes);
    pid_t children[N];
    for (int i = 0; i < N; i++) {
        children[i] = fork();
        if (children[i] == 0) {
#ifdef APART
            add(mapped(file));
#else
            add(shared);
#endif
            _exit(0);
        }
    }
#ifdef READS
    char byte;
    assert(read(file, &byte, 1) == 1);
#endif
    add(shared);
    for (int i = 0; i < N; i++)
        assert(waitpid(children[i], NULL, 0) == children[i]);
    assert(shared->count == N + 1);
    pthread_mutex_destroy(&shared->lock);
#ifdef SHM
    shm_unlink(name);
#else
    unlink(name);
#endif
    return 0;
}
