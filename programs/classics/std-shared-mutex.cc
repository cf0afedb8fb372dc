// A change under a shared lock: two may hold it.
#include <mutex>
#include <shared_mutex>
#include <thread>

static std::shared_mutex mutex;
static int hits;

static void look() {
    std::shared_lock guard(mutex);
    hits++; // <- the other does the same
}

int main() {
    std::thread a(look), b(look);
    a.join();
    b.join();
}
