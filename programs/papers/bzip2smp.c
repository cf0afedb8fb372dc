// bzip2smp: a compressor with several threads. main reads BLOCKS blocks and hands them out in order; WORKERS threads compress them; a
// writer puts the results down in the order of the blocks. After the SDPOR paper, Table 1 (there 4, 5 and 6 threads, and a file of one
// megabyte). Blocks are small here, and copied in and out under the lock.
#include <assert.h>
#include <pthread.h>
#include <stddef.h>

#ifndef WORKERS
#define WORKERS 2
#endif
#ifndef BLOCKS
#define BLOCKS 2
#endif

enum { LENGTH = 4 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t block_read = PTHREAD_COND_INITIALIZER;
static pthread_cond_t block_coded = PTHREAD_COND_INITIALIZER;
static char blocks[BLOCKS][LENGTH];
static int coded[BLOCKS];
static int blocks_read, blocks_taken;
static long checksum;

// The length of a block with runs of one character written once.
static int code(const char *block) {
    int length = 1;
    for (int i = 1; i < LENGTH; i++)
        length += block[i] != block[i - 1];
    return length;
}

static void *compress(void *unused) {
    (void)unused;
    for (;;) {
        char block[LENGTH];
        pthread_mutex_lock(&lock);
        while (blocks_taken == blocks_read && blocks_taken < BLOCKS)
            pthread_cond_wait(&block_read, &lock);
        if (blocks_taken == BLOCKS) {
            pthread_mutex_unlock(&lock);
            return NULL;
        }
        int number = blocks_taken++;
        for (int i = 0; i < LENGTH; i++)
            block[i] = blocks[number][i];
        pthread_mutex_unlock(&lock);
        int length = code(block);
        pthread_mutex_lock(&lock);
        coded[number] = length;
        pthread_cond_signal(&block_coded);
        pthread_mutex_unlock(&lock);
    }
}

static void *write_down(void *unused) {
    (void)unused;
    for (int number = 0; number < BLOCKS; number++) {
        pthread_mutex_lock(&lock);
        while (coded[number] == 0)
            pthread_cond_wait(&block_coded, &lock);
        checksum = checksum * 10 + coded[number];
        pthread_mutex_unlock(&lock);
    }
    return NULL;
}

int main(void) {
    pthread_t workers[WORKERS], writer;
    pthread_create(&writer, NULL, write_down, NULL);
    for (int i = 0; i < WORKERS; i++)
        pthread_create(&workers[i], NULL, compress, NULL);
    for (int number = 0; number < BLOCKS; number++) {
        pthread_mutex_lock(&lock);
        for (int i = 0; i < LENGTH; i++)
            blocks[number][i] = i <= number ? 'a' : 'b';
        blocks_read++;
        pthread_cond_broadcast(&block_read);
        pthread_mutex_unlock(&lock);
    }
    pthread_join(writer, NULL);
    for (int i = 0; i < WORKERS; i++)
        pthread_join(workers[i], NULL);
    assert(checksum == (BLOCKS == 1 ? 2 : BLOCKS == 2 ? 22 : 222));
    return 0;
}
