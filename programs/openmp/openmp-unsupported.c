// Tasks in an order of their own are not under control.
int main(void) {
    int value = 0;
#pragma omp parallel
#pragma omp single
    {
#pragma omp task shared(value) depend(out : value)
        value = 1;
#pragma omp task shared(value) depend(in : value)
        value++;
    }
    return value == 0;
}
