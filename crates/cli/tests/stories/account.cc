// The balance is looked at in one section and changed in another.
#include <cassert>
#include <memory>
#include <mutex>
#include <thread>

class Account {
    std::mutex lock_;
    long balance_ = 100;

  public:
    long balance() {
        std::lock_guard<std::mutex> guard(lock_);
        return balance_;
    }
    void withdraw(long amount) {
        std::lock_guard<std::mutex> guard(lock_);
        balance_ -= amount;
        assert(balance_ >= 0);
    }
};

static void shop(Account &account) {
    if (account.balance() >= 60)
        account.withdraw(60);
}

int main() {
    auto account = std::make_unique<Account>();
    std::thread first(shop, std::ref(*account)), second(shop, std::ref(*account));
    first.join();
    second.join();
}
