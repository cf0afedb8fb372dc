// A blocking queue whose end is announced by notify_one: of two consumers one sleeps on.
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
        changed.notify_one();
    }

    std::optional<int> take() {
        std::unique_lock guard(mutex);
        changed.wait(guard, [this] { return closed || !values.empty(); }); // <- was not told
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
    a.join(); // <-
    b.join(); // <-
}
