//! `reweave simulate`: what a cluster of any size would make of a search, in a table.
//!
//! *Called by:* `main`. *Owns:* nothing.

use crate::{
    args::{Format, SimulateOptions},
    output::{Failure, print},
};
use reweave_cluster::{Course, Pace, Setting, Tree};
use reweave_explore::Recorded;
use reweave_report::{ExitCode, grouped, open};
use std::{fmt::Write, io::BufReader, time::Duration};

/// Runs the command and returns its exit code.
pub fn run(options: &SimulateOptions) -> ExitCode {
    match simulated(options) {
        Ok(courses) => print(&match options.format {
            Format::Text => table(&courses),
            Format::Json => document(&courses),
        }),
        Err(failure) => failure.report(),
    }
}

fn simulated(options: &SimulateOptions) -> Result<Vec<Course>, Failure> {
    let tree = match (&options.log, options.tree) {
        (Some(log), _) => {
            let file = open(log).map_err(|error| error.to_string())?;
            let recorded = Recorded::read(BufReader::new(file));
            let recorded = recorded.map_err(|error| format!("{}: {error}", log.display()))?;
            Tree::recorded(&recorded)
        }
        (None, Some(shape)) => Tree::Generated(shape),
        (None, None) => unreachable!("one of them is required"),
    };
    if !(0.0..=50.0).contains(&options.lost) {
        return Err("--lost is a percentage, 50 at most".to_owned().into());
    }
    let rates = [options.deaths, options.takeovers];
    if !rates.iter().all(|rate| (0.0..=600.0).contains(rate)) {
        return Err("--deaths and --takeovers are at most 600 an hour"
            .to_owned()
            .into());
    }
    let usual = Pace::default();
    let pace = Pace {
        slice_ms: options
            .slice
            .map_or(usual.slice_ms, |it| it.as_millis().max(1) as u64),
        variable: !options.fixed,
        ..usual
    };
    let setting = |workers: usize| Setting {
        workers,
        cores: options.cores.get(),
        seed: options.seed,
        execution: options.execution,
        latency: options.latency,
        operation: options.operation,
        lost: options.lost / 100.0,
        deaths_per_hour: options.deaths,
        takeovers_per_hour: options.takeovers,
        pace,
        ..Setting::default()
    };
    let courses = options.workers.iter();
    let courses = courses.map(|workers| reweave_cluster::simulate(&tree, &setting(workers.get())));
    Ok(courses.collect())
}

fn seconds(ns: u64) -> String {
    format!("{:.2} s", Duration::from_nanos(ns).as_secs_f64())
}

fn table(courses: &[Course]) -> String {
    let mut text = String::new();
    if let Some(first) = courses.first() {
        let (runs, alone) = (grouped(first.runs), seconds(first.alone_ns));
        // A `String` takes everything.
        let _ = writeln!(text, "{runs} executions, {alone} one after the other\n");
    }
    let _ = writeln!(
        text,
        "{:>7} {:>12} {:>9} {:>7} {:>9} {:>8} {:>9} {:>9} {:>7} {:>6}  most time lost",
        "workers",
        "time",
        "speedup",
        "linear",
        "all busy",
        "reports",
        "repeated",
        "broker",
        "",
        "leader"
    );
    for course in courses {
        let seconds_in_all = Duration::from_nanos(course.time_ns).as_secs_f64();
        let rate = course.operations as f64 / seconds_in_all.max(1e-9);
        let slots = course.time_ns.max(1) as f64 * course.workers as f64;
        let (what, time) = course.spent.losses()[0];
        let _ = writeln!(
            text,
            "{:>7} {:>12} {:>9.1} {:>6.1}% {:>9} {:>8} {:>9} {:>7}/s {:>6.1}% {:>5.1}%  {what} ({:.1}%)",
            course.workers,
            seconds(course.time_ns),
            course.speedup(),
            100.0 * course.efficiency(),
            course.all_busy_ns.map_or("never".into(), seconds),
            grouped(course.reports),
            grouped(course.repeated),
            grouped(rate as u64),
            100.0 * course.part(course.broker_ns),
            100.0 * course.part(course.coordinator_ns),
            100.0 * time as f64 / slots,
        );
    }
    text
}

fn document(courses: &[Course]) -> String {
    let all = courses.iter().map(|course| {
        let losses = course.spent.losses().into_iter();
        let losses: serde_json::Map<String, serde_json::Value> = losses
            .map(|(name, ns)| (name.to_owned(), ns.into()))
            .collect();
        serde_json::json!({
            "workers": course.workers,
            "executions": course.runs,
            "alone_ns": course.alone_ns,
            "time_ns": course.time_ns,
            "speedup": course.speedup(),
            "efficiency": course.efficiency(),
            "all_busy_ns": course.all_busy_ns,
            "reports": course.reports,
            "repeated": course.repeated,
            "deaths": course.deaths,
            "pauses": course.pauses,
            "takeovers": course.takeovers,
            "broker_operations": course.operations,
            "broker_ns": course.broker_ns,
            "coordinator_ns": course.coordinator_ns,
            "exploring_ns": course.spent.exploring,
            "lost_ns": losses,
        })
    });
    let all: Vec<serde_json::Value> = all.collect();
    format!("{:#}\n", serde_json::Value::from(all))
}
