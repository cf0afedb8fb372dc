// A library that is loaded already is opened again, by its name or as the program itself, and closed. With NEW, one that is not, and one that is
// not there.
#define _GNU_SOURCE
#include <assert.h>
#include <dlfcn.h>
#include <pthread.h>
#include <stddef.h>
#include <string.h>

#ifndef NEW
#define NEW 0
#endif

static void *open_both(void *argument) {
    void *program = dlopen(NULL, RTLD_NOW);
    void *library = dlopen("libc.so.6", RTLD_NOW);
    assert(program != NULL && library != NULL);
    assert(dlsym(library, "printf") != NULL);
    assert(dlclose(library) == 0);
    assert(dlclose(program) == 0);
    return argument;
}

static void *open_new(void *argument) {
    void *library = dlopen("libresolv.so.2", RTLD_NOW);
    assert(library != NULL && dlsym(library, "ns_get16") != NULL);
    assert(dlclose(library) == 0);
    assert(dlopen("libreweave-none.so", RTLD_NOW) == NULL);
    assert(strstr(dlerror(), "libreweave-none.so: cannot open shared object file") != NULL);
    return argument;
}

int main(void) {
    pthread_t thread;
    assert(pthread_create(&thread, NULL, open_both, NULL) == 0);
    open_both(NULL);
    assert(pthread_join(thread, NULL) == 0);
    assert(dlsym(RTLD_DEFAULT, "no_such_function") == NULL && dlerror() != NULL);
    assert(dlopen("no-such-library.so", RTLD_NOW | RTLD_NOLOAD) == NULL);
    if (NEW) {
        assert(dlopen("libresolv.so.2", RTLD_NOW | RTLD_NOLOAD) == NULL);
        assert(pthread_create(&thread, NULL, open_new, NULL) == 0);
        open_new(NULL);
        assert(pthread_join(thread, NULL) == 0);
    }
    return 0;
}
