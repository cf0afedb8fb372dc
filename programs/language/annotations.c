// Programs that find a sanitizer on tell it things. An order that is vouched for is one, even where no lock and no atomic says so; with SILENT
// nobody vouches for it. What else is told changes nothing.
#include <pthread.h>
#include <reweave.h>
#include <stdatomic.h>

#ifdef __SANITIZE_THREAD__
void AnnotateHappensBefore(const char *file, int line, const volatile void *address);
void AnnotateHappensAfter(const char *file, int line, const volatile void *address);
void AnnotateIgnoreReadsBegin(const char *file, int line);
void AnnotateIgnoreReadsEnd(const char *file, int line);
void AnnotateRWLockCreate(const char *file, int line, const volatile void *lock);
int RunningOnValgrind(void);
void __tsan_acquire(void *address);
void __tsan_release(void *address);
#ifndef SILENT
#define VOUCHED 1
#endif
#endif

static int data, more;
static atomic_int there;

static void *writer(void *unused) {
    data = 1;
    more = 2; // <- races
#ifdef VOUCHED
    AnnotateHappensBefore(__FILE__, __LINE__, &there);
    __tsan_release(&more);
#endif
    atomic_store_explicit(&there, 1, memory_order_relaxed);
    return unused;
}

int main(void) {
    pthread_t thread;
#ifdef VOUCHED
    AnnotateRWLockCreate(__FILE__, __LINE__, &more);
    AnnotateIgnoreReadsBegin(__FILE__, __LINE__);
    AnnotateIgnoreReadsEnd(__FILE__, __LINE__);
    reweave_check(RunningOnValgrind() == 0, "this is no simulator");
#endif
    pthread_create(&thread, 0, writer, 0);
    if (atomic_load_explicit(&there, memory_order_relaxed)) {
#ifdef VOUCHED
        AnnotateHappensAfter(__FILE__, __LINE__, &there);
        __tsan_acquire(&more);
#endif
        reweave_check(more == 2, "not yet written"); // <- with this
    }
    pthread_join(thread, 0);
}
