/* reweave.h: what a test driver can ask of reweave.
 *
 * Found by `#include <reweave.h>` under `reweave check`, `reweave cc` and `reweave c++`, in C11 to C++20.
 * A program that uses it and is started without reweave runs once, as usual: an assumption that does not hold ends
 * it quietly with status 0, `reweave_any` is 0, a check that fails aborts.
 */
#ifndef REWEAVE_H
#define REWEAVE_H

#ifndef __cplusplus
#include <stdbool.h>
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* Goes on only if `holds`. Otherwise this thread stops here for ever, the others go on, and the execution counts as
 * blocked: neither an error nor a deadlock. Keeps what cannot happen, or is of no interest, out of the search:
 *
 *     reweave_assume(first <= second);
 */
void reweave_assume(bool holds);

/* A number from 0 to n-1; every one of them is explored. With n = 0 there is none: as reweave_assume(false).
 *
 *     char input = "aAz"[reweave_any(3)];
 */
unsigned reweave_any(unsigned n);

/* An error of the kind `assertion`, with this message, unless `holds`. Unlike assert() it is there with NDEBUG, too. */
void reweave_check(bool holds, const char *message);

/* Hints for `reweave run`, which lets threads synchronise in a fixed order. Elsewhere they do nothing. */

void reweave_soft_barrier_init_(unsigned size, const void *key, int turns) __attribute__((weak));
void reweave_soft_barrier_wait_(const void *key) __attribute__((weak));
void reweave_section_enter_(void) __attribute__((weak));
void reweave_section_exit_(void) __attribute__((weak));
void reweave_thread_waiting_(void) __attribute__((weak));
void reweave_thread_running_(void) __attribute__((weak));

/* A soft barrier, named by an address of yours: threads that arrive at it go on together, when `size` of them are there,
 * or after so many turns. Put it where threads begin a piece of work that takes each of them long, so that these pieces
 * run side by side:
 *
 *     static int together;
 *     reweave_soft_barrier_init(THREADS, &together, 50);      // once
 *     reweave_soft_barrier_wait(&together); compress(block);  // in each thread
 */
static inline void reweave_soft_barrier_init(unsigned size, const void *key, int turns) {
    if (reweave_soft_barrier_init_)
        reweave_soft_barrier_init_(size, key, turns);
}

static inline void reweave_soft_barrier_wait(const void *key) {
    if (reweave_soft_barrier_wait_)
        reweave_soft_barrier_wait_(key);
}

/* Between these two the thread does not wait for its turn: the order of what it synchronises there is not fixed. */
static inline void reweave_section_enter(void) {
    if (reweave_section_enter_)
        reweave_section_enter_();
}

static inline void reweave_section_exit(void) {
    if (reweave_section_exit_)
        reweave_section_exit_();
}

/* Between these two the thread waits for something that `reweave run` does not see (memory, a device). */
static inline void reweave_thread_waiting(void) {
    if (reweave_thread_waiting_)
        reweave_thread_waiting_();
}

static inline void reweave_thread_running(void) {
    if (reweave_thread_running_)
        reweave_thread_running_();
}

#ifdef __cplusplus
}
#endif

#endif
