#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdint.h>
#include <time.h>

#include "expect.h"

struct node {
    struct node *next;
    int value;
};

typedef struct {
    pthread_mutex_t lock;
    pthread_cond_t filled;
    sem_t slots;
    _Atomic long head;
    atomic_int tail;
    struct node nodes[4];
    union {
        uint64_t both;
        struct {
            uint32_t low, high;
        };
    };
    struct timespec last;
    const volatile char *label;
} queue_t;

queue_t queue;
queue_t *const alias = &queue;
static struct node nodes[3][2];
int counter;
static volatile int flag;
int matrix[3][4];
char text[16] = "text";
unsigned unbounded[];
unsigned unbounded[5] = {1, 2, 3, 4, 5};
_Atomic struct { int a, b; } pair;
struct bits {
    unsigned ready : 1;
    unsigned kind : 3;
    unsigned mode : 4;
    unsigned level : 10;
    int plain;
} bits;
struct packet {
    int length;
    char data[];
} packet = {4, "data"};
struct own {
    int __kept;
    char _Kept;
} own;
union number {
    int32_t whole;
    float part;
    unsigned char bytes[8];
    double real;
} number;
enum color { RED, GREEN } color;
void (*hook)(int);
pthread_mutex_t locks[2];
FILE *stream;
_Thread_local int mine;
static _Thread_local struct node own_node = {0, 1};

__attribute__((noinline)) void other(void);

static void statics(void)
{
    static int count;
    VARIABLE_AS(count, "statics::count");
    {
        static struct node count;
        VARIABLE_AS(count.value, "statics::count.value");
    }
    static _Thread_local char per_thread;
    THREAD_AS(per_thread, "statics::per_thread");
    counter += count;
}

static inline __attribute__((always_inline)) int inlined_static(void)
{
    static int calls;
    VARIABLE_AS(calls, "inlined_static::calls");
    return ++calls;
}

static void objects(void)
{
    VARIABLE(counter);
    VARIABLE(flag);
    VARIABLE(queue);
    VARIABLE(queue.lock);
    access_to(&queue, 1, "queue.lock");
    access_to((char *)&queue.lock + 8, 4, "queue.lock");
    access_to(&queue, 0, "queue.lock");
    VARIABLE(queue.filled);
    VARIABLE(queue.slots);
    VARIABLE(queue.head);
    VARIABLE(queue.tail);
    VARIABLE(queue.nodes);
    VARIABLE(queue.nodes[3].value);
    VARIABLE(queue.nodes[1].next);
    VARIABLE(queue.nodes[1]);
    VARIABLE(queue.both);
    VARIABLE(queue.low);
    VARIABLE(queue.high);
    VARIABLE(queue.last.tv_nsec);
    VARIABLE(queue.label);
    access_to(&queue.head, 12, "queue.{head,tail}");
    access_to(&queue.slots, sizeof queue.slots + 12, "queue.{slots,head,tail}");
    access_to(&queue.slots, sizeof queue.slots + 17, "queue.{slots...nodes}");
    VARIABLE(alias);
    VARIABLE(nodes[2][1].value);
    VARIABLE(nodes[1][0].next);
    VARIABLE(nodes[1]);
    VARIABLE(matrix);
    VARIABLE(matrix[2][3]);
    VARIABLE(matrix[1]);
    access_to(&matrix[1][1], 8, "matrix[1][1...2]");
    access_to(&matrix[1], 32, "matrix[1...2]");
    access_to((char *)&matrix[1][1] + 1, 1, "matrix[1][1]+1");
    VARIABLE(text);
    VARIABLE(text[5]);
    VARIABLE(unbounded[4]);
    VARIABLE(pair);
#ifndef DWARF4 /* which knows nothing of atomic types */
    access_to((char *)&pair + 4, 4, "pair");
#endif
    VARIABLE(bits.plain);
    access_to(&bits, 1, "bits.{ready,kind,mode}");
    access_to(&bits, 4, "bits.{ready...level}");
    access_to((char *)&bits + 2, 1, "bits.level");
    VARIABLE(bits);
    VARIABLE(packet.length);
    VARIABLE(packet.data[3]);
    VARIABLE(own.__kept);
    VARIABLE(own._Kept);
    VARIABLE(own);
    VARIABLE(number.whole);
    VARIABLE(number.real);
    VARIABLE(number.bytes[5]);
    VARIABLE(color);
    VARIABLE(hook);
    VARIABLE(locks[1]);
    VARIABLE(stream);
    access_to((char *)&counter + 2, 1, "counter+2");
    THREAD(mine);
    THREAD(own_node.value);
}

/* Not copied with other parameters, of which nobody would know. */
__attribute__((noinline, noipa)) static int locals(int parameter, struct node by_value)
{
    char buffer[24];
    struct {
        int first;
        pthread_mutex_t lock;
        struct node inner[2];
    } state;
    __asm__ volatile("" : : "r"(buffer), "r"(&state), "r"(&by_value), "r"(&parameter) : "memory");
    LOCAL(buffer);
    LOCAL(buffer[7]);
    LOCAL(state.lock);
    LOCAL(state.inner[1].value);
    LOCAL(parameter);
    LOCAL(by_value.value);
    CFA();
    for (int i = 0; i < 2; i++) {
        int shadow = i;
        __asm__ volatile("" : : "r"(&shadow) : "memory");
        LOCAL(shadow);
        {
            long shadow[2] = {i, i};
            __asm__ volatile("" : : "r"(shadow) : "memory");
            LOCAL(shadow[1]);
        }
    }
    return buffer[0];
}

static inline __attribute__((always_inline)) void inner(void)
{
    int within = counter;
    __asm__ volatile("" : : "r"(&within) : "memory");
    FRAMES("inner middle outer");
    LOCAL(within);
}

static inline __attribute__((always_inline)) void middle(void)
{
    inner();
}

__attribute__((noinline)) static void outer(void)
{
    FRAMES("outer");
    middle();
}

int main(void)
{
    struct node node = {0, 3};
    FRAMES("main");
    outer();
    objects();
    statics();
    inlined_static();
    locals(counter, node);
    other();
    return 0;
}
