// A library that is loaded already is opened again, by its name or as the program itself, and closed. With NEW, one that is not, and one that is
// not there. With THERE, a thread opens one while another looks whether it is open; with GONE, one closes it while another runs a function of it.
#define _GNU_SOURCE
#include <assert.h>
#include <dlfcn.h>
#include <pthread.h>
#include <stddef.h>
#include <string.h>

#ifndef NEW
#define NEW 0
#endif
#ifndef THERE
#define THERE 0
#endif
#ifndef GONE
#define GONE 0
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

static void *keep_open(void *argument) {
    assert(dlopen("libresolv.so.2", RTLD_NOW) != NULL);
    return argument;
}

static void *read_number(void *function) {
    const unsigned char bytes[2] = {1, 2};
    assert(((unsigned (*)(const unsigned char *))function)(bytes) == 258);
    return NULL;
}

int main(void) {
    pthread_t thread;
    if (THERE) {
        assert(pthread_create(&thread, NULL, keep_open, NULL) == 0);
        void *there = dlopen("libresolv.so.2", RTLD_NOW | RTLD_NOLOAD);
        assert(pthread_join(thread, NULL) == 0);
        assert(there == NULL);
    }
    if (GONE) {
        void *library = dlopen("libresolv.so.2", RTLD_NOW);
        assert(pthread_create(&thread, NULL, read_number, dlsym(library, "ns_get16")) == 0);
        assert(dlclose(library) == 0);
        assert(pthread_join(thread, NULL) == 0);
    }
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
