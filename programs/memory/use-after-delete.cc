// A C++ object is deleted while another thread may be in one of its functions.
#include <atomic>
#include <thread>

struct Counter {
    int value = 0;
    void add() { value++; } // <- the object may be gone
};

static std::atomic<bool> stopped;

int main() {
    Counter *counter = new Counter;
    std::thread worker([counter] {
        if (!stopped)
            counter->add();
    });
    stopped = true;
    delete counter; // <-
    worker.join();
}
