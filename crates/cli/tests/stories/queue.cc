// A consumer that is woken does not look again whether there is something.
#include <cassert>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>

class Queue {
    std::mutex lock_;
    std::condition_variable filled_;
    std::deque<int> items_;
    int count_ = 0;

  public:
    void push(int value) {
        std::lock_guard<std::mutex> guard(lock_);
        items_.push_back(value);
        count_++;
        filled_.notify_one();
    }
    int pop() {
        std::unique_lock<std::mutex> guard(lock_);
        if (count_ == 0)
            filled_.wait(guard);
        assert(count_ > 0);
        int value = items_.front();
        items_.pop_front();
        count_--;
        return value;
    }
};

static Queue queue;

static void producer() {
    queue.push(1);
    queue.push(2);
}

static void consumer() { queue.pop(); }

int main() {
    std::thread maker(producer), first(consumer), second(consumer);
    maker.join();
    first.join();
    second.join();
}
