// One of two functions forgets the lock.
#include <mutex>
#include <thread>

struct Statistics {
    std::mutex lock;
    int requests = 0;

    void record() {
        std::lock_guard<std::mutex> guard(lock);
        requests++;
    }
    int total() const { return requests; }
};

static Statistics statistics;

static void server() { statistics.record(); }

static void monitor() { (void)statistics.total(); }

int main() {
    std::thread first(server), second(monitor);
    first.join();
    second.join();
}
