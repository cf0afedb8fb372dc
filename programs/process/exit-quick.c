// `quick_exit` and `_exit` leave out the ordinary handlers.
#include <pthread.h>
#include <reweave.h>
#include <stdlib.h>
#include <unistd.h>

static void never(void) { reweave_check(false, "called by an exit that should not"); }
static void quickly(void) { _exit(5); }

int main(void) {
    atexit(never);
    at_quick_exit(quickly);
    if (reweave_any(2))
        _Exit(0);
    quick_exit(4); // <-
}
