//! Whole projects by `reweave build`: the tools that builds are made of, and what comes out of them under `reweave check`.

#[allow(dead_code)] // Not all of it is of use here.
mod bench;

use bench::{Bench, err, fine};
use std::process::{Command, Output};

/// Two threads call `add` and nothing orders them; with an argument a lock does.
const MAIN: &str = r#"
#include <pthread.h>
void add(void);
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int locked;
static void *start(void *unused) {
    if (locked)
        pthread_mutex_lock(&lock);
    add();
    if (locked)
        pthread_mutex_unlock(&lock);
    return unused;
}
int main(int count, char **words) {
    (void)words;
    locked = count > 1;
    pthread_t threads[2];
    for (int i = 0; i < 2; i++)
        pthread_create(&threads[i], 0, start, 0);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], 0);
    return 0;
}
"#;

const ADD: &str = "static int n;\nvoid add(void) { n++; }\n";

impl Bench {
    fn build(&self, script: &str) -> Output {
        self.run(&["build", "--", "sh", "-ec", script])
    }

    /// Checks a program: what the result says, as one text.
    fn check(&self, words: &[&str]) -> String {
        let front = ["check", "--format", "json", "--keep-going", "--"];
        let output = self.run(&[&front[..], words].concat());
        let said = String::from_utf8(output.stdout.clone()).unwrap();
        assert!(
            said.starts_with('{'),
            "{words:?} {:?}: {}",
            output.status,
            err(&output)
        );
        said
    }

    /// That two threads race at this place of a program, and with a lock do not.
    fn races(&self, program: &str, place: &str) {
        let said = self.check(&[program]);
        assert!(said.contains("\"kind\": \"data-race\""), "{said}");
        assert!(said.contains(place), "{said}");
        let said = self.check(&[program, "locked"]);
        assert!(said.contains("\"complete\": true"), "{said}");
        assert!(said.contains("\"executions\": 2"), "{said}");
        assert!(said.contains("\"errors\": []"), "{said}");
    }
}

/// One program of C, C++ and Fortran, in part in a shared library, by several jobs at once.
#[test]
fn several_languages_in_one_program() {
    let bench = Bench::new();
    bench.file("main.c", MAIN);
    let add = "extern \"C\" void more_();\nextern \"C\" void add() { more_(); }\n";
    bench.file("add.cc", add);
    let more = "subroutine more()\n  integer, save :: n = 0\n  n = n + 1\nend subroutine\n";
    bench.file("more.f90", more);
    let rules = "program: main.o libadd.so more.o\n\
                 \t$(CC) main.o more.o -L. -ladd -Wl,-rpath,. -lgfortran -o $@ -rdynamic\n\
                 libadd.so: add.cc\n\t$(CXX) -fPIC -shared $< -o $@\n\
                 %.o: %.f90\n\t$(FC) -O1 -c $<\n";
    bench.file("Makefile", rules);
    let output = bench.build("make -j3");
    fine(&output);
    assert!(!err(&output).contains("warning"), "{}", err(&output));
    bench.races("./program", "more.f90:3");
}

#[test]
fn cmake_and_ninja() {
    let bench = Bench::new();
    bench.file("main.c", MAIN);
    bench.file("add.c", ADD);
    let project = "cmake_minimum_required(VERSION 3.10)\nproject(two C)\n\
                   set(CMAKE_BUILD_TYPE Release)\nset(CMAKE_INTERPROCEDURAL_OPTIMIZATION ON)\n\
                   find_package(Threads REQUIRED)\nadd_library(add SHARED add.c)\n\
                   add_executable(program main.c)\ntarget_link_libraries(program add Threads::Threads)\n";
    bench.file("CMakeLists.txt", project);
    fine(&bench.build("cmake -G Ninja -S . -B out && ninja -C out"));
    bench.races("out/program", "add.c:2");
    // Configured once, it goes on with the compilers that it found.
    bench.file("add.c", &format!("\n{ADD}"));
    let mut again = Command::new("ninja");
    again
        .args(["-C", "out"])
        .env("XDG_CACHE_HOME", bench.path("cache"));
    fine(&again.current_dir(bench.place.path()).output().unwrap());
    bench.races("out/program", "add.c:3");
}

