// An event without a flag: a notification before the wait is lost.
#include <condition_variable>
#include <mutex>
#include <thread>

class Event {
    std::mutex mutex_;
    std::condition_variable changed_;

  public:
    void wait() {
        std::unique_lock<std::mutex> guard(mutex_);
        changed_.wait(guard);
    }
    void set() {
        std::lock_guard<std::mutex> guard(mutex_);
        changed_.notify_all();
    }
};

static Event loaded;

static void loader() { loaded.set(); }

static void viewer() { loaded.wait(); }

int main() {
    std::thread first(loader), second(viewer);
    first.join();
    second.join();
}
