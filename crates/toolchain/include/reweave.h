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

#ifdef __cplusplus
}
#endif

#endif
