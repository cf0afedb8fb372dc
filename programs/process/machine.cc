// What the machine says of itself is the same in every process.
#include <reweave.h>
#include <sched.h>
#include <sys/syscall.h>
#include <thread>
#include <unistd.h>

int main() {
    reweave_check(std::thread::hardware_concurrency() == 2, "another number of processors");
    reweave_check(sysconf(_SC_NPROCESSORS_ONLN) == 2, "another number of processors");
    cpu_set_t set;
    reweave_check(sched_getaffinity(0, sizeof set, &set) == 0 && CPU_COUNT(&set) == 2, "another set");
    reweave_check(sched_setaffinity(0, sizeof set, &set) == 0, "affinity is refused");
    reweave_check(getpid() == gettid() && gettid() == syscall(SYS_gettid), "the first thread has another id");
    std::thread([] { reweave_check(gettid() != getpid(), "two threads have one id"); }).join();
    pthread_attr_t attributes;
    void *stack;
    size_t bytes;
    pthread_getattr_np(pthread_self(), &attributes);
    pthread_attr_getstack(&attributes, &stack, &bytes);
    char *here = reinterpret_cast<char *>(&stack), *low = static_cast<char *>(stack);
    pthread_attr_destroy(&attributes);
    reweave_check(low < here && here < low + bytes, "the stack lies elsewhere");
}
