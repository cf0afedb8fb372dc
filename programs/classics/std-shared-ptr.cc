// One std::shared_ptr that two threads use: its count is safe, the pointer itself is not.
#include <memory>
#include <thread>

static std::shared_ptr<int> shared = std::make_shared<int>(1);

int main() {
    std::thread reader([] { std::shared_ptr<int> mine = shared; }); // reads what the other writes
    std::thread writer([] { shared.reset(); });
    reader.join();
    writer.join();
}
