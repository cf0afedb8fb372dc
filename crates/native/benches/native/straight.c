// Plain code while another thread is there: what hooks cost.
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stddef.h>

#ifndef KERNEL
#define KERNEL sort
#endif

enum { SIZE = 1 << 14, ROUNDS = 40 };
static uint32_t numbers[SIZE];
static atomic_int ready;

static void fill(void) {
    uint32_t seed = 12345;
    for (int i = 0; i < SIZE; i++)
        numbers[i] = seed = seed * 1664525 + 1013904223;
}

// Shell sort: loads, stores and comparisons that depend on each other.
static uint32_t sort(void) {
    fill();
    for (int gap = SIZE / 2; gap > 0; gap /= 2)
        for (int i = gap; i < SIZE; i++) {
            uint32_t moved = numbers[i];
            int at = i;
            for (; at >= gap && numbers[at - gap] > moved; at -= gap)
                numbers[at] = numbers[at - gap];
            numbers[at] = moved;
        }
    return numbers[SIZE / 2];
}

struct node { struct node *left, *right; uint32_t key; };
static struct node nodes[SIZE];

// A search tree: pointers, calls.
static uint32_t tree(void) {
    fill();
    struct node *root = NULL;
    uint32_t depth = 0;
    for (int i = 0; i < SIZE; i++) {
        nodes[i] = (struct node){NULL, NULL, numbers[i]};
        struct node **place = &root;
        while (*place) {
            place = (*place)->key > numbers[i] ? &(*place)->left : &(*place)->right;
            depth++;
        }
        *place = &nodes[i];
    }
    return depth;
}

// A checksum with a table: bytes.
static uint32_t checksum(void) {
    static uint32_t table[256];
    fill();
    for (uint32_t i = 0; i < 256; i++) {
        uint32_t rest = i;
        for (int bit = 0; bit < 8; bit++)
            rest = rest & 1 ? rest >> 1 ^ 0xedb88320 : rest >> 1;
        table[i] = rest;
    }
    uint32_t sum = ~0u;
    const unsigned char *bytes = (const unsigned char *)numbers;
    for (int round = 0; round < 4; round++)
        for (size_t i = 0; i < sizeof numbers; i++)
            sum = table[(sum ^ bytes[i]) & 255] ^ sum >> 8;
    return sum;
}

static void *waits(void *unused) {
    atomic_load(&ready);
    return unused;
}

int main(void) {
    pthread_t other;
    pthread_create(&other, NULL, waits, NULL);
    uint32_t result = 0;
    for (int round = 0; round < ROUNDS; round++)
        result += KERNEL();
    atomic_store(&ready, (int)(result | 1));
    pthread_join(other, NULL);
    return 0;
}
