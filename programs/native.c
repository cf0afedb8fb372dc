// What `reweave.h` and the names of the software-verification competition mean in an ordinary run, for `under-tsan`: an assumption
// that does not hold ends the run quietly, a choice is the first one, an atomic section is a lock.
#define _DEFAULT_SOURCE

#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

void reweave_assume(bool holds);
unsigned reweave_any(unsigned n);
void reweave_check(bool holds, const char *message);
void __VERIFIER_assume(int holds);
void __VERIFIER_atomic_begin(void);
void __VERIFIER_atomic_end(void);
_Bool __VERIFIER_nondet_bool(void);
void reach_error(void);

void reweave_assume(bool holds) {
    // Not by _exit, at which the sanitizer would complain of the threads that are left.
    if (!holds)
        syscall(SYS_exit_group, 0);
}

unsigned reweave_any(unsigned n) {
    reweave_assume(n > 0);
    return 0;
}

void reweave_check(bool holds, const char *message) {
    if (!holds) {
        fprintf(stderr, "check failed: %s\n", message);
        abort();
    }
}

static pthread_mutex_t section = PTHREAD_MUTEX_INITIALIZER;

void __VERIFIER_assume(int holds) { reweave_assume(holds); }
void __VERIFIER_atomic_begin(void) { pthread_mutex_lock(&section); }
void __VERIFIER_atomic_end(void) { pthread_mutex_unlock(&section); }
_Bool __VERIFIER_nondet_bool(void) { return false; }
void reach_error(void) { abort(); }
