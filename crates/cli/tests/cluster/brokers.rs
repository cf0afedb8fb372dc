//! Brokers of tests: `nats-server` processes on free ports of this machine.

use std::{
    fs,
    path::Path,
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};
use tempfile::TempDir;

/// A broker. Ends with its value.
pub struct Broker {
    process: Child,
    pub url: String,
    _directory: TempDir,
}

impl Broker {
    /// With streams, on a free port.
    pub fn start() -> Broker {
        Broker::with(&["-js"])
    }

    /// With these words of its command line.
    pub fn with(words: &[&str]) -> Broker {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let path = directory.path();
        let mut command = Command::new(server());
        command.args(["-a", "127.0.0.1", "-p", "-1"]).args(words);
        command.arg("-sd").arg(path.join("data"));
        command.arg("--ports_file_dir").arg(path);
        command.stdout(Stdio::null()).stderr(Stdio::null());
        let mut process = command.spawn().expect("apt-get install nats-server");
        let begun = Instant::now();
        let url = loop {
            if let Some(url) = address(path) {
                break url;
            }
            let early = process.try_wait().expect("it can be waited for");
            assert!(early.is_none(), "nats-server ended: {early:?}");
            assert!(begun.elapsed() < Duration::from_secs(20), "no nats-server");
            std::thread::sleep(Duration::from_millis(20));
        };
        Broker {
            process,
            url,
            _directory: directory,
        }
    }
}

/// Where Debian puts it, unless it is in `PATH`.
fn server() -> &'static str {
    match Path::new("/usr/sbin/nats-server").exists() {
        true => "/usr/sbin/nats-server",
        false => "nats-server",
    }
}

/// The address in the file that the server writes when it listens.
fn address(directory: &Path) -> Option<String> {
    let entries = fs::read_dir(directory).ok()?.flatten();
    let mut files = entries.filter(|it| it.path().extension().is_some_and(|it| it == "ports"));
    let text = fs::read_to_string(files.next()?.path()).ok()?;
    let ports: serde_json::Value = serde_json::from_str(&text).ok()?;
    Some(ports["nats"][0].as_str()?.to_owned())
}

impl Drop for Broker {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
