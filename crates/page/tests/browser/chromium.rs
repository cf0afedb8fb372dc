//! Debian's chromium, driven through its DevTools pipe: JSON messages with a zero byte after each.

use base64::{Engine, prelude::BASE64_STANDARD};
use serde_json::{Value, json};
use std::{
    fs,
    io::{BufRead, BufReader, Write},
    path::{Path, PathBuf},
    process::{Child, ChildStdin, ChildStdout, Command, Stdio},
};

/// A browser with one page.
pub struct Browser {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    session: Option<String>,
    last: u64,
    /// Pages loaded so far.
    loads: u64,
    /// What the page complained about.
    pub complaints: Vec<String>,
    _profile: tempfile::TempDir,
}

/// Seconds after which a browser is ended, so that a test fails and does not hang.
const LIMIT_S: &str = "240";

impl Browser {
    /// Starts it with an empty page of this size.
    pub fn start(width: u32, height: u32) -> Browser {
        let program = ["chromium", "chromium-browser", "google-chrome"]
            .into_iter()
            .find(|name| is_there(name))
            .expect(
                "no chromium: `apt-get install chromium`, the page is tested in a real browser",
            );
        let profile = tempfile::tempdir().expect("a directory for the profile");
        // The pipe is on descriptors 3 and 4, which a shell can set without more ado.
        let mut child = Command::new("sh")
            .args(["-c", "exec timeout \"$0\" \"$@\" 3<&0 4>&1 1>&2", LIMIT_S])
            .args([program, "--headless", "--no-sandbox", "--disable-gpu"])
            .args(["--disable-dev-shm-usage", "--remote-debugging-pipe"])
            .arg(format!("--user-data-dir={}", profile.path().display()))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("a shell");
        let mut browser = Browser {
            input: child.stdin.take().expect("piped"),
            output: BufReader::new(child.stdout.take().expect("piped")),
            child,
            session: None,
            last: 0,
            loads: 0,
            complaints: Vec::new(),
            _profile: profile,
        };
        let target = browser.call("Target.createTarget", json!({ "url": "about:blank" }));
        let attach = json!({ "targetId": target["targetId"], "flatten": true });
        let session = browser.call("Target.attachToTarget", attach);
        browser.session = session["sessionId"].as_str().map(String::from);
        for domain in ["Page", "Runtime", "Log"] {
            browser.call(&format!("{domain}.enable"), json!({}));
        }
        browser.size(width, height);
        browser
    }

    /// Makes a call and hands back its result.
    pub fn call(&mut self, method: &str, params: Value) -> Value {
        self.last += 1;
        let mut message = json!({ "id": self.last, "method": method, "params": params });
        if let Some(session) = &self.session {
            message["sessionId"] = json!(session);
        }
        let mut bytes = message.to_string().into_bytes();
        bytes.push(0);
        self.input.write_all(&bytes).expect("the browser listens");
        self.input.flush().expect("the browser listens");
        loop {
            let answer = self.read();
            if answer["id"] == json!(self.last) {
                assert!(answer["error"].is_null(), "{method}: {}", answer["error"]);
                return answer["result"].clone();
            }
        }
    }

    fn read(&mut self) -> Value {
        let mut bytes = Vec::new();
        self.output.read_until(0, &mut bytes).expect("a message");
        assert_eq!(bytes.pop(), Some(0), "the browser has ended");
        let message: Value = serde_json::from_slice(&bytes).expect("JSON");
        let params = &message["params"];
        match message["method"].as_str() {
            Some("Page.loadEventFired") => self.loads += 1,
            Some("Runtime.exceptionThrown") => self.complaints.push(params.to_string()),
            Some("Log.entryAdded") if params["entry"]["level"] == "error" => {
                self.complaints.push(params["entry"]["text"].to_string());
            }
            _ => {}
        }
        message
    }

    /// Does what leads to another page, and waits until that is loaded.
    fn arrive(&mut self, leave: impl FnOnce(&mut Browser)) {
        let before = self.loads;
        leave(self);
        while self.loads == before {
            self.read();
        }
        self.frame();
    }

