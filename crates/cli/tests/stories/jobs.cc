// A pool that notifies only when its queue was empty: the second job may wake nobody.
#include <condition_variable>
#include <mutex>
#include <thread>

class Pool {
    std::mutex lock_;
    std::condition_variable filled_;
    int jobs_ = 0;

public:
    void submit() {
        bool empty;
        {
            std::lock_guard<std::mutex> guard(lock_);
            empty = jobs_ == 0;
            jobs_++;
        }
        if (empty) filled_.notify_one();
    }
    void run() {
        std::unique_lock<std::mutex> guard(lock_);
        filled_.wait(guard, [this] { return jobs_ > 0; });
        jobs_--;
    }
};

int main() {
    Pool pool;
    std::thread first([&] { pool.run(); }), second([&] { pool.run(); });
    pool.submit();
    pool.submit();
    first.join();
    second.join();
}
