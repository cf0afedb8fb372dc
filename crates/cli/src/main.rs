//! The `reweave` command: turns arguments into calls, results into output and an exit code.
//!
//! The only crate that prints or ends the process. Every expected mistake ends with one sentence on standard error that
//! says what to do, and with the code of the contract.
#![forbid(unsafe_code)]

mod args;
mod check;
mod compiling;
mod evaluate;
mod kit;
mod pages;
mod suite;

use args::{Cli, Command, Replay, Report, Shape};
use clap::Parser;
use reweave_drive::compile::Language;
use reweave_report::{
    Document, ExitCode, Program, Shown, Sources, Style, Trace, chrome, dot, github, junit_result,
    junit_suite, render_result, render_suite, render_trace, sarif, save,
};
use std::{
    io::{self, IsTerminal, Write},
    path::Path,
    process,
};

fn main() -> process::ExitCode {
    let mut words = std::env::args_os().skip(1);
    let verb = words.next().unwrap_or_default();
    // Their arguments are read by themselves, `--` and all.
    let raw = match verb.to_str() {
        Some("check") => Some(check::run(words.collect()).code()),
        Some("estimate") => Some(check::estimate(words.collect()).code()),
        Some("cc") => Some(compiling::compile(Language::C, words.collect())),
        Some("c++") => Some(compiling::compile(Language::Cxx, words.collect())),
        _ => None,
    };
    process::ExitCode::from(raw.unwrap_or_else(others))
}

fn others() -> u8 {
    match Cli::try_parse() {
        Ok(cli) => run(cli.command),
        Err(error) => {
            // Help and version go to standard output with code 0; a closed pipe there is nobody's mistake.
            let _ = error.print();
            if error.use_stderr() {
                ExitCode::Usage.code()
            } else {
                ExitCode::Clean.code()
            }
        }
    }
}

/// Says with which code to exit.
fn run(command: Command) -> u8 {
    let code = match command {
        Command::Report(options) => report(&options),
        Command::Replay(options) => replay(&options),
        Command::Suite(options) => suite::run(&options),
        Command::Build(options) => compiling::build(&options.command),
        Command::Evaluate(options) => evaluate::run(&options.logs),
        Command::Check(_) | Command::Estimate(_) | Command::Cc(_) | Command::Cxx(_) => {
            unreachable!("was run before the others were looked at")
        }
    };
    code.code()
}

fn report(options: &Report) -> ExitCode {
    if options.serve {
        return pages::serve(options);
    }
    let file = options.file.as_deref().unwrap_or(Path::new(""));
    let document = match Document::read(file) {
        Ok(document) => document,
        Err(error) => return usage(&error.to_string()),
    };
    if let Some(to) = &options.html {
        return pages::write(document, file, to);
    }
    if let Some(path) = &options.junit {
        let xml = match &document {
            Document::Result(result) => junit_result(result),
            Document::Suite(suite) => junit_suite(suite),
            Document::Trace(_) => {
                return usage("--junit is for results and suites, and this is a trace");
            }
        };
        if let Err(error) = save(path, &xml) {
            return usage(&error.to_string());
        }
    }
    let style = style(options.full, options.plain);
    let shown = || match &document {
        Document::Trace(trace) => Shown::of_trace(trace, file),
        Document::Result(result) => Shown::of_result(result, file),
        Document::Suite(suite) => Shown::of_suite(suite, file),
    };
    print(&match (&document, options.format) {
        (_, Shape::Sarif) => sarif(&shown()),
        (_, Shape::Github) => github(&shown()),
        (Document::Trace(_), Shape::Junit) => {
            return usage("JUnit is for results and suites, and this is a trace");
        }
        (Document::Result(result), Shape::Junit) => junit_result(result),
        (Document::Suite(suite), Shape::Junit) => junit_suite(suite),
        (Document::Trace(trace), Shape::Json) => trace.to_json(),
        (Document::Trace(trace), Shape::Dot) => dot(trace),
        (Document::Trace(trace), Shape::Chrome) => chrome(trace),
        (Document::Trace(trace), Shape::Text) => {
            let again = again(&trace.program, file);
            render_trace(trace, again.as_deref(), &Sources::of(trace), style)
        }
        (Document::Result(result), Shape::Json) => result.to_json(),
        (Document::Result(result), Shape::Text) => render_result(result, style),
        (Document::Suite(suite), Shape::Json) => suite.to_json(),
        (Document::Suite(suite), Shape::Text) => render_suite(suite, style),
        (Document::Result(_) | Document::Suite(_), Shape::Dot | Shape::Chrome) => {
            return usage(&format!(
                "{}: this is about many executions, and the picture is one of a single one; name a trace",
                file.display()
            ));
        }
    })
}

fn replay(options: &Replay) -> ExitCode {
    let trace = match Trace::read(&options.trace) {
        Ok(trace) => trace,
        Err(error) => return usage(&error.to_string()),
    };
    let kind = &trace.program.kind;
    if kind == "native" {
        let debugging = options.gdb.then(|| check::Debugging {
            until: options.until,
            args: options.debugger.clone(),
        });
        let style = style(options.full, options.plain);
        return check::replay(&options.trace, &trace, style, debugging.as_ref());
    }
    // A test lives in its own test program: only `cargo test` can run it again.
    let mut sentence = format!("{}: ", options.trace.display());
    if options.gdb {
        sentence += &format!(
            "--gdb is for native programs: the threads of a {kind} are fibers, which gdb does not see; "
        );
    }
    sentence += &match again(&trace.program, &options.trace) {
        Some(again) => format!("a {kind} is run again by its own test program; type\n  {again}"),
        None => format!("this version cannot run a `{kind}` again, and the trace does not say how"),
    };
    usage(&sentence)
}

/// The line that runs the trace in this file again.
fn again(program: &Program, file: &Path) -> Option<String> {
    let file = file.display().to_string();
    let plain = |c: char| c.is_alphanumeric() || "/._-+:@%,".contains(c);
    let quoted = match file.chars().all(plain) {
        true => file,
        false => format!("'{}'", file.replace('\'', r"'\''")),
    };
    Some(program.replay.as_ref()?.replace("{trace}", &quoted))
}

/// Colour only for a person at a terminal who did not ask for none; as wide as that.
fn style(full: bool, plain: bool) -> Style {
    let refused = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    let terminal = io::stdout().is_terminal();
    let width = terminal_size::terminal_size_of(io::stdout());
    let width = width.map(|(width, _)| usize::from(width.0));
    Style {
        colour: terminal && !refused && !plain,
        width: width.map_or(Style::default().width, |width| width.clamp(40, 200)),
        full,
        plain,
    }
}

/// Standard output, and the code for having shown something. A reader that went away (`| head`) is no error.
fn print(text: &str) -> ExitCode {
    let mut out = io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Ok(()) => ExitCode::Clean,
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => ExitCode::Clean,
        Err(error) => usage(&format!("standard output cannot be written: {error}")),
    }
}

fn usage(sentence: &str) -> ExitCode {
    say(sentence);
    ExitCode::Usage
}

/// A sentence on standard error. Where that is closed there is nobody left to tell; the exit code still says it.
fn say(sentence: &str) {
    let _ = writeln!(io::stderr(), "reweave: {sentence}");
}
