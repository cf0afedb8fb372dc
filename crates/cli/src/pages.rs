//! `reweave report --html` and `--serve`: results for the browser.

use crate::{again, args::Report, print, usage};
use reweave_page::Links;
use reweave_report::{Document, ExitCode, save};
use std::{
    net::{Ipv4Addr, TcpListener},
    path::Path,
};

/// Writes the page of a trace.
pub fn write(document: &Document, from: &Path, to: &Path) -> ExitCode {
    let Document::Trace(trace) = document else {
        return usage(&format!(
            "{}: a page shows one execution, and this is the result of a search; give one of its traces, or a directory \
             to `reweave report --serve`",
            from.display()
        ));
    };
    let again = again(&trace.program, from);
    let links = Links {
        again: again.as_deref(),
        home: None,
    };
    match save(to, &reweave_page::page(trace, &links)) {
        Ok(()) => print(&format!("{}\n", to.display())),
        Err(error) => usage(&error.to_string()),
    }
}

/// Serves a directory to this machine until the process is ended.
pub fn serve(options: &Report) -> ExitCode {
    let directory = options.file.as_deref().unwrap_or(Path::new("reweave-out"));
    if !directory.is_dir() {
        return usage(&format!(
            "{}: no such directory; `reweave check` makes one when it finds an error, --output says where",
            directory.display()
        ));
    }
    let failed = |error| usage(&format!("port {}: cannot be served: {error}", options.port));
    let listener = match TcpListener::bind((Ipv4Addr::LOCALHOST, options.port)) {
        Ok(listener) => listener,
        Err(error) => return failed(error),
    };
    let address = match listener.local_addr() {
        Ok(address) => address,
        Err(error) => return failed(error),
    };
    match print(&format!("http://{address}/\n")) {
        ExitCode::Clean => {}
        code => return code,
    }
    match reweave_page::serve(&listener, directory, again) {
        Ok(()) => ExitCode::Clean,
        Err(error) => failed(error),
    }
}
