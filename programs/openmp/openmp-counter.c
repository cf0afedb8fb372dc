// A counter that two threads share and nobody protects.
int main(void) {
    int count = 0;
#pragma omp parallel
    count++; // <-
    return count == 0;
}
