//! `pi-rpc inspect` in a process of its own, and its page in a window.

use crate::{
    chromium_support::{Chromium, chromium},
    toolchain_support::stretched,
};
use serde_json::{Value, json};
use std::{
    fs,
    io::{BufRead, BufReader},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::mpsc,
    thread,
    time::Duration,
};

/// The sizes of a desk and of a phone, in CSS pixels.
pub const DESK: (u64, u64) = (1400, 900);
pub const PHONE: (u64, u64) = (390, 800);

/// How long the program may take to print its address.
const PATIENCE: Duration = Duration::from_secs(30);

/// The selected row of the list of frames.
pub const SELECTED: &str = "document.querySelector('.row[aria-selected=true] .row-number')?.textContent";

/// A running inspector and a window on it.
pub struct Inspector {
    pub browser: Chromium,
    pub address: String,
    process: Child,
    /// Home of the program, and a recording in it.
    _home: tempfile::TempDir,
}

/// Inspects what these arguments name; `None` without a browser.
pub fn inspect(arguments: &[&str]) -> Option<Inspector> {
    inspect_from(tempfile::tempdir().unwrap(), arguments)
}

fn inspect_from(home: tempfile::TempDir, arguments: &[&str]) -> Option<Inspector> {
    let browser = chromium()?;
    let mut process = Command::new(env!("CARGO_BIN_EXE_pi-rpc"))
        .args(["inspect", "--no-browser"])
        .args(arguments)
        .env("HOME", home.path())
        .env("XDG_STATE_HOME", home.path())
        .env("XDG_DATA_HOME", home.path())
        .env("XDG_CONFIG_HOME", home.path())
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let (sender, lines) = mpsc::channel();
    let outputs: [Box<dyn std::io::Read + Send>; 2] =
        [Box::new(process.stdout.take().unwrap()), Box::new(process.stderr.take().unwrap())];
    for output in outputs {
        let sender = sender.clone();
        thread::spawn(move || {
            for line in BufReader::new(output).lines().map_while(Result::ok) {
                // Behind the address no line is waited for, but the pipe has to be read.
                let _ = sender.send(line);
            }
        });
    }
    let mut read = Vec::new();
    let address = loop {
        let line = lines.recv_timeout(stretched(PATIENCE)).unwrap_or_else(|_| panic!("no address: {read:?}"));
        match line.find("http://127.0.0.1:") {
            Some(at) => break line[at..].split_whitespace().next().unwrap().to_owned(),
            None => read.push(line),
        }
    };
    Some(Inspector { browser, address, process, _home: home })
}

/// Inspects a server.
pub fn inspect_server(command: &[&str]) -> Option<Inspector> {
    inspect(&[&["--dialect", "pi-1", "--"], command].concat())
}

/// Inspects our own server with the scripted model.
pub fn inspect_own_server() -> Option<Inspector> {
    let program = env!("CARGO_BIN_EXE_pi-rpc");
    inspect_server(&[program, "serve", "--dialect", "pi-1", "--no-session", "--model", "scripted/demo"])
}

/// Inspects a recording of these lines.
pub fn inspect_lines(lines: &[String]) -> Option<Inspector> {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("recording.jsonl");
    fs::write(&path, lines.concat()).unwrap();
    inspect_from(home, &[path.to_str().unwrap()]).map(Inspector::opened)
}

/// A recording of the tests.
pub fn recording(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/oracle/valid").join(name)
}

/// Inspects a recording of the tests.
pub fn inspect_recording(name: &str) -> Option<Inspector> {
    inspect(&[recording(name).to_str().unwrap()])
}

/// A line of a recording.
pub fn record(t: f64, dir: &str, frame: &Value) -> String {
    format!("{}\n", json!({ "t": t, "dir": dir, "frame": frame }))
}

/// The first line of a recording in a dialect.
pub fn spawn(dialect: &str) -> String {
    record(0.0, "meta", &json!({ "event": "spawn", "dialect": dialect, "argv": ["server"] }))
}

impl Inspector {
    /// Opens the page, and waits until it shows what there is.
    pub fn open(&mut self, (width, height): (u64, u64), scheme: &str) {
        self.browser.navigate(&self.address, (width, height), scheme);
        self.until("document.body.dataset.ready === '1'");
    }

    /// Opens the page on a desk.
    pub fn opened(mut self) -> Self {
        self.open(DESK, "light");
        self
    }

    /// Value of an expression on the page.
    pub fn value(&mut self, expression: &str) -> Value {
        self.browser.value(expression)
    }

    /// Waits until an expression holds.
    pub fn until(&mut self, expression: &str) {
        let waiting = format!(
            "new Promise(done => {{ const poll = () => {{ if ({expression}) done(true); else setTimeout(poll, 10); }}; poll(); }})"
        );
        assert_eq!(self.browser.value(&waiting), json!(true));
    }

    /// Text of the first element that a selector finds.
    pub fn text(&mut self, selector: &str) -> String {
        let text = self.value(&format!("document.querySelector({}).textContent", json!(selector)));
        text.as_str().unwrap_or_default().to_owned()
    }

    /// Texts of all elements that a selector finds.
    pub fn texts(&mut self, selector: &str) -> Vec<String> {
        let script = format!("[...document.querySelectorAll({})].map(it => it.textContent)", json!(selector));
        serde_json::from_value(self.value(&script)).unwrap()
    }

    /// Presses keys one after the other.
    pub fn press(&mut self, keys: &[&str]) {
        for key in keys {
            self.browser.press(key, 0);
        }
    }

    /// Presses a key together with Control.
    pub fn press_control(&mut self, key: &str) {
        self.browser.press(key, 2);
    }

    /// Writes a text where the focus is.
    pub fn write(&mut self, text: &str) {
        self.browser.ask("Input.insertText", json!({ "text": text }));
    }

    /// Presses Tab until an element has the focus.
    pub fn tab_to(&mut self, selector: &str) {
        let is_there = format!("document.activeElement?.matches({})", json!(selector));
        for _ in 0..200 {
            if self.value(&is_there) == json!(true) {
                return;
            }
            self.press(&["Tab"]);
        }
        panic!("Tab never leads to {selector}");
    }

    /// Clicks on the first element that a selector finds.
    pub fn click(&mut self, selector: &str) {
        self.value(&format!("document.querySelector({}).click()", json!(selector)));
    }

    /// Selects a frame by its number.
    pub fn select_frame(&mut self, record: u64) {
        self.until(&format!("document.querySelector('.row[data-record=\"{record}\"]')"));
        self.click(&format!(".row[data-record=\"{record}\"]"));
        self.until(&format!(
            "document.querySelector('#frame-detail h3')?.textContent.startsWith('{record} ')"
        ));
    }

    /// Asserts that nothing was refused by the page's policy, loaded from elsewhere, or written to the console.
    pub fn assert_clean(&mut self) {
        let elsewhere: Vec<String> =
            self.browser.requests().into_iter().filter(|url| !self.is_own(url)).collect();
        let seen = (self.browser.refused(), elsewhere, self.browser.complaints());
        assert_eq!(seen, (json!([]), Vec::new(), Vec::new()));
    }

    fn is_own(&self, url: &str) -> bool {
        url.starts_with(&self.address) || url.starts_with("blob:")
    }
}

impl Drop for Inspector {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
