// Functions by what the assembler has to add: `covered_` nothing, `added_` at least one hook. A call of a function on memory is as good.
#include <stdarg.h>
#include <stddef.h>

struct wide {
    long values[6];
};

extern struct wide shared;
extern int array[64], *pointer, place;
extern struct wide make(void);
extern long use(struct wide);
extern long use_any(int, ...);
static __thread int own;

int covered_load(void) { return array[0]; }
void covered_store(int value) { array[3] = value; }
int covered_index(int at) { return array[at] + pointer[at]; }
void covered_change(int at) { array[at]++; }
int covered_indirect(int **to) { return **to + to[1][2]; }
void covered_loop(int count) {
    for (int i = 0; i < count; i++)
        array[i] += pointer[i];
}
void covered_copy(struct wide *to, struct wide *from) { *to = *from; }
int covered_thread(void) { return ++own; }
long covered_stack(long first) {
    long values[4] = {first, place, 2, 3};
    return values[place & 3];
}

void added_returned(void) { shared = make(); }
long added_passed(void) { return use(shared); }
long added_variadic(void) { return use_any(1, shared); }
void added_filled(void) { __builtin_memset(&shared, 1, sizeof shared); }
void added_atomic(int *to) { __asm__ volatile("lock; incl %0" : "+m"(*to)); }
void added_prefixed(int *to) { __asm__ volatile("lock\n\tincl %0" : "+m"(*to)); }
int added_moved(int *from) {
    int value;
    __asm__ volatile("movl %1, %0" : "=r"(value) : "m"(*from));
    return value;
}
void added_fence(void) { __asm__ volatile("mfence" ::: "memory"); }
void added_call(void) { __asm__ volatile("syscall" : : "a"(39) : "rcx", "r11", "memory"); }
