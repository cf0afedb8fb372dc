// use-after-delete.cc put right: join, then delete.
#include <atomic>
#include <thread>

struct Counter {
    int value = 0;
    void add() { value++; }
};

static std::atomic<bool> stopped;

int main() {
    Counter *counter = new Counter;
    std::thread worker([counter] {
        if (!stopped)
            counter->add();
    });
    stopped = true;
    worker.join();
    delete counter;
}
