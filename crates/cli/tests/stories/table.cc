// Philosophers whose forks lie on the heap: their locks have no variable of their own.
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

struct Fork {
    std::mutex lock;
    void take() { lock.lock(); }
    void put() { lock.unlock(); }
};

class Table {
    std::vector<std::unique_ptr<Fork>> forks_;

public:
    explicit Table(int seats) {
        for (int i = 0; i < seats; i++) forks_.push_back(std::make_unique<Fork>());
    }
    void eat(int seat) {
        Fork &left = *forks_[seat];
        Fork &right = *forks_[(seat + 1) % forks_.size()];
        left.take();
        right.take();
        right.put();
        left.put();
    }
};

int main() {
    Table table(2);
    std::thread plato([&] { table.eat(0); });
    std::thread kant([&] { table.eat(1); });
    plato.join();
    kant.join();
}
