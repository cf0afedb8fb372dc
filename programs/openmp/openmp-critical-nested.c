// A critical section inside of itself.
int main(void) {
    int count = 0;
#pragma omp parallel
    {
#pragma omp critical
        {
#pragma omp atomic
            count++;
            extern void more(int *);
            more(&count);
        }
    }
    return count == 0;
}

void more(int *count);

void more(int *count) {
#pragma omp critical // <-
    (*count)++;
}
