//! `reweave report --html` and `--serve`: results for the browser.

use crate::{
    args::ReportOptions,
    output::{print, replay_line, usage},
};
use reweave_page::Links;
use reweave_report::{Document, ExitCode, save};
use std::{
    net::{Ipv4Addr, TcpListener},
    path::Path,
};

/// Writes the page of a trace, a result or a suite.
pub fn write(document: Document, from: &Path, to: &Path) -> ExitCode {
    let page = match &document {
        Document::Trace(trace) => {
            let again = replay_line(&trace.program, from);
            let links = Links {
                again: again.as_deref(),
                home: None,
            };
            reweave_page::page(trace, &links)
        }
        Document::Result(_) | Document::Suite(_) => reweave_page::overview(document, from),
    };
    match save(to, &page) {
        Ok(()) => print(&format!("{}\n", to.display())),
        Err(error) => usage(&error.to_string()),
    }
}

/// Serves a directory to this machine until the process is ended.
pub fn serve(options: &ReportOptions) -> ExitCode {
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
    match reweave_page::serve(&listener, directory, replay_line) {
        Ok(()) => ExitCode::Clean,
        Err(error) => failed(error),
    }
}
