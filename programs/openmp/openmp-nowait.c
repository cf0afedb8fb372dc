// The second loop reads what the first one wrote elsewhere, and nobody waits for that.
#ifdef WRONG
#define END nowait
#else
#define END
#endif

int main(void) {
    int from[4], to[4];
#pragma omp parallel
    {
#pragma omp for END
        for (int i = 0; i < 4; i++)
            from[i] = i; // <-
#pragma omp for
        for (int i = 0; i < 4; i++)
            to[i] = from[3 - i]; // <-
    }
    return to[3];
}
