// std-shared-mutex.cc put right: look under the shared lock, change under the exclusive one.
#include <cassert>
#include <mutex>
#include <shared_mutex>
#include <thread>

static std::shared_mutex mutex;
static int value, twice;

int main() {
    std::thread reader([] {
        std::shared_lock guard(mutex);
        assert(twice == 2 * value);
    });
    std::thread writer([] {
        std::unique_lock guard(mutex);
        value = 1;
        twice = 2;
    });
    {
        std::shared_lock guard(mutex);
        assert(twice == 2 * value);
    }
    reader.join();
    writer.join();
}