/// A check of a configure script and a generator are instrumented too, and run as usual: threads, output and exit codes.
#[test]
fn programs_of_the_build_behave_as_usual() {
    let bench = Bench::new();
    bench.file("main.c", MAIN);
    let generator = r#"
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
static atomic_int n;
static void *start(void *unused) {
    for (int i = 0; i < 10000; i++)
        n++;
    return unused;
}
int main(void) {
    pthread_t threads[4];
    for (int i = 0; i < 4; i++)
        pthread_create(&threads[i], 0, start, 0);
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], 0);
    printf("static int n = %d;\nvoid add(void) { n++; }\n", n);
    return 0;
}
"#;
    bench.file("generator.c", generator);
    let check = "echo 'int main(void) { return 3; }' > conftest.c; $CC conftest.c -o conftest; \
                 ./conftest && exit 9 || test $? = 3; ";
    let make = "$CC generator.c -o generator; ./generator > add.c; $CC -O2 main.c add.c -o program";
    fine(&bench.build(&format!("{check}{make}")));
    let made = std::fs::read_to_string(bench.path("add.c")).unwrap();
    assert!(made.starts_with("static int n = 40000;\n"), "{made}");
    bench.races("./program", "add.c:2");
}

#[test]
fn code_that_is_made_while_linking_is_not() {
    let bench = Bench::new();
    bench.file("main.c", MAIN);
    bench.file("add.c", ADD);
    let parts = "cc -flto -O2 -c main.c add.c; gcc-ar rc libadd.a add.o; ";
    fine(&bench.build(&format!(
        "{parts} cc -flto=auto -O2 main.o -L. -ladd -o program"
    )));
    bench.races("./program", "add.c:2");
}

#[test]
fn the_libraries_of_a_language_may_be_inside() {
    let bench = Bench::new();
    let text = r#"
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
static std::mutex lock;
static int sum, unlocked;
static int &number() { static int made = std::stoi("1"); return made; }
static void start() {
    try {
        throw std::runtime_error(std::to_string(number()));
    } catch (const std::exception &caught) {
        std::lock_guard guard(lock);
        sum += std::stoi(caught.what());
    }
#ifdef RACE
    unlocked++;
#endif
}
int main() {
    std::thread one(start), two(start);
    one.join();
    two.join();
    return sum + unlocked == 2 ? 0 : 1;
}
"#;
    bench.file("program.cc", text);
    let flags = "-std=c++20 -static-libstdc++ -static-libgcc program.cc";
    let both = format!("c++ {flags} -o program; c++ {flags} -DRACE -o race");
    fine(&bench.build(&both));
    let said = bench.check(&["./program"]);
    assert!(said.contains("\"complete\": true"), "{said}");
    assert!(said.contains("\"errors\": []"), "{said}");
    let said = bench.check(&["./race"]);
    assert!(said.contains("program.cc:17"), "{said}");
}

/// What was compiled by somebody else runs too: its calls are seen, and that its accesses are not is said.
#[test]
fn objects_without_hooks() {
    let bench = Bench::new();
    bench.file("main.c", MAIN);
    let add = "#include <pthread.h>\nstatic pthread_mutex_t own = PTHREAD_MUTEX_INITIALIZER;\nstatic int n;\n\
               void add(void) { pthread_mutex_lock(&own); n++; pthread_mutex_unlock(&own); }\n";
    bench.file("add.c", add);
    let mut plain = Command::new("cc");
    plain
        .args(["-g", "-c", "add.c"])
        .current_dir(bench.place.path());
    fine(&plain.output().unwrap());
    fine(&bench.build("cc main.c add.o -o program"));
    let said = bench.check(&["./program"]);
    assert!(said.contains("\"executions\": 2"), "{said}");
    assert!(said.contains("\"uninstrumented: add.c\""), "{said}");
    assert!(said.contains("\"errors\": []"), "{said}");
}

