// A library that is loaded already is opened again, by its name or as the program itself, and closed.
#define _GNU_SOURCE
#include <assert.h>
#include <dlfcn.h>
#include <pthread.h>
#include <stddef.h>

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

int main(void) {
    pthread_t thread;
    assert(pthread_create(&thread, NULL, open_both, NULL) == 0);
    open_both(NULL);
    assert(pthread_join(thread, NULL) == 0);
    assert(dlsym(RTLD_DEFAULT, "no_such_function") == NULL && dlerror() != NULL);
    assert(dlopen("no-such-library.so", RTLD_NOW | RTLD_NOLOAD) == NULL);
    if (NEW) {
        dlopen("libreweave-new.so", RTLD_NOW);
    }
    return 0;
}
