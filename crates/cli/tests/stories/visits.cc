// A table with spin locks of its own: each call is safe, and looking before setting is not.
#include <atomic>
#include <cassert>
#include <thread>

class SpinLock {
    std::atomic<int> taken_{0};

public:
    void lock() { while (taken_.exchange(1)) {} }
    void unlock() { taken_.store(0); }
};

class Visits {
    SpinLock lock_;
    int count_ = 0;

public:
    int find() {
        lock_.lock();
        int found = count_;
        lock_.unlock();
        return found;
    }
    void assign(int count) {
        lock_.lock();
        count_ = count;
        lock_.unlock();
    }
};

static Visits visits;

static void visit() { visits.assign(visits.find() + 1); }

int main() {
    std::thread web(visit), app(visit);
    web.join();
    app.join();
    assert(visits.find() == 2);
}