/// A program that somebody else's compiler made has no runtime.
#[test]
fn a_program_of_a_plain_build() {
    let bench = Bench::new();
    bench.file("main.c", MAIN);
    bench.file("add.c", ADD);
    let mut plain = Command::new("cc");
    plain
        .args(["-g", "main.c", "add.c", "-o", "program", "-pthread"])
        .current_dir(bench.place.path());
    fine(&plain.output().unwrap());
    let output = bench.run(&["check", "--", "./program"]);
    assert_eq!(output.status.code(), Some(2));
    let says = "reweave: ./program is not instrumented: build it with `reweave build -- make` or `reweave cc`, or explore its library calls alone: `--granularity calls`\n";
    assert_eq!(err(&output), says);
    // Neither is it enough that a library of its has one.
    fine(&bench.build("cc -fPIC -shared add.c -o libadd.so"));
    let mut plain = Command::new("cc");
    plain
        .args(["main.c", "-o", "half", "-L.", "-ladd", "-Wl,-rpath,."])
        .current_dir(bench.place.path());
    fine(&plain.output().unwrap());
    let output = bench.run(&["check", "--", "./half"]);
    assert_eq!(output.status.code(), Some(2));
    let says = "if only its libraries are instrumented, build it with `reweave build -- make`";
    assert!(err(&output).contains(says), "{}", err(&output));
}

/// Debug information may be gone: places have the names of functions then, and the verdict is the same.
#[test]
fn objects_that_were_stripped() {
    let bench = Bench::new();
    bench.file("main.c", MAIN);
    bench.file("add.c", ADD);
    fine(&bench.build(
        "cc -c main.c add.c; strip --strip-debug add.o; cc main.o add.o -o program; \
         cp program bare; strip bare",
    ));
    for program in ["./program", "./bare"] {
        let said = bench.check(&[program]);
        assert!(said.contains("\"kind\": \"data-race\""), "{said}");
        let text = bench.run(&["check", "--", program]);
        let text = String::from_utf8(text.stdout).unwrap();
        assert!(text.contains("data-race") && !text.contains(":0"), "{text}");
        let said = bench.check(&[program, "locked"]);
        assert!(said.contains("\"errors\": []"), "{said}");
    }
}

#[test]
fn a_build_that_fails_is_told() {
    let bench = Bench::new();
    bench.file("bad.c", "int x = nothing;\n");
    bench.file(
        "Makefile",
        "bad: bad.c\n\t@echo compiling\n\t$(CC) bad.c -o bad\n",
    );
    let ours = bench.run(&["build", "--", "make"]);
    assert_eq!(ours.status.code(), Some(2));
    assert!(ours.stdout.starts_with(b"compiling\n"));
    assert!(err(&ours).contains("bad.c:1:9: error:"), "{}", err(&ours));
    let last = "reweave: the build failed: exit status 2\n";
    assert!(err(&ours).ends_with(last), "{}", err(&ours));
    for (words, says) in [
        ("false", "reweave: the build failed: exit status 1\n"),
        ("exit 77", "reweave: the build failed: exit status 77\n"),
        ("kill -TERM $$", "reweave: the build failed: signal: 15"),
    ] {
        let ours = bench.build(words);
        assert_eq!(ours.status.code(), Some(2), "{words}");
        assert!(err(&ours).starts_with(says), "{}", err(&ours));
    }
}

#[test]
fn a_static_c_library_is_refused() {
    let bench = Bench::new();
    bench.file("main.c", MAIN);
    bench.file("add.c", ADD);
    for words in [
        "cc -static main.c add.c",
        "cc -c main.c add.c; cc main.o add.o -static-pie",
    ] {
        let output = bench.build(words);
        assert_eq!(output.status.code(), Some(2), "{}", err(&output));
        let says = "reweave: a program that is linked with -static cannot be explored";
        assert!(err(&output).starts_with(says), "{}", err(&output));
        let last = "reweave: the build failed: exit status 2";
        assert_eq!(err(&output).lines().skip(1).collect::<Vec<_>>(), [last]);
    }
}

