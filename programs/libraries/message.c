// What a constructor of the program leaves for `dlerror` is there in `main`. Each call that succeeds clears the message of the one before.
#define _GNU_SOURCE
#include <assert.h>
#include <dlfcn.h>
#include <pthread.h>
#include <string.h>

static const char missing[] = "libreweave-none.so";

static void fail(void) {
    assert(dlopen(missing, RTLD_NOW) == NULL);
}

__attribute__((constructor)) static void begin(void) {
    fail();
}

static void *begin_without(void *unused) {
    assert(dlerror() == NULL);
    return unused;
}

int main(void) {
    const char *message = dlerror();
    assert(message != NULL && strstr(message, missing) != NULL);
    assert(dlerror() == NULL);
    fail();
    void *library = dlopen("libc.so.6", RTLD_NOW);
    assert(library != NULL && dlerror() == NULL);
    fail();
    assert(dlclose(library) == 0 && dlerror() == NULL);
    fail();
    assert(dlopen("libresolv.so.2", RTLD_NOW | RTLD_NOLOAD) == NULL && dlerror() == NULL);
    assert(dlopen("libreweave-other.so", RTLD_NOW | RTLD_NOLOAD) == NULL);
    assert(strstr(dlerror(), "libreweave-other.so") != NULL);
    fail();
    pthread_t thread;
    assert(pthread_create(&thread, NULL, begin_without, NULL) == 0);
    assert(pthread_join(thread, NULL) == 0);
    assert(strstr(dlerror(), missing) != NULL);
    return 0;
}
