// Objects of C++ in regions: private copies, exceptions, a reduction of one's own.
#include <cassert>
#include <stdexcept>
#include <vector>

struct Sum {
    int value = 0;
    void add(const Sum &other) { value += other.value; }
};
#pragma omp declare reduction(sum : Sum : omp_out.add(omp_in))

int main() {
    std::vector<int> numbers(4, 3);
    Sum total;
    int caught = 0;
#pragma omp parallel for reduction(sum : total) schedule(dynamic, 2)
    for (std::size_t i = 0; i < numbers.size(); i++) {
        try {
            if (i == 3)
                throw std::runtime_error("four");
            total.value += numbers[i];
        } catch (const std::exception &) {
#pragma omp atomic
            caught++;
        }
    }
    assert(total.value == 9 && caught == 1);
}