/// What [`MAIN`] calls, from a library that is opened.
const OPENING: &str = r#"
#include <dlfcn.h>
void add(void) {
    void *library = dlopen("./libadd.so", RTLD_NOW);
    void (*add_one)(void) = (void (*)(void))dlsym(library, "add_one");
    add_one();
    dlclose(library);
}
"#;

/// Libraries that are loaded from the start may be opened, with hooks or without.
#[test]
fn a_library_that_is_loaded_can_be_opened() {
    let bench = Bench::new();
    bench.file("main.c", MAIN);
    bench.file("open.c", OPENING);
    bench.file("add.c", &ADD.replace("add(", "add_one("));
    let library = "-g -fPIC -shared add.c -o libadd.so";
    let link = "cc -g main.c open.c -o main -Wl,--no-as-needed -L. -ladd -Wl,-rpath,$PWD -pthread";
    fine(&bench.build(&format!("cc {library} && {link}")));
    bench.races("./main", "add.c:2");
    let mut plain = Command::new("cc");
    let plain = plain
        .args(library.split(' '))
        .current_dir(bench.place.path());
    fine(&plain.output().unwrap());
    fine(&bench.build(link));
    let said = bench.check(&["./main", "locked"]);
    assert!(said.contains("\"executions\": 2"), "{said}");
}

/// A library that says who is in it: its constructor starts a thread, its destructor joins it.
const PLUGIN: &str = r#"
#include <pthread.h>
extern int users;
static int n;
int made;
static __thread int mine = 5;
static pthread_t helper;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static void *help(void *unused) {
    pthread_mutex_lock(&lock);
    n++;
    pthread_mutex_unlock(&lock);
    return unused;
}
__attribute__((constructor)) static void up(void) {
    users++, made++;
    pthread_create(&helper, 0, help, 0);
}
__attribute__((destructor)) static void down(void) {
    pthread_join(helper, 0);
    users--;
}
int add(void) {
    pthread_mutex_lock(&lock);
    n++;
    pthread_mutex_unlock(&lock);
    return ++mine;
}
void add_racily(void) { n++; }
"#;

const HOST: &str = r#"
#include <assert.h>
#include <dlfcn.h>
#include <pthread.h>
#include <string.h>
int users;
static const char *way;
static void *use(void *unused) {
    void *plugin = dlopen("libplugin.so", RTLD_NOW);
    assert(plugin && users == 1);
    assert(*(int *)dlsym(plugin, "made") == 1);
    int (*add)(void) = (int (*)(void))dlsym(plugin, "add");
    assert(add() == 6);
    if (!strcmp(way, "racy"))
        ((void (*)(void))dlsym(plugin, "add_racily"))();
    assert(dlclose(plugin) == 0);
    if (!strcmp(way, "late"))
        add();
    return unused;
}
int main(int count, char **words) {
    way = count > 1 ? words[1] : "well";
    assert(users == 0 && !dlopen("./libmissing.so", RTLD_NOW));
    assert(strstr(dlerror(), "libmissing.so: cannot open shared object file"));
    pthread_t thread;
    pthread_create(&thread, 0, use, 0);
    use(0);
    pthread_join(thread, 0);
    assert(users == 0);
    return 0;
}
"#;

