//! Brokers of tests: `nats-server` processes on free ports of this machine.

use std::{
    fs,
    net::TcpListener,
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

/// Three brokers that hold everything three times. Any of them may be killed and started again, one at a time.
pub struct Trio {
    processes: [Option<Child>; 3],
    ports: [u16; 6],
    /// Of all three.
    pub url: String,
    directory: TempDir,
}

impl Trio {
    /// On free ports.
    pub fn start() -> Trio {
        // All of them are held until all are known, so that they differ.
        let held: Vec<TcpListener> = (0..6)
            .map(|_| TcpListener::bind("127.0.0.1:0").expect("a free port"))
            .collect();
        let port = |it: &TcpListener| it.local_addr().expect("it is bound").port();
        let ports: Vec<u16> = held.iter().map(port).collect();
        drop(held);
        let urls: Vec<String> = ports[..3]
            .iter()
            .map(|port| format!("nats://127.0.0.1:{port}"))
            .collect();
        let mut trio = Trio {
            processes: [None, None, None],
            ports: ports.try_into().expect("six"),
            url: urls.join(","),
            directory: tempfile::tempdir().expect("a temporary directory"),
        };
        (0..3).for_each(|index| trio.begin(index));
        trio
    }

    /// Starts one, with what it had stored.
    pub fn begin(&mut self, index: usize) {
        let routes: Vec<String> = self.ports[3..]
            .iter()
            .map(|port| format!("nats://127.0.0.1:{port}"))
            .collect();
        let [client, peers] = [self.ports[index], self.ports[3 + index]];
        let mut command = Command::new(server());
        command.args(["-js", "-a", "127.0.0.1", "-p", &client.to_string()]);
        command.args(["-n", &format!("node-{index}"), "--cluster_name", "trio"]);
        command.args(["--cluster", &format!("nats://127.0.0.1:{peers}")]);
        command.args(["--routes", &routes.join(",")]);
        command
            .arg("-sd")
            .arg(self.directory.path().join(index.to_string()));
        command.stdout(Stdio::null()).stderr(Stdio::null());
        self.processes[index] = Some(command.spawn().expect("apt-get install nats-server"));
    }

    /// As `kill -9` does.
    pub fn kill(&mut self, index: usize) {
        if let Some(mut process) = self.processes[index].take() {
            let _ = process.kill();
            let _ = process.wait();
        }
    }
}

impl Drop for Trio {
    fn drop(&mut self) {
        (0..3).for_each(|index| self.kill(index));
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
