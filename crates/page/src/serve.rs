//! A small server for the results of a directory, for one person at the same machine.
//!
//! *Called by:* `reweave report --serve`. It answers GET on five kinds of address and rereads the directory each time, so
//! that a page shows what is there now. Files go by names from a list of what was found ([`shelf`]): there is no way to name
//! anything else. A request must name this server as its host, or a page from elsewhere could read it by way of a name that
//! leads here.

mod causes;
mod compare;
mod coverage;
mod dates;
mod fleet;
mod list;
mod request;
mod shelf;

use crate::document::{Links, document, escape, page};
use request::{Request, Wrong};
use reweave_report::{Document, Program, Trace};
use shelf::Shelf;
use std::{
    io::{self, Write},
    net::{SocketAddr, TcpListener, TcpStream},
    path::{Path, PathBuf},
    sync::Arc,
    thread,
    time::Duration,
};

/// A request that takes longer to come than this is no browser's.
const PATIENCE: Duration = Duration::from_secs(5);

/// How to run a trace again, for its file.
pub type Again = fn(&Program, &Path) -> Option<String>;

/// Serves a directory until the process ends.
pub fn serve(listener: &TcpListener, directory: &Path, again: Again) -> io::Result<()> {
    let server = Arc::new(Server {
        address: listener.local_addr()?,
        directory: directory.into(),
        again,
    });
    for stream in listener.incoming() {
        // A connection that is gone before it is taken concerns nobody.
        let Ok(stream) = stream else { continue };
        let server = server.clone();
        let answer = move || server.answer(stream);
        thread::Builder::new().spawn(answer)?;
    }
    Ok(())
}

/// A result or a suite as one HTML file, as the server would show it.
pub fn overview(document: Document, path: &Path) -> String {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    list::overview(&name, &Shelf::of(document, path))
}

struct Server {
    address: SocketAddr,
    directory: PathBuf,
    again: Again,
}

/// What is sent back.
struct Answer {
    status: &'static str,
    body: String,
}

impl Server {
    /// Reads one request and answers it. Whoever goes away before that is not told.
    fn answer(&self, mut stream: TcpStream) {
        let limits = [
            stream.set_read_timeout(Some(PATIENCE)),
            stream.set_write_timeout(Some(PATIENCE)),
        ];
        if limits.iter().any(Result::is_err) {
            return;
        }
        let request = Request::read(&mut stream);
        let bodiless = request.as_ref().is_ok_and(|request| request.head);
        let answer = request.and_then(|request| self.find(&request));
        let answer = answer.unwrap_or_else(|wrong| sorry(&wrong));
        let body = if bodiless { "" } else { &answer.body };
        let _ = write!(
            stream,
            "HTTP/1.1 {}\r\nContent-Type: text/html; charset=utf-8\r\nContent-Length: {}\r\n\
             Cache-Control: no-store\r\nX-Content-Type-Options: nosniff\r\nReferrer-Policy: no-referrer\r\n\
             Cross-Origin-Resource-Policy: same-origin\r\nContent-Security-Policy: frame-ancestors 'none'\r\n\
             Connection: close\r\n\r\n{body}",
            answer.status,
            answer.body.len(),
        );
    }

    fn find(&self, request: &Request) -> Result<Answer, Wrong> {
        self.check_host(request)?;
        let shelf = Shelf::look(&self.directory);
        let body = match request.path.as_str() {
            "/" => list::list(&format!("Results in {}", self.directory.display()), &shelf),
            "/compare" => {
                let result = |key| {
                    let name = request
                        .value(key)
                        .ok_or(Wrong::Request("two runs are named by `a` and `b`"))?;
                    shelf.result(name).ok_or(Wrong::NotThere)
                };
                compare::compare(result("a")?, result("b")?)
            }
            about @ ("/coverage" | "/fleet") => {
                let name = request.value("of");
                let name = name.ok_or(Wrong::Request("the search is named by `of`"))?;
                let item = shelf.result(name).ok_or(Wrong::NotThere)?;
                match about {
                    "/fleet" => fleet::fleet(item),
                    _ => coverage::coverage(item),
                }
            }
            path => {
                let name = path.strip_prefix("/trace/").ok_or(Wrong::NotThere)?;
                let (path, trace) = shelf.trace(name).ok_or(Wrong::NotThere)?;
                self.trace(path, trace)
            }
        };
        Ok(Answer {
            status: "200 OK",
            body,
        })
    }

    fn trace(&self, path: &Path, trace: &Trace) -> String {
        let again = (self.again)(&trace.program, path);
        let links = Links {
            again: again.as_deref(),
            home: Some("/"),
        };
        page(trace, &links)
    }

    fn check_host(&self, request: &Request) -> Result<(), Wrong> {
        let port = self.address.port();
        let own = ["127.0.0.1", "localhost", "[::1]"].map(|name| format!("{name}:{port}"));
        match request.host.as_deref() {
            Some(host) if own.iter().any(|name| name == host) => Ok(()),
            // The usual port is left out by browsers.
            Some("localhost" | "127.0.0.1" | "[::1]") if port == 80 => Ok(()),
            _ => Err(Wrong::Request("the request names another host")),
        }
    }
}

fn sorry(wrong: &Wrong) -> Answer {
    let (status, sentence) = match wrong {
        Wrong::Request(why) => ("400 Bad Request", *why),
        Wrong::Method => ("405 Method Not Allowed", "only GET is answered"),
        Wrong::NotThere => ("404 Not Found", "there is nothing of this name"),
    };
    let body = format!(
        "<main class=\"list\"><h1>{}</h1><p>{}</p><p><a href=\"/\">All results</a></p></main>\n",
        escape(status),
        escape(sentence)
    );
    Answer {
        status,
        body: frame(status, &body),
    }
}

const STYLE: &str = concat!(
    include_str!("../assets/common.css"),
    include_str!("../assets/list.css")
);
const SCRIPT: &str = concat!(
    include_str!("../assets/theme.js"),
    include_str!("../assets/list.js")
);

/// A page of the server's own.
fn frame(title: &str, body: &str) -> String {
    document(&format!("{title} – Reweave"), STYLE, SCRIPT, body)
}