/// Libraries that are opened in a run, with hooks or without: on every rung, and with all that goes wrong.
#[test]
fn a_library_is_loaded_when_it_is_opened() {
    let bench = Bench::new();
    bench.file("host.c", HOST);
    bench.file("plugin.c", PLUGIN);
    let library = "-g -fPIC -shared plugin.c -o lib/libplugin.so";
    let link = "-rdynamic -Wl,-rpath,'$ORIGIN/lib' -Wl,--enable-new-dtags -pthread";
    let script = format!("mkdir lib; cc {library}; cc -g host.c -o host {link}");
    fine(&bench.build(&script));
    for rung in ["warm", "fork", "exec"] {
        let output = bench.run(&["check", "--restart", rung, "--", "./host"]);
        let said = String::from_utf8_lossy(&output.stdout);
        let expected = "host: complete, 32 executions, no error";
        assert!(said.starts_with(expected), "{rung}: {said}{}", err(&output));
    }
    let said = bench.check(&["./host", "racy"]);
    assert!(said.contains("\"kind\": \"data-race\""), "{said}");
    assert!(said.contains("plugin.c:29"), "{said}");
    let replayed = bench.run(&["replay", "reweave-out/host_racy-1.rwt"]);
    assert_eq!(replayed.status.code(), Some(1), "{}", err(&replayed));
    let said = bench.check(&["./host", "late"]);
    assert!(said.contains("\"rule\": \"use-after-free\""), "{said}");
    assert!(said.contains("libplugin.so after main"), "{said}");
    let mut plain = Command::new("cc");
    let plain = plain
        .args(library.split(' '))
        .current_dir(bench.place.path());
    fine(&plain.output().unwrap());
    let said = bench.check(&["./host"]);
    assert!(said.contains("\"executions\": 32"), "{said}");
    assert!(said.contains("\"uninstrumented: libplugin.so\""), "{said}");
}

/// What a name means that two libraries define depends on which was opened first. That is not explored.
#[test]
fn a_name_that_two_open_libraries_define_is_refused() {
    let bench = Bench::new();
    bench.file("answer.c", "int NAME(void) { return 1; }\n");
    bench.file(
        "opener.c",
        "#include <assert.h>\n#include <dlfcn.h>\n#include <pthread.h>\n\
         static void *up(void *name) { assert(dlopen(name, RTLD_NOW | RTLD_GLOBAL)); return 0; }\n\
         int main(int count, char **names) {\n\
           pthread_t thread;\n\
           pthread_create(&thread, 0, up, names[1]);\n\
           up(names[count - 1]);\n\
           pthread_join(thread, 0);\n\
         }\n",
    );
    let make = |library: &str, name: &str| {
        format!("cc -fPIC -shared -DNAME={name} answer.c -o {library}.so; ")
    };
    let all = [
        make("one", "same"),
        make("two", "same"),
        make("three", "other"),
    ]
    .concat();
    fine(&bench.build(&format!("{all}cc opener.c -o opener -pthread")));
    let refused = "unsupported: a name that several libraries opened with RTLD_GLOBAL define";
    for (other, refuses) in [("./two.so", true), ("./three.so", false)] {
        let said = bench.check(&["./opener", "./one.so", other]);
        assert_eq!(said.contains(refused), refuses, "{said}");
        assert_eq!(said.contains("\"complete\": true"), !refuses, "{said}");
    }
}

/// A library in which one can see how often it was opened.
const SHELF: &str = r#"
int value = 3;
static int calls;
static __thread int own = 5;
int next(void) { return 10 * ++calls + ++own; }
int five(void) { return 5; }
"#;

/// One with objects of threads, which are destroyed after the library was closed.
const OBJECTS: &str = r#"
struct Object { int value = 7; ~Object() { value = 0; } };
static thread_local Object own;
extern "C" int seven() { return own.value; }
"#;

/// One that rests on names of another.
const READER: &str = "int five(void);\nint ten(void) { return 2 * five(); }\n";

/// One that has another open as long as it is.
const HOLDER: &str = r#"
#include <dlfcn.h>
static void *shelf;
__attribute__((constructor)) static void up(void) { shelf = dlopen("./shelf.so", RTLD_NOW); }
__attribute__((destructor)) static void down(void) { dlclose(shelf); }
int next_in_shelf(void) { return ((int (*)(void))dlsym(shelf, "next"))(); }
"#;

