/* bits/shared_ptr_atomic.h: stands in for the file of C++'s library with that name, which it includes.
 *
 * A std::atomic<std::shared_ptr> has a lock in one bit of a pointer. Who only reads gives it back by a relaxed operation, so that by the letter of the
 * standard nothing orders that read before the next write: a race inside of the library, which its later versions mend and no
 * program can help. Here the lock orders all that is done under it: to give it back is the only subtraction.
 */
#include <bits/atomic_base.h>
#pragma push_macro("fetch_sub")
#define fetch_sub(__bit, __order) fetch_sub(__bit, memory_order_seq_cst)
#include_next <bits/shared_ptr_atomic.h>
#pragma pop_macro("fetch_sub")
