//! Families about memory: accesses of different sizes, unaligned ones, structures, and data structures on the heap. As in `families.rs`.

use super::families::{
    Family,
    Place::{Anywhere, Outside},
};

/// Bytes 0 to 3 belong to a thread each, 4 to 11 to a mutex, 12 and 13 are atomic, 14 and 15 nobody's. In the end all are read as one structure.
const MIXED: Family = Family {
    name: "mixed sizes",
    cxx: false,
    globals: "struct Whole { unsigned long low, high; };
struct __attribute__((packed, may_alias)) Odd { char first; unsigned middle; short last; };
struct __attribute__((may_alias)) Bits { unsigned a : 3, b : 11, c : 2; };
static union { unsigned char b[16]; unsigned short h[8]; unsigned w[4]; unsigned long d[2]; struct Whole whole; } mixed;
static pthread_mutex_t mm;
static __attribute__((noinline)) int folded(struct Whole w) { unsigned long all = w.low * 31 + w.high; return (int)(all ^ all >> 32); }
static __attribute__((noinline)) struct Odd odd(int k) { struct Odd o = {(char)k, (unsigned)k << 20 | 5u, (short)(k * 7)}; return o; }",
    setup: "memset(&mixed, 0, sizeof mixed); EXPECT(pthread_mutex_init(&mm, 0));",
    teardown: "REC(folded(mixed.whole)); EXPECT(pthread_mutex_destroy(&mm));",
    steps: &[
        (Anywhere, "delay(); mixed.b[me] += $k; REC(mixed.b[me]);"),
        (Anywhere, "REC(__atomic_fetch_add(&mixed.b[12 + $a], $k, __ATOMIC_SEQ_CST));"),
        (Anywhere, "REC(__atomic_load_n(&mixed.b[12 + $a], __ATOMIC_SEQ_CST));"),
        (Outside, "DO(pthread_mutex_lock(&mm)); { unsigned v; memcpy(&v, mixed.b + 5 + $a, sizeof v); v += 257 * $k; memcpy(mixed.b + 5 + $a, &v, sizeof v); } $i REC(mixed.h[3]); DO(pthread_mutex_unlock(&mm));"),
        (Outside, "DO(pthread_mutex_lock(&mm)); { struct Odd *o = (struct Odd *)(mixed.b + 4 + $a); *o = odd($k); o->last += o->first; } $i REC(mixed.w[1]); DO(pthread_mutex_unlock(&mm));"),
        (Outside, "DO(pthread_mutex_lock(&mm)); { struct Bits *t = (struct Bits *)(mixed.b + 8); t->a++; t->b += 3 * $k; t->c = t->a; } REC(mixed.h[4]); DO(pthread_mutex_unlock(&mm));"),
        (Outside, "DO(pthread_mutex_lock(&mm)); { size_t n = 1 + (mixed.b[4] & 3); memmove(mixed.b + 5, mixed.b + 4, n); mixed.b[4] += $k; } REC(mixed.w[1]); DO(pthread_mutex_unlock(&mm));"),
    ],
};

/// A stack of numbered nodes whose head has a version, a queue that is never emptied of its dummy, and a tree under a mutex.
const STRUCTURES: Family = Family {
    name: "structures",
    cxx: false,
    globals: "struct Cell { unsigned next; int value; };
static struct Cell cells[64]; static unsigned fresh, qhead, qtail; static unsigned long head;
static void push(unsigned n) { unsigned long old = __atomic_load_n(&head, __ATOMIC_SEQ_CST); do __atomic_store_n(&cells[n].next, (unsigned)old, __ATOMIC_SEQ_CST); while (!__atomic_compare_exchange_n(&head, &old, ((old >> 32) + 1) << 32 | n, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST)); }
static unsigned pop(void) { unsigned long old = __atomic_load_n(&head, __ATOMIC_SEQ_CST); for (;;) { unsigned n = (unsigned)old; if (!n) return 0; unsigned next = __atomic_load_n(&cells[n].next, __ATOMIC_SEQ_CST); if (__atomic_compare_exchange_n(&head, &old, ((old >> 32) + 1) << 32 | next, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST)) return n; } }
static unsigned cell(int value) { unsigned n = __atomic_fetch_add(&fresh, 1, __ATOMIC_SEQ_CST); cells[n].value = value; return n; }
static void enter(int value) { unsigned n = cell(value), none = 0; unsigned last = __atomic_load_n(&qtail, __ATOMIC_SEQ_CST); while (!__atomic_compare_exchange_n(&cells[last].next, &none, n, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST)) { last = none; none = 0; } __atomic_compare_exchange_n(&qtail, &last, n, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST); }
static int leave(void) { unsigned first = __atomic_load_n(&qhead, __ATOMIC_SEQ_CST); for (;;) { unsigned n = __atomic_load_n(&cells[first].next, __ATOMIC_SEQ_CST); if (!n) return 0; if (__atomic_compare_exchange_n(&qhead, &first, n, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST)) return cells[n].value; } }
struct Tree { struct Tree *side[2]; int key; };
static struct Tree *root; static pthread_mutex_t tm1; static int *numbers, many;
static int insert(struct Tree **at, int key) { int depth = 0; while (*at) { at = &(*at)->side[key > (*at)->key]; depth++; } *at = (struct Tree *)calloc(1, sizeof **at); (*at)->key = key; return depth; }
static int fell(struct Tree *t) { if (!t) return 0; int sum = fell(t->side[0]) * 2 + t->key + fell(t->side[1]) * 3; free(t); return sum; }
static int append(int k) { numbers = (int *)realloc(numbers, (many + 1) * sizeof *numbers); numbers[many++] = k; return many > 1 ? numbers[many - 2] : -1; }",
    setup: "memset(cells, 0, sizeof cells); fresh = 3; qhead = qtail = 1; head = 0; cells[2].value = 9; push(2); root = 0; numbers = 0; many = 0; EXPECT(pthread_mutex_init(&tm1, 0));",
    teardown: "REC(fell(root)); for (int i = 0; i < many; i++) REC(numbers[i]); free(numbers); EXPECT(pthread_mutex_destroy(&tm1)); for (unsigned n; (n = pop());) REC(cells[n].value); for (int v; (v = leave());) REC(v);",
    steps: &[
        (Anywhere, "{ delay(); push(cell(me * 2 + $a + 1)); }"),
        (Anywhere, "{ delay(); unsigned n = pop(); REC(n ? cells[n].value : 0); }"),
        (Anywhere, "{ delay(); unsigned n = pop(); REC(n); if (n) { delay(); push(n); } }"),
        (Anywhere, "{ delay(); enter(me * 2 + $a + 1); }"),
        (Anywhere, "REC(leave());"),
        (Outside, "DO(pthread_mutex_lock(&tm1)); REC(insert(&root, me * 2 + $a)); $i DO(pthread_mutex_unlock(&tm1));"),
        (Outside, "DO(pthread_mutex_lock(&tm1)); REC(append(me * 2 + $a)); $i DO(pthread_mutex_unlock(&tm1));"),
    ],
};

pub const C: &[&Family] = &[&MIXED, &STRUCTURES];
