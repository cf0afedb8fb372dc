//! `reweave cluster`: the searches of a cluster, looked at, stopped and resumed.
//!
//! *Called by:* `main`. *Owns:* nothing.

use super::{
    connect, program,
    search::{Existing, resume},
};
use crate::{
    args::{ClusterCommand, ClusterOptions, Format},
    check,
    output::{Failure, print, say},
};
use reweave_cluster::{Broker, Manifest, SearchId, Status, manifest_of, public_key, record_of};
use reweave_report::{ExitCode, grouped};
use reweave_toolchain::temporary::TemporaryDirectory;
use std::{
    fmt::Write,
    time::{Duration, Instant},
};

/// Runs the command and returns its exit code.
pub fn run(options: &ClusterOptions) -> ExitCode {
    match manage(options) {
        Ok(code) => code,
        Err(failure) => failure.report(),
    }
}

fn manage(options: &ClusterOptions) -> Result<ExitCode, Failure> {
    let place = &options.place;
    if let ClusterCommand::Key { credentials } = &options.command {
        let credentials = reweave_cluster::Credentials::read(credentials)?;
        let key = public_key(&credentials).ok_or("the file has no line `sign = KEY`".to_owned())?;
        return Ok(print(&format!("trust = {key}\n")));
    }
    let url = place.cluster.as_deref();
    let url = url.ok_or(
        "which cluster? --cluster URL or the variable REWEAVE_CLUSTER names it".to_owned(),
    )?;
    let (broker, _) = connect(url, place.credentials.as_deref())?;
    match &options.command {
        ClusterCommand::Status => Ok(print(&status(&broker)?)),
        ClusterCommand::Stop { search } => stop(&broker, &named(search)?),
        ClusterCommand::Resume { search } => go_on((&broker, url), &named(search)?),
        ClusterCommand::Key { .. } => unreachable!("it needs no cluster"),
    }
}

fn named(search: &str) -> Result<SearchId, Failure> {
    let known = search.parse::<SearchId>();
    Ok(known.map_err(|_| {
        format!("{search}: no search is called so; `reweave cluster status` lists them")
    })?)
}

fn missing(search: &SearchId) -> Failure {
    format!("{search}: there is no such search; `reweave cluster status` lists those there are")
        .into()
}

/// Workers report a few times a second.
const LISTEN: Duration = Duration::from_millis(1200);

fn status(broker: &Broker) -> Result<String, Failure> {
    let fleet = broker.fleet(LISTEN)?;
    let slots: u32 = fleet.iter().map(|it| it.slots).sum();
    let busy: usize = fleet.iter().map(|it| it.busy.len()).sum();
    let mut text = format!(
        "{} workers with {slots} slots, {busy} of them busy\n",
        fleet.len()
    );
    for worker in &fleet {
        let (name, busy) = (&worker.worker, worker.busy.len());
        // A `String` takes everything.
        let _ = writeln!(text, "  {name}: {busy} of {} busy", worker.slots);
        for (search, why) in &worker.refused {
            let _ = writeln!(text, "    cannot explore {search}: {why}");
        }
    }
    let mut none = true;
    for search in broker.searches()? {
        // It may have ended meanwhile, or a server that was away has not heard of its end yet.
        let Some((_, record)) = record_of(broker, &search)? else {
            continue;
        };
        none = false;
        let live: u64 = fleet
            .iter()
            .flat_map(|it| &it.busy)
            .filter(|(id, ..)| *id == search)
            .map(|(_, _, runs)| runs)
            .sum();
        let state = match record.status {
            Status::Running => "running",
            Status::Stopped => "stopped",
        };
        let _ = writeln!(
            text,
            "{search}: {state}, {} executions, {} pieces out, {} reports, {} of them repeated",
            grouped(record.runs + live),
            record.out.len(),
            record.reports + record.repeated,
            record.repeated
        );
    }
    if none {
        text += "no searches\n";
    }
    Ok(text)
}

/// How long a coordinator may take to answer.
const ANSWER: Duration = Duration::from_secs(5);

fn stop(broker: &Broker, search: &SearchId) -> Result<ExitCode, Failure> {
    let begun = Instant::now();
    loop {
        let Some((_, record)) = record_of(broker, search)? else {
            return Err(missing(search));
        };
        if record.status == Status::Stopped {
            say(&format!("search {search} is stopped"));
            return Ok(ExitCode::Clean);
        }
        if begun.elapsed() > ANSWER {
            return Err(format!(
                "search {search} has no coordinator that could stop it; `reweave cluster resume {search}` goes on with it"
            )
            .into());
        }
        broker.ask_to_stop(search);
        std::thread::sleep(Duration::from_millis(200));
    }
}

fn go_on((broker, url): (&Broker, &str), search: &SearchId) -> Result<ExitCode, Failure> {
    let sealed = manifest_of(broker, search)?.ok_or_else(|| missing(search))?;
    let (revision, record) = record_of(broker, search)?.ok_or_else(|| missing(search))?;
    let manifest = Manifest::read(&sealed)?;
    if manifest.build != program::build() {
        return Err(format!(
            "search {search} is of reweave {}, this is {}",
            manifest.build,
            program::build()
        )
        .into());
    }
    let directory = TemporaryDirectory::new_in(&std::env::temp_dir());
    let directory = directory.map_err(|error| format!("no directory for the program: {error}"))?;
    broker.unpack(&manifest, directory.path())?;
    let mut request = program::request(&manifest, directory.path())?;
    request.options.format = Format::Text;
    let (program, settings) = program::open(&manifest, directory.path())?;
    let settings = reweave_check::Settings {
        name: check::stem(&manifest.name),
        ..settings
    };
    let existing = Existing {
        search: search.clone(),
        revision,
        record,
    };
    resume((broker, url), &request, program, settings, existing)
}
