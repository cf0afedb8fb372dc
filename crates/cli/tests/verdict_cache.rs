//! Answers from verdicts of earlier checks.

mod bench;

use bench::{Bench, err, fine};
use reweave_report::ResultDocument;
use std::process::Output;

/// N threads count up under a lock, in any order: N! executions.
const COUNTER: &str = r#"
#include <pthread.h>
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int value;
static void *up(void *unused) {
  pthread_mutex_lock(&lock);
  value++;
  pthread_mutex_unlock(&lock);
  return unused;
}
int main(void) {
  pthread_t threads[N];
  for (int i = 0; i < N; i++) pthread_create(&threads[i], 0, up, 0);
  for (int i = 0; i < N; i++) pthread_join(threads[i], 0);
}
"#;

fn out(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// A check of an unchanged program is answered with the verdict of the one before; whatever changed, it is explored again.
#[test]
fn an_unchanged_program_is_not_explored_again() {
    let bench = Bench::new();
    bench.file("up.c", COUNTER);
    let cached = |words: &[&str], vars: &[(&str, &str)]| {
        let keeps = [("REWEAVE_CACHE", "on")];
        let words = [&["check", "--format", "json"], words].concat();
        let vars = [&keeps, vars].concat();
        let output = bench.command(&words).envs(vars).output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{}", err(&output));
        let result = ResultDocument::parse("-".as_ref(), &output.stdout).unwrap();
        assert!(result.complete);
        result
    };
    let size = |threads: u32| (1..=u64::from(threads)).product::<u64>();
    let first = cached(&["-DN=3", "up.c"], &[]);
    assert_eq!((first.executions, first.cached_s), (size(3), None));
    let again = cached(&["-DN=3", "up.c"], &[]);
    assert!(again.cached_s.is_some());
    assert_eq!(
        (again.executions, again.events),
        (first.executions, first.events)
    );
    // Workers and limits that were not reached do not matter.
    let bounded = ["-DN=3", "--workers", "1", "--max-executions", "100", "up.c"];
    assert!(cached(&bounded, &[]).cached_s.is_some());
    for other in [
        &["-DN=4", "up.c"][..],
        &["-DN=3", "--algorithm", "dfs", "up.c"],
        &["-DN=3", "up.c", "--", "word"],
        &["-DN=3", "--no-cache", "up.c"],
        &["-DN=3", "--log", "log", "up.c"],
    ] {
        assert_eq!(cached(other, &[]).cached_s, None, "{other:?}");
    }
    let mut command = bench.command(&["check", "-DN=3", "up.c"]);
    let text = out(&command.env("REWEAVE_CACHE", "on").output().unwrap());
    assert!(
        text.contains("not explored again: nothing has changed"),
        "{text}"
    );
}

/// What depends on the environment or on files is never answered with an old verdict.
#[test]
fn a_program_with_files_or_variables_is_explored_again() {
    let bench = Bench::new();
    bench.file(
        "mode.c",
        "#include <assert.h>\n#include <stdlib.h>\n\
         int main(void) { assert(!getenv(\"BREAK_IT\")); }\n",
    );
    bench.file(
        "all.c",
        "#include <assert.h>\n#include <string.h>\n\
         int main(int count, char **words, char **all) {\n\
           (void)count; (void)words;\n\
           for (; *all; all++) assert(strncmp(*all, \"BREAK\", 5));\n\
         }\n",
    );
    bench.file(
        "early.c",
        "#include <assert.h>\n#include <stdio.h>\n\
         static int there;\n\
         __attribute__((constructor)) static void look(void) { FILE *file = fopen(\"wish\", \"r\"); there = !!file; }\n\
         int main(void) { assert(!there); }\n",
    );
    bench.file(
        "late.c",
        "#include <assert.h>\n#include <unistd.h>\n\
         int main(void) { assert(access(\"wish\", F_OK)); }\n",
    );
    let check = |file: &str, vars: &[(&str, &str)]| {
        let keeps = [("REWEAVE_CACHE", "on")];
        let vars = [&keeps, vars].concat();
        let output = bench.command(&["check", file]).envs(vars).output().unwrap();
        (
            output.status.code().unwrap(),
            out(&output).contains("not explored again"),
        )
    };
    assert_eq!(check("mode.c", &[]), (0, false));
    assert_eq!(check("mode.c", &[]), (0, true));
    assert_eq!(check("mode.c", &[("SHLVL", "7")]), (0, true));
    assert_eq!(check("mode.c", &[("BREAK_IT", "1")]).0, 1);
    assert_eq!(check("all.c", &[]), (0, false));
    assert_eq!(check("all.c", &[]), (0, true));
    assert_eq!(check("all.c", &[("BREAK_IT", "1")]).0, 1);
    for file in ["early.c", "late.c"] {
        assert_eq!(check(file, &[]), (0, false), "{file}");
        assert_eq!(check(file, &[]), (0, false), "{file}");
    }
    bench.file("wish", "");
    for file in ["early.c", "late.c"] {
        assert_eq!(check(file, &[]).0, 1, "{file}");
    }
}

/// A library that the loader finds before the one of the last check, one that could not be opened then, and limits of the shell.
#[test]
fn a_program_with_other_libraries_or_limits_is_explored_again() {
    let bench = Bench::new();
    bench.file("answer.c", "int answer(void) { return ANSWER; }\n");
    bench.file(
        "ask.c",
        "#include <assert.h>\nint answer(void);\nint main(void) { assert(answer() == 1); }\n",
    );
    bench.file(
        "open.c",
        "#include <assert.h>\n#include <dlfcn.h>\n\
         int main(void) { assert(!dlopen(\"./plugin.so\", RTLD_NOW)); }\n",
    );
    bench.file(
        "limit.c",
        "#include <assert.h>\n#include <sys/resource.h>\n\
         int main(void) { struct rlimit now; getrlimit(RLIMIT_STACK, &now); assert(now.rlim_cur != 4 << 20); }\n",
    );
    let build = |script: &str| fine(&bench.run(&["build", "--", "sh", "-ec", script]));
    build(
        "mkdir first second; cc -fPIC -shared -DANSWER=1 answer.c -o second/libanswer.so; \
         cc ask.c -Lsecond -lanswer -Wl,-rpath,'$ORIGIN/first:$ORIGIN/second' -o ask; \
         cc open.c -o open; cc limit.c -o limit",
    );
    let check = |limit: &str, program: &str| {
        let command = bench.command(&["check", "--", program]);
        let words = command.get_args().map(|word| word.to_owned());
        let mut shell = std::process::Command::new("sh");
        let script = format!("{limit} exec \"$0\" \"$@\"");
        shell.args(["-c", &script]).arg(command.get_program());
        shell.args(words).current_dir(bench.place.path());
        for (name, value) in command.get_envs() {
            value.map(|value| shell.env(name, value));
        }
        let output = shell.env("REWEAVE_CACHE", "on").output().unwrap();
        let known = out(&output).contains("not explored again");
        (output.status.code().unwrap(), known)
    };
    assert_eq!(check("", "./ask"), (0, false));
    assert_eq!(check("", "./ask"), (0, true));
    build("cc -fPIC -shared -DANSWER=2 answer.c -o first/libanswer.so");
    assert_eq!(check("", "./ask").0, 1);
    assert_eq!(check("", "./open"), (0, false));
    build("cc -fPIC -shared -DANSWER=1 answer.c -o plugin.so");
    assert_eq!(check("", "./open").0, 1);
    assert_eq!(check("", "./limit"), (0, false));
    assert_eq!(check("", "./limit"), (0, true));
    assert_eq!(check("ulimit -s 4096;", "./limit").0, 1);
}
