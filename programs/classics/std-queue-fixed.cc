// std-queue.cc put right: the end is for all.
#include <condition_variable>
#include <deque>
#include <mutex>
#include <optional>
#include <thread>

class Queue {
public:
    void put(int value) {
        std::lock_guard guard(mutex);
        values.push_back(value);
        changed.notify_one();
    }

    void close() {
        std::lock_guard guard(mutex);
        closed = true;
        changed.notify_all();
    }

    std::optional<int> take() {
        std::unique_lock guard(mutex);
        changed.wait(guard, [this] { return closed || !values.empty(); });
        if (values.empty())
            return std::nullopt;
        int value = values.front();
        values.pop_front();
        return value;
    }

private:
    std::mutex mutex;
    std::condition_variable changed;
    std::deque<int> values;
    bool closed = false;
};

int main() {
    Queue queue;
    auto consume = [&] {
        while (queue.take())
            ;
    };
    std::thread a(consume), b(consume);
    queue.put(1);
    queue.close();
    a.join();
    b.join();
}
