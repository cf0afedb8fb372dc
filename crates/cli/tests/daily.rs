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
