// Tasks are not under control.
int main(void) {
    int done = 0;
#pragma omp parallel
#pragma omp single
#pragma omp task shared(done)
    done++;
    return done - 1;
}
