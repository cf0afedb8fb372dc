// Objects with static lifetime are destroyed at the end of every run, those of the thread that ends it before.
#include <pthread.h>
#include <reweave.h>
#include <string>
#include <vector>

static std::vector<std::string> *log_of_ends;

struct Ends {
    const char *name;
    size_t place;
    ~Ends() {
        log_of_ends->push_back(name);
        reweave_check(log_of_ends->size() == place, "destroyed in the wrong order");
    }
};

static std::vector<std::string> storage;
static Ends first{"first", 3};
static Ends second{"second", 2};
static thread_local Ends local{"local", 1};

int main() {
    log_of_ends = &storage;
    reweave_check(storage.empty(), "something is left of an earlier run");
    local.place = 1;
    if (reweave_any(2))
        exit(0);
}
