// fsbench: how the Frangipani file system hands out disk blocks. N threads each pick an inode and, when it has no block yet, search
// for a free one, with one lock an inode and one lock a block. With up to 13 threads nobody meets anybody; each further thread
// begins its search at the block of one that came before. From Inspect, Table 1; its threads are those beside main.
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifndef N
#define N 16
#endif

enum { INODES = 32, BLOCKS = 26 };

static pthread_mutex_t inode_lock[INODES] = {[0 ... INODES - 1] = PTHREAD_MUTEX_INITIALIZER};
static pthread_mutex_t block_lock[BLOCKS] = {[0 ... BLOCKS - 1] = PTHREAD_MUTEX_INITIALIZER};
static int block_of[INODES]; // 0: none; else the block's number plus one
static bool taken[BLOCKS];

static bool take(int block) {
    pthread_mutex_lock(&block_lock[block]);
    bool was_free = !taken[block];
    taken[block] = true;
    pthread_mutex_unlock(&block_lock[block]);
    return was_free;
}

static void *create_file(void *arg) {
    int inode = (int)(intptr_t)arg % INODES;
    pthread_mutex_lock(&inode_lock[inode]);
    if (block_of[inode] == 0) {
        int block = inode * 2 % BLOCKS;
        while (!take(block))
            block = (block + 1) % BLOCKS;
        block_of[inode] = block + 1;
    }
    pthread_mutex_unlock(&inode_lock[inode]);
    return NULL;
}

int main(void) {
    pthread_t threads[N];
    for (int i = 0; i < N; i++)
        pthread_create(&threads[i], NULL, create_file, (void *)(intptr_t)i);
    for (int i = 0; i < N; i++)
        pthread_join(threads[i], NULL);
    return 0;
}
