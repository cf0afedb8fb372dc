// Compiled without hooks: nobody promises anything about it.
int plain(int *to) {
    return __sync_fetch_and_add(to, 1);
}