    pub fn size(&mut self, width: u32, height: u32) {
        let size =
            json!({ "width": width, "height": height, "deviceScaleFactor": 1, "mobile": false });
        self.call("Emulation.setDeviceMetricsOverride", size);
    }

    /// Opens a page and waits until it is loaded.
    pub fn open(&mut self, url: &str) {
        self.arrive(|it| {
            it.call("Page.navigate", json!({ "url": url }));
        });
    }

    pub fn open_file(&mut self, path: &Path) {
        self.open(&format!("file://{}", path.display()));
    }

    /// The value of an expression in the page.
    pub fn eval(&mut self, expression: &str) -> Value {
        let params =
            json!({ "expression": expression, "returnByValue": true, "awaitPromise": true });
        let answer = self.call("Runtime.evaluate", params);
        let thrown = &answer["exceptionDetails"];
        assert!(thrown.is_null(), "{expression}: {thrown}");
        answer["result"]["value"].clone()
    }

    /// The visible text of the first element.
    pub fn text(&mut self, selector: &str) -> String {
        let value = self.eval(&format!("document.querySelector({selector:?}).innerText"));
        value.as_str().unwrap_or_default().to_owned()
    }

    /// Waits for what is drawn next.
    pub fn frame(&mut self) {
        self.eval("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done(1))))");
    }

    /// Presses keys, one after the other.
    pub fn keys(&mut self, keys: &[&str]) {
        for key in keys {
            let text = if key.chars().count() == 1 { key } else { "" };
            let down = json!({ "type": "keyDown", "key": key, "text": text });
            self.call("Input.dispatchKeyEvent", down);
            self.call(
                "Input.dispatchKeyEvent",
                json!({ "type": "keyUp", "key": key }),
            );
        }
        self.frame();
    }

    pub fn click(&mut self, selector: &str) {
        self.eval(&format!("document.querySelector({selector:?}).click()"));
        self.frame();
    }

    /// Clicks at what leads to another page, and waits until that is loaded.
    pub fn follow(&mut self, selector: &str) {
        let click = format!("setTimeout(() => document.querySelector({selector:?}).click())");
        self.arrive(|it| {
            it.eval(&click);
        });
    }

    /// Types into the element that has the focus.
    pub fn type_text(&mut self, text: &str) {
        self.call("Input.insertText", json!({ "text": text }));
        self.frame();
    }

    /// `light` or `dark`, on `screen` or in `print`.
    pub fn medium(&mut self, scheme: &str, medium: &str) {
        let features = json!([{ "name": "prefers-color-scheme", "value": scheme }]);
        let params = json!({ "media": medium, "features": features });
        self.call("Emulation.setEmulatedMedia", params);
        self.frame();
    }

    /// Keeps a picture of the window for people to look at.
    pub fn picture(&mut self, name: &str) {
        let answer = self.call("Page.captureScreenshot", json!({ "format": "png" }));
        let bytes = BASE64_STANDARD.decode(answer["data"].as_str().expect("a picture"));
        let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../screenshots");
        fs::create_dir_all(&directory).expect("a directory for pictures");
        fs::write(directory.join(name), bytes.expect("base64")).expect("a picture is written");
    }

    /// Roles and names of everything that assistive technology can see.
    pub fn accessible(&mut self) -> Vec<(String, String)> {
        self.call("Accessibility.enable", json!({}));
        let tree = self.call("Accessibility.getFullAXTree", json!({}));
        let nodes = tree["nodes"].as_array().cloned().unwrap_or_default();
        let seen = nodes.iter().filter(|node| node["ignored"] != json!(true));
        let text = |value: &Value| value["value"].as_str().unwrap_or_default().to_owned();
        seen.map(|node| (text(&node["role"]), text(&node["name"])))
            .collect()
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        // It may be gone already. `timeout` hands the signal of its end on to the browser.
        let _ = Command::new("kill")
            .arg(self.child.id().to_string())
            .status();
        let _ = self.child.wait();
    }
}

fn is_there(name: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|directory: PathBuf| directory.join(name).is_file())
}