/// What programs do with such libraries, by name.
const READERS: &str = r#"
#define _GNU_SOURCE
#include <assert.h>
#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <string.h>
#define IS(word) (!strcmp(way, word))
static const char *way;
static void *shelf;
static int call(void *library, const char *name) { return ((int (*)(void))dlsym(library, name))(); }
static void *open_it(void *unused) {
    assert(dlopen("./shelf.so", RTLD_NOW | RTLD_GLOBAL));
    return unused;
}
static void *read_it(void *five) {
    assert(((int (*)(void))five)() == 5);
    return 0;
}
static void *seven(void *unused) {
    void *objects = dlopen("./objects.so", RTLD_NOW);
    assert(call(objects, "seven") == 7 && dlclose(objects) == 0);
    return unused;
}
static int count(struct dl_phdr_info *info, size_t size, void *to) {
    *(int *)to += strstr(info->dlpi_name, "shelf.so") != 0;
    return size == 0;
}
static int listed(void) {
    int found = 0;
    dl_iterate_phdr(count, &found);
    return found;
}
static void alone(void) {
    if (IS("kept")) {
        shelf = dlopen("./shelf.so", RTLD_NOW | RTLD_NODELETE);
        int (*next)(void) = (int (*)(void))dlsym(shelf, "next");
        assert(next() == 16 && dlclose(shelf) == 0 && next() == 27);
        assert(call(dlopen("./shelf.so", RTLD_NOW), "next") == 38);
    } else if (IS("anew")) {
        for (int i = 0; i < 2; i++) {
            assert(!listed() && (shelf = dlopen("./shelf.so", RTLD_NOW)) && listed());
            assert(call(shelf, "next") == 16 && dlclose(shelf) == 0);
        }
    } else if (IS("dangling")) {
        int *value = dlsym(shelf = dlopen("./shelf.so", RTLD_NOW), "value");
        dlclose(shelf);
        assert(*value == 3);
    } else if (IS("names")) {
        void *program = dlopen(NULL, RTLD_NOW);
        assert(!dlsym(program, "five") && strstr(dlerror(), "five"));
        shelf = dlopen("./shelf.so", RTLD_NOW | RTLD_GLOBAL);
        assert(dlsym(program, "five") && !dlerror() && dlclose(shelf) == 0);
        assert(!dlsym(program, "five"));
        open_it(0);
        shelf = dlopen("./shelf.so", RTLD_NOW | RTLD_NOLOAD);
        assert(shelf && dlsym(RTLD_DEFAULT, "five"));
        dlclose(shelf), dlclose(shelf);
        assert(dlsym(RTLD_DEFAULT, "five"));
    } else if (IS("used")) {
        shelf = dlopen("./shelf.so", RTLD_NOW | RTLD_GLOBAL);
        void *reader = dlopen("./reader.so", RTLD_NOW);
        assert(dlclose(shelf) == 0 && call(reader, "ten") == 10 && dlclose(reader) == 0);
    } else if (IS("held")) {
        for (int i = 0; i < 2; i++) {
            void *holder = dlopen("./holder.so", RTLD_NOW);
            assert(listed() && call(holder, "next_in_shelf") == 16);
            assert(dlclose(holder) == 0 && !listed());
        }
    } else if (IS("lazy")) {
        dlopen("./reader.so", RTLD_LAZY);
    }
}
int main(int words, char **word) {
    (void)words, way = word[1];
    alone();
    pthread_t thread;
    if (IS("beside") || IS("joined")) {
        shelf = dlopen("./shelf.so", RTLD_NOW);
        pthread_create(&thread, 0, read_it, dlsym(shelf, "five"));
        if (IS("joined"))
            pthread_join(thread, 0);
        dlclose(shelf);
        return 0;
    }
    pthread_create(&thread, 0, IS("objects") ? seven : open_it, 0);
    if (IS("objects"))
        seven(0);
    if (IS("loaded") || IS("unloaded"))
        assert(!dlopen("./shelf.so", RTLD_NOW | RTLD_NOLOAD) == IS("unloaded"));
    if (IS("named") || IS("unnamed"))
        assert(!dlsym(RTLD_DEFAULT, "five") == IS("unnamed"));
    pthread_join(thread, 0);
    return 0;
}
"#;

