// A thread leaves from deep down: destructors run, catch blocks that throw on are passed, and cleanup handlers among them.
#include <pthread.h>
#include <reweave.h>
#include <string>

static std::string log_of_ends;

struct Ends {
    char name;
    ~Ends() { log_of_ends += name; }
};

static void cleanup(void *name) { log_of_ends += *static_cast<char *>(name); }

static thread_local Ends local{'l'};

static void deep() {
    Ends inner{'a'};
    try {
        Ends innermost{'b'};
        pthread_exit(nullptr);
    } catch (...) {
        log_of_ends += 'c';
        throw;
    }
}

static void *start(void *) {
    static char name = 'd';
    (void)local.name;
    Ends outer{'e'};
    pthread_cleanup_push(cleanup, &name);
    deep();
    pthread_cleanup_pop(0);
    return nullptr;
}

int main() {
    pthread_t thread;
    pthread_create(&thread, nullptr, start, nullptr);
    pthread_join(thread, nullptr);
    reweave_check(log_of_ends == "bcadel", log_of_ends.c_str());
}
