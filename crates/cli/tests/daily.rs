//! Daily use: help, colour, completions.

mod bench;

use bench::{Bench, err, fine};

/// Two threads take two locks in opposite orders.
const INVERSION: &str = r#"
#include <mutex>
#include <thread>
std::mutex first, second;
int main() {
  std::thread other([] {
    std::lock_guard one(second);
    std::lock_guard two(first);
  });
  {
    std::lock_guard one(first);
    std::lock_guard two(second);
  }
  other.join();
}
"#;

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

fn out(output: &std::process::Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

#[test]
fn help_of_a_command_is_the_same_both_ways() {
    let bench = Bench::new();
    for verb in ["check", "suite", "replay"] {
        let asked = out(&bench.run(&["help", verb]));
        assert_eq!(asked, out(&bench.run(&[verb, "--help"])), "{verb}");
        assert!(asked.contains(&format!("Usage: reweave {verb}")), "{asked}");
    }
    assert!(out(&bench.run(&["help", "check"])).contains("-std="));
}

#[test]
fn misspelt_commands_have_suggestions() {
    let bench = Bench::new();
    for (words, meant) in [
        (&["chekc", "a.c"][..], "check"),
        (&["replya"], "replay"),
        (&["help", "chekc"], "check"),
        (&["--color", "never", "siute"], "suite"),
    ] {
        let output = bench.run(words);
        assert_eq!(output.status.code(), Some(2));
        let asks = format!("did you mean {meant}?");
        assert!(err(&output).contains(&asks), "{}", err(&output));
    }
}

#[test]
fn the_option_decides_about_colour_and_then_the_environment() {
    let bench = Bench::new();
    bench.file("inversion.cc", INVERSION);
    assert_eq!(bench.run(&["check", "inversion.cc"]).status.code(), Some(1));
    let colored = |option: &str, variables: &[(&str, &str)]| {
        let words = ["--color", option, "report", "reweave-out/inversion-1.rwt"];
        let mut command = bench.command(&words);
        command.env_remove("NO_COLOR").env_remove("CLICOLOR_FORCE");
        command.envs(variables.iter().copied());
        out(&command.output().unwrap()).contains('\x1b')
    };
    assert!(!colored("auto", &[]));
    assert!(colored("always", &[]));
    assert!(colored("auto", &[("CLICOLOR_FORCE", "1")]));
    assert!(!colored("auto", &[("CLICOLOR_FORCE", "0")]));
    assert!(!colored("never", &[("CLICOLOR_FORCE", "1")]));
    assert!(!colored(
        "auto",
        &[("CLICOLOR_FORCE", "1"), ("NO_COLOR", "1")]
    ));
    assert!(colored("always", &[("NO_COLOR", "1")]));
    // The verb's words may have the option as well; the program's are its own.
    let mixed = bench.run(&["check", "--color=always", "inversion.cc"]);
    assert!(out(&mixed).contains('\x1b'));
    let own = bench.run(&["check", "inversion.cc", "--", "--color=always"]);
    assert!(!out(&own).contains('\x1b'));
}

#[test]
fn shells_complete_words() {
    let bench = Bench::new();
    for shell in ["bash", "zsh", "fish"] {
        let output = bench.run(&["completions", shell]);
        fine(&output);
        assert!(out(&output).contains("keep-going"), "{shell}");
    }
    bench.file("reweave.bash", &out(&bench.run(&["completions", "bash"])));
    let complete = |line: &str| {
        let words: Vec<&str> = line.split(' ').collect();
        let last = words.len() - 1;
        let script = format!(
            "source ./reweave.bash; COMP_WORDS=({line}); COMP_CWORD={last}; \
             _reweave reweave '{}' '{}'; echo \"${{COMPREPLY[@]}}\"",
            words[last],
            words[last - 1]
        );
        let mut bash = std::process::Command::new("bash");
        let output = bash.args(["-c", &script]).current_dir(bench.place.path());
        out(&output.output().unwrap())
    };
    assert_eq!(complete("reweave repl").trim(), "replay");
    assert_eq!(complete("reweave check --keep").trim(), "--keep-going");
    assert_eq!(complete("reweave check --races expl").trim(), "explore");
}

#[test]
fn every_command_has_a_manual_page() {
    let bench = Bench::new();
    fine(&bench.run(&["man", "pages"]));
    let page =
        |name: &str| std::fs::read_to_string(bench.path(&format!("pages/{name}.1"))).unwrap();
    assert!(page("reweave").contains("reweave\\-check(1)"));
    let check = page("reweave-check");
    assert!(
        check.contains(".TH") && check.contains("keep\\-going"),
        "{check}"
    );
    let refused = bench.command(&["man", "/dev/null/pages"]).output().unwrap();
    assert_eq!(refused.status.code(), Some(2));
}

/// 5! = 120 executions in parts of 50.
#[test]
fn a_search_that_was_stopped_is_continued() {
    let bench = Bench::new();
    bench.file("counter.c", COUNTER);
    let check = |more: &[&str], file: &str| {
        let words = ["check", "-DN=5", "--workers", "1", "--max-executions", "50"];
        let output = bench.run(&[&words[..], more, &["--format", "json", file]].concat());
        let json: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        (
            json["executions"].as_u64().unwrap(),
            output.status.code().unwrap(),
            err(&output),
        )
    };
    let resume = &["--resume"][..];
    let (executions, code, says) = check(resume, "counter.c");
    assert_eq!((executions, code), (50, 3));
    assert!(
        says.contains("no search was stopped before its end"),
        "{says}"
    );
    assert_eq!(check(resume, "counter.c"), (100, 3, String::new()));
    // Another algorithm is another search.
    let (executions, _, says) = check(&["--resume", "--algorithm", "dfs"], "counter.c");
    assert_eq!(executions, 50);
    assert!(
        says.contains("is of another program, other options"),
        "{says}"
    );
    assert_eq!(check(&[], "counter.c").0, 50);
    assert_eq!(check(resume, "counter.c").0, 100);
    assert_eq!(check(resume, "counter.c"), (120, 0, String::new()));
    assert!(!bench.path("reweave-out/counter.search").exists());
    // So is the search of a program that has changed.
    check(&[], "counter.c");
    bench.file("counter.c", &COUNTER.replace("value++", "value += 2"));
    let (executions, _, says) = check(resume, "counter.c");
    assert_eq!(executions, 50);
    assert!(says.contains("it is explored from the beginning"), "{says}");
}

/// Variables count if the program names them.
#[test]
fn a_search_is_continued_in_the_same_environment() {
    let bench = Bench::new();
    let asks = "#include <stdlib.h>\nchar *mode(void) { return getenv(\"MODE\"); }\n";
    bench.file("counter.c", &format!("{asks}{COUNTER}"));
    let executions = |name: &str, value: &str| {
        let mut command = bench.command(&["check", "-DN=5", "--max-executions", "50"]);
        command.args(["--resume", "--format", "json", "counter.c"]);
        let output = command.env(name, value).output().unwrap();
        let json: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        (json["executions"].as_u64().unwrap(), err(&output))
    };
    assert_eq!(executions("MODE", "a").0, 50);
    assert_eq!(executions("MODE", "a").0, 100);
    let (count, says) = executions("MODE", "b");
    assert_eq!(count, 50);
    assert!(says.contains("an environment variable"), "{says}");
    assert_eq!(executions("OTHER", "a").0, 50);
    assert_eq!(executions("OTHER", "b").0, 100);
}

/// A loop of eight rounds in each of four threads: far too many executions.
#[test]
fn a_search_that_cannot_finish_has_advice() {
    let bench = Bench::new();
    let loops = COUNTER.replace(
        "  pthread_mutex_lock(&lock);",
        "  for (int i = 0; i < 8; i++) {\n  pthread_mutex_lock(&lock);",
    );
    bench.file(
        "loop.c",
        &loops.replace("unlock(&lock);", "unlock(&lock);\n  }"),
    );
    bench.file("many.c", COUNTER);
    let check =
        |n: &str, file: &str| out(&bench.run(&["check", n, "--max-executions", "200", file]));
    let text = check("-DN=4", "loop.c").replace("\n  ", " ");
    assert!(text.contains("advice: --preemptions 2 explores"), "{text}");
    // The lock: 8 rounds of 4 threads are half of the steps, the other half unlocks.
    let names = "a loop comes to loop.c:7 8 times in main.0; 32 of the 64 steps";
    assert!(text.contains(names), "{text}");
    let text = check("-DN=14", "many.c").replace("\n  ", " ");
    assert!(
        text.contains("14 threads come to many.c:6; 14 of the 28 steps"),
        "{text}"
    );
    let small = check("-DN=6", "many.c");
    assert!(
        small.contains("max-executions") && !small.contains("advice"),
        "{small}"
    );
}

/// What the command wrote on a terminal with so many columns.
fn on_terminal(bench: &Bench, columns: usize, words: &str) -> String {
    let reweave = env!("CARGO_BIN_EXE_reweave");
    let line = format!("stty rows 24 cols {columns}; exec {reweave} {words}");
    let mut script = std::process::Command::new("script");
    let output = script
        .args(["-qec", &line, "/dev/null"])
        .current_dir(bench.place.path())
        .env("XDG_CACHE_HOME", bench.path("cache"))
        .env("TERM", "xterm")
        .stdin(std::process::Stdio::null())
        .output();
    out(&output.expect("it is part of every Debian"))
}

#[test]
fn progress_is_one_line_that_fits() {
    let bench = Bench::new();
    bench.file("counter.c", COUNTER);
    for columns in [40, 80] {
        let text = on_terminal(&bench, columns, "check -DN=12 --budget 2s counter.c");
        let (lines, result) = text.rsplit_once("\r\x1b[K").unwrap();
        let lines: Vec<&str> = lines.split("\r\x1b[K").collect();
        assert!(
            lines
                .iter()
                .all(|line| line.len() < columns && !line.contains('\n')),
            "{lines:?}"
        );
        let begins = if columns == 40 {
            "counter.c exploring"
        } else {
            "counter.c exploring ["
        };
        assert!(
            lines.iter().any(|line| line.starts_with(begins)),
            "{lines:?}"
        );
        assert!(result.contains("advice"), "{result}");
    }
}

/// Two calls that are refused, one of them below two others, and two pieces of assembly in one file.
#[test]
fn what_was_not_explored_has_place_stack_and_remedy() {
    let bench = Bench::new();
    let text = "#include <pthread.h>\n#include <sys/socket.h>\n#include <unistd.h>\n\
        static long pair[2] __attribute__((aligned(16)));\n\
        static void swap(void) { __asm__ volatile(\"lock cmpxchg16b %0\" : \"+m\"(pair) :: \"rax\", \"rbx\", \"rcx\", \"rdx\"); }\n\
        static void again(void) { __asm__ volatile(\"lock cmpxchg16b %0\" : \"+m\"(pair) :: \"rax\", \"rbx\", \"rcx\", \"rdx\"); }\n\
        static void talk(void) { socket(AF_INET6, SOCK_STREAM, 0); }\n\
        static void serve(void) { talk(); }\n\
        static void *work(void *unused) { swap(); again(); serve(); return unused; }\n\
        int main(void) { pthread_t t; pthread_create(&t, 0, work, 0); if (fork() == 0) _exit(0); pthread_join(t, 0); }\n";
    bench.file("server.c", text);
    let output = bench.run(&["check", "server.c"]);
    assert_eq!(output.status.code(), Some(3));
    let text = out(&output);
    let first = text.lines().next().unwrap();
    assert!(
        first.contains("(unsupported: 2 calls, uninstrumented: 2 places)"),
        "{text}"
    );
    for line in [
        "  not explored: unsupported: fork beside other threads, at server.c:10",
        "    called by talk at server.c:7",
        "    called by serve at server.c:8",
        "    to do: replace the connection in the test",
        "  not explored: uninstrumented: server.c, line 5, 6",
        "    to do: use the compiler's atomics",
    ] {
        assert!(text.contains(&format!("\n{line}")), "{line}:\n{text}");
    }
    let output = bench.run(&["check", "--format", "json", "server.c"]);
    let json: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let socket = &json["unexplored"][1];
    assert_eq!(socket["reason"], "unsupported: socket of IPv6");
    assert_eq!(socket["location"], "server.c:7");
    assert_eq!(socket["stack"][2], "work at server.c:9");
}

#[test]
fn the_tutorial_is_what_happens() {
    let bench = Bench::new();
    let docs = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs");
    let read = |name: &str| std::fs::read_to_string(format!("{docs}/{name}")).unwrap();
    let (tutorial, program) = (read("tutorial.md"), read("tutorial/jobs.c"));
    // Blocks of output stand there as they come, but for what the command says after them.
    let holds = |text: &str| {
        let mut blocks = tutorial.split("```text\n").skip(1);
        let mut blocks = blocks.by_ref().filter_map(|rest| rest.split("```").next());
        assert!(
            blocks.any(|block| text.starts_with(block.trim_end())),
            "{text}"
        );
    };
    bench.file("jobs.c", &program);
    let failing = bench.run(&["check", "jobs.c"]);
    assert_eq!(failing.status.code(), Some(1));
    holds(&out(&failing));
    let fixed = program.replace("if (jobs == 0)", "while (jobs == 0)");
    bench.file("jobs.c", &fixed);
    holds(&err(&bench.run(&["replay", "reweave-out/jobs-1.rwt"])));
    let whole = bench.run(&["check", "jobs.c"]);
    assert_eq!(whole.status.code(), Some(0));
    holds(&out(&whole));
    for line in tutorial
        .split("```c\n")
        .nth(1)
        .unwrap()
        .split("```")
        .next()
        .unwrap()
        .lines()
    {
        assert!(program.contains(line), "{line}");
    }
}

#[test]
fn the_first_page_is_short() {
    let readme = include_str!("../../../README.md");
    assert!(
        readme.lines().count() <= 200,
        "{} lines",
        readme.lines().count()
    );
}

/// Two races: one that is known, and one that is not. The known one can make an assertion fail, which is found.
#[test]
fn a_directory_has_options_and_known_races() {
    let bench = Bench::new();
    let text = "#include <assert.h>\n#include <pthread.h>\nstatic int hits, total;\n\
        static void *up(void *unused) {\n\
        hits++;\n\
        if (TOTAL) total++;\n\
        return unused; }\n\
        int main(void) { pthread_t t; pthread_create(&t, 0, up, 0); up(0); pthread_join(t, 0);\n\
        assert(!STRICT || hits == 2); }\n";
    bench.file("hits.c", text);
    let known = "[check]\nkeep-going = true\nflags = [\"-DTOTAL=0\"]\n\
        [[suppress]]\nkind = \"data-race\"\nplaces = [\"hits.c:5\"]\nreason = \"statistics\"\n";
    let check = |words: &[&str], code: i32| {
        let output = bench.run(&[&["check"], words, &["hits.c"]].concat());
        let text = out(&output) + &err(&output);
        assert_eq!(output.status.code(), Some(code), "{text}");
        text
    };
    check(&["-DTOTAL=0", "-DSTRICT=0"], 1);
    bench.file("reweave.toml", known);
    let text = check(&["-DSTRICT=0"], 0);
    assert!(
        text.contains("complete, ") && text.contains("known: data-race at hits.c:5"),
        "{text}"
    );
    assert!(text.contains("statistics"), "{text}");
    // An increment that is lost: what the known race can do.
    let text = check(&["-DSTRICT=1"], 1);
    assert!(text.contains("assertion in hits.c"), "{text}");
    assert!(!text.contains("data-race in"), "{text}");
    // The race of another line is no known one; the command line comes after the file.
    let text = check(&["-DSTRICT=0", "-UTOTAL", "-DTOTAL=1"], 1);
    assert!(
        text.contains("data-race in hits.c") && text.contains("hits.c:6"),
        "{text}"
    );
    let text = check(&["-DSTRICT=0", "--max-executions", "1"], 3);
    assert!(text.contains("max-executions"), "{text}");
    bench.file("reweave.toml", &known.replace("keep-going", "keepgoing"));
    let text = check(&["-DSTRICT=0"], 2);
    assert!(
        text.contains("reweave.toml:2: `reweave check` has no option --keepgoing"),
        "{text}"
    );
}
