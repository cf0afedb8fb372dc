// Two accounts, and a transfer that takes both locks one after the other: in two directions at once it deadlocks.
#include <mutex>
#include <thread>

struct Account {
    std::mutex mutex;
    int balance = 100;
};

static void transfer(Account &from, Account &to, int amount) {
    std::lock_guard first(from.mutex);
    std::lock_guard second(to.mutex); // <- held by the other
    from.balance -= amount;
    to.balance += amount;
}

int main() {
    Account left, right;
    std::thread a([&] { transfer(left, right, 10); });
    std::thread b([&] { transfer(right, left, 20); });
    a.join(); // <-
    b.join();
}