/// What is open is what runs have opened, and what is closed is gone, unless something keeps it.
#[test]
fn libraries_come_and_go() {
    let bench = Bench::new();
    bench.file("readers.c", READERS);
    bench.file("shelf.c", SHELF);
    bench.file("objects.cc", OBJECTS);
    bench.file("reader.c", READER);
    bench.file("holder.c", HOLDER);
    let libraries = "for name in shelf reader holder; do cc -g -fPIC -shared $name.c -o $name.so; done; \
                     c++ -g -fPIC -shared objects.cc -o objects.so";
    fine(&bench.build(&format!("{libraries}; cc -g readers.c -o readers -pthread")));
    let judge = |way: &str, hooked: bool| {
        let said = bench.check(&["./readers", way]);
        let holds = |part: &str| said.contains(part);
        // What libraries without hooks do beside other threads is not seen.
        let unseen = !hooked && holds("\"reason\": \"uninstrumented: ");
        match () {
            () if holds("\"rule\": \"use-after-free\"") => "use-after-free",
            () if holds("\"kind\": \"assertion\"") => "assertion",
            () if holds("\"unsupported: dlopen\"") => "unsupported",
            () if (unseen || holds("\"complete\": true")) && holds("\"errors\": []") => "fine",
            () => panic!("{way}: {said}"),
        }
    };
    let all = |hooked| {
        let judge = |way| judge(way, hooked);
        for way in ["kept", "anew", "names", "used", "held", "objects", "joined"] {
            assert_eq!(judge(way), "fine", "{way}");
        }
        for way in ["loaded", "unloaded", "named", "unnamed"] {
            assert_eq!(judge(way), "assertion", "{way}");
        }
        for way in ["beside", "dangling"] {
            assert_eq!(judge(way), "use-after-free", "{way}");
        }
        assert_eq!(judge("lazy"), "unsupported");
    };
    all(true);
    let mut plain = Command::new("sh");
    let plain = plain
        .args(["-ec", libraries])
        .current_dir(bench.place.path());
    fine(&plain.output().unwrap());
    all(false);
}

/// Opens `near.so`, which is where only the program's own search path leads. What `dlerror` has to say outlasts calls that are made for the first time.
const SEEKER: &str = r#"
#include <assert.h>
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
static void *early;
__attribute__((constructor)) static void begin(void) { early = dlopen("near.so", RTLD_NOW); }
int main(void) {
    assert(!dlopen("nowhere.so", RTLD_NOW));
    access("seeker.c", F_OK);
    free(malloc(1));
    const char *why = dlerror();
    assert(why && strstr(why, "nowhere.so: cannot open"));
    assert(!dlerror());
    assert(early && dlopen("near.so", RTLD_NOW) == early);
    assert(dlopen("$ORIGIN/below/near.so", RTLD_NOW) == early);
    assert(dlopen("${ORIGIN}/below/far.so", RTLD_NOW));
    assert(!dlsym(RTLD_DEFAULT, "nobody"));
    chdir(".");
    why = dlerror();
    assert(why && strstr(why, "undefined symbol: nobody"));
    assert(!dlopen("near.so", 0));
    why = dlerror();
    assert(why && strstr(why, "invalid mode"));
    return 0;
}
"#;

/// The loader knows who calls it, and keeps what it has to say, with and without the checker.
#[test]
fn libraries_are_found_from_where_they_are_opened() {
    let bench = Bench::new();
    bench.file("seeker.c", SEEKER);
    bench.file("near.c", "int near = 1;\n");
    let libraries =
        "mkdir below; cc -fPIC -shared near.c -o below/near.so; cp below/near.so below/far.so; ";
    let path = "-Wl,-rpath,'$ORIGIN/below',--enable-new-dtags";
    fine(&bench.build(&format!("{libraries}cc -g seeker.c -o seeker {path}")));
    let mut alone = Command::new(bench.path("seeker"));
    fine(&alone.current_dir(bench.place.path()).output().unwrap());
    let said = bench.check(&["./seeker"]);
    assert!(said.contains("\"complete\": true"), "{said}");
    assert!(said.contains("\"errors\": []"), "{said}");
}
