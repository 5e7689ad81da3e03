//! A headless Chromium, spoken to over a pipe: https://chromedevtools.github.io/devtools-protocol/.
#![allow(dead_code)] // each test binary uses its part

use crate::toolchain_support::{had, locked, run, stretched};
use serde_json::{Value, json};
use std::{
    env, fs,
    io::{BufRead, BufReader, Write},
    path::{Path, PathBuf},
    process::{Child, ChildStdin, Command, Stdio},
    sync::{
        OnceLock,
        mpsc::{self, Receiver},
    },
    thread,
    time::Duration,
};

/// How long Chromium may take for one answer before the test fails.
const PATIENCE: Duration = Duration::from_secs(60);

/// Environment variable: 1 turns a missing browser into a failure.
const REQUIRED: &str = "PI_RPC_REQUIRE_CHROMIUM";

/// Names of installed browsers.
const NAMES: [&str; 6] = [
    "chromium-headless-shell",
    "chromium",
    "chromium-browser",
    "google-chrome",
    "google-chrome-stable",
    "chrome",
];

/// How often Tab is pressed to reach an element.
const MOST_TABS: usize = 150;

/// How many CSS pixels the page is wider than the window, and what sticks out.
pub const STICKS_OUT: &str = "(() => {
    const width = document.documentElement.clientWidth;
    const within = (element) => element.closest('.wide');
    const out = [...document.querySelectorAll('body *')]
        .filter(element => !within(element) && element.getBoundingClientRect().right > width + 1);
    return [document.documentElement.scrollWidth - width, out.map(element => element.outerHTML.slice(0, 80))];
})()";

/// Every text whose contrast to what is behind it is less than WCAG's 4.5, with its contrast.
pub const PALE: &str = "(() => {
    const numbers = (colour) => colour.match(/[\\d.]+/g).map(Number);
    const light = (colour) => {
        const [red, green, blue] = numbers(colour).map(part => part / 255)
            .map(part => part <= 0.03928 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4);
        return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
    };
    const behind = (element) => {
        for (; element; element = element.parentElement) {
            const colour = getComputedStyle(element).backgroundColor;
            if (numbers(colour)[3] !== 0) return colour;
        }
    };
    const pale = {};
    let looked = 0;
    for (const element of document.querySelectorAll('body *:not(script)')) {
        if (![...element.childNodes].some(node => node.nodeType === 3 && node.data.trim())) continue;
        const [one, other] = [light(getComputedStyle(element).color), light(behind(element))];
        const contrast = (Math.max(one, other) + 0.05) / (Math.min(one, other) + 0.05);
        looked += 1;
        if (contrast < 4.5) pale[`${element.localName}.${element.className}`] = contrast.toFixed(2);
    }
    return [looked > 50, pale];
})()";

pub struct Chromium {
    process: Child,
    commands: ChildStdin,
    messages: Receiver<Value>,
    events: Vec<Value>,
    /// The tab's name, once there is one.
    session: Option<String>,
    sent: u64,
    folder: tempfile::TempDir,
}

/// A browser, or none: reported on stderr, and an error if `PI_RPC_REQUIRE_CHROMIUM` is set.
pub fn chromium() -> Option<Chromium> {
    static PROGRAM: OnceLock<Option<PathBuf>> = OnceLock::new();
    let program = PROGRAM.get_or_init(|| had(find().map_or_else(from_npm, Ok), REQUIRED));
    program.as_deref().map(Chromium::start)
}

/// An installed browser.
fn find() -> Option<PathBuf> {
    if let Some(named) = env::var_os("PI_RPC_CHROMIUM") {
        return Some(named.into());
    }
    let path = env::var_os("PATH").unwrap_or_default();
    let on_path = env::split_paths(&path).flat_map(|folder| NAMES.map(|name| folder.join(name)));
    on_path.chain(of_playwright()).find(|file| file.is_file())
}

/// The browser in the npm package, which unpacks it into the directory for temporary files.
fn from_npm() -> Result<PathBuf, String> {
    let folder = locked("tests/chromium_support/node", &[])?;
    let script =
        "import('@sparticuz/chromium').then(async it => console.log(await it.default.executablePath()))";
    let path = run(Command::new("node").args(["-e", script]).env("TMPDIR", &folder).current_dir(&folder));
    path.map(|path| path.trim().into())
}

/// What `npx playwright install` leaves: `<cache>/chromium…/chrome-…/<program>`.
fn of_playwright() -> Vec<PathBuf> {
    let home = env::home_dir().unwrap_or_default();
    let cache =
        env::var_os("PLAYWRIGHT_BROWSERS_PATH").map_or(home.join(".cache/ms-playwright"), PathBuf::from);
    let inside =
        |folder: PathBuf| fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    let programs =
        inside(cache).filter(|folder| folder.to_string_lossy().contains("chromium")).flat_map(inside);
    programs
        .flat_map(|folder| {
            ["headless_shell", "chrome-headless-shell", "chrome"].map(|name| folder.join(name))
        })
        .collect()
}

impl Chromium {
    fn start(program: &Path) -> Self {
        let folder = tempfile::tempdir().unwrap();
        // It reads commands from descriptor 3 and answers on 4.
        let mut process = Command::new("sh")
            .args(["-c", "exec \"$0\" \"$@\" 3<&0 4>&1 </dev/null >/dev/null 2>&1"])
            .arg(program)
            .args([
                "--headless",
                "--no-sandbox",
                "--disable-gpu",
                "--disable-dev-shm-usage",
                "--no-first-run",
            ])
            .args(["--disable-background-networking", "--remote-debugging-pipe"])
            .arg(format!("--user-data-dir={}", folder.path().join("profile").display()))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let (commands, answers) = (process.stdin.take().unwrap(), process.stdout.take().unwrap());
        let (send, messages) = mpsc::channel();
        thread::spawn(move || {
            for message in BufReader::new(answers).split(0).map_while(Result::ok) {
                if send.send(serde_json::from_slice(&message).unwrap()).is_err() {
                    break;
                }
            }
        });
        let mut chromium =
            Self { process, commands, messages, events: Vec::new(), session: None, sent: 0, folder };
        let target = chromium.ask("Target.createTarget", json!({ "url": "about:blank" }));
        let attach = json!({ "targetId": target["targetId"], "flatten": true });
        let session = chromium.ask("Target.attachToTarget", attach)["sessionId"].as_str().unwrap().to_owned();
        chromium.session = Some(session);
        for domain in ["Page", "Network", "Runtime"] {
            chromium.ask(&format!("{domain}.enable"), json!({}));
        }
        let listen = "window.refused = []; addEventListener('securitypolicyviolation', \
                      event => refused.push(`${event.effectiveDirective} ${event.blockedURI}`))";
        chromium.ask("Page.addScriptToEvaluateOnNewDocument", json!({ "source": listen }));
        chromium
    }

    /// Shows a page in a window of that width, `light` or `dark`.
    pub fn open(&mut self, html: &str, width: u64, scheme: &str) {
        self.open_at(html, (width, 800), scheme);
    }

    /// Shows a page in a window of that width and height, `light` or `dark`.
    pub fn open_at(&mut self, html: &str, size: (u64, u64), scheme: &str) {
        let file = self.folder.path().join("page.html");
        fs::write(&file, html).unwrap();
        self.navigate(&format!("file://{}", file.display()), size, scheme);
    }

    /// Shows the page of an address in a window of that width and height, `light` or `dark`.
    pub fn navigate(&mut self, address: &str, (width, height): (u64, u64), scheme: &str) {
        let size = json!({ "width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600 });
        self.ask("Emulation.setDeviceMetricsOverride", size);
        let scheme = json!({ "features": [{ "name": "prefers-color-scheme", "value": scheme }] });
        self.ask("Emulation.setEmulatedMedia", scheme);
        self.events.clear();
        self.ask("Page.navigate", json!({ "url": address }));
        while !self.events.iter().any(|event| event["method"] == "Page.loadEventFired") {
            let event = self.message();
            self.events.push(event);
        }
    }

    /// Presses a key where the focus is; `modifiers` as the protocol counts them: 1 Alt, 2 Control, 8 Shift.
    pub fn press(&mut self, key: &str, modifiers: u64) {
        let code = match key {
            "Tab" => 9,
            "Enter" => 13,
            "Escape" => 27,
            " " => 32,
            "End" => 35,
            "Home" => 36,
            "ArrowLeft" => 37,
            "ArrowUp" => 38,
            "ArrowRight" => 39,
            "ArrowDown" => 40,
            _ => 0,
        };
        let text = match key {
            "Enter" => "\r",
            _ if key.len() == 1 && modifiers == 0 => key,
            _ => "",
        };
        let down = json!({ "type": "keyDown", "key": key, "text": text, "modifiers": modifiers, "windowsVirtualKeyCode": code });
        self.ask("Input.dispatchKeyEvent", down);
        self.ask(
            "Input.dispatchKeyEvent",
            json!({ "type": "keyUp", "key": key, "modifiers": modifiers, "windowsVirtualKeyCode": code }),
        );
    }

    /// A picture of the window as a PNG, in base64.
    pub fn picture(&mut self) -> String {
        self.ask("Page.captureScreenshot", json!({ "format": "png" }))["data"].as_str().unwrap().to_owned()
    }

    /// A picture of the window as a WebP of moderate quality, in base64.
    pub fn small_picture(&mut self) -> String {
        let options = json!({ "format": "webp", "quality": 60 });
        self.ask("Page.captureScreenshot", options)["data"].as_str().unwrap().to_owned()
    }

    /// What an expression comes to on the page.
    pub fn value(&mut self, expression: &str) -> Value {
        let ask = json!({ "expression": expression, "returnByValue": true, "awaitPromise": true });
        let answer = self.ask("Runtime.evaluate", ask);
        assert_eq!(answer["exceptionDetails"], Value::Null, "{expression}");
        answer["result"]["value"].clone()
    }

    /// Presses Tab until an element has the focus.
    pub fn tab_to(&mut self, selector: &str) {
        let has_focus = format!("document.activeElement.matches({})", json!(selector));
        for _ in 0..MOST_TABS {
            self.press("Tab", 0);
            if self.value(&has_focus) == json!(true) {
                return;
            }
        }
        panic!("{MOST_TABS} times Tab do not reach {selector}");
    }

    /// Types a text where the focus is.
    pub fn write(&mut self, text: &str) {
        self.ask("Input.insertText", json!({ "text": text }));
    }

    /// What the page has asked for since it was opened, itself and what it carries within left out.
    pub fn requests(&self) -> Vec<String> {
        let requests = self.events.iter().filter(|event| event["method"] == "Network.requestWillBeSent");
        let urls = requests.filter_map(|event| event["params"]["request"]["url"].as_str());
        urls.filter(|url| !url.starts_with("data:") && !url.ends_with("/page.html"))
            .map(str::to_owned)
            .collect()
    }

    /// What the page's policy has refused since it was opened.
    pub fn refused(&mut self) -> Value {
        self.value("refused")
    }

    /// What the page wrote to the console, and what it failed with, since it was opened.
    pub fn complaints(&mut self) -> Vec<Value> {
        // What was said before this answer has come with it.
        self.value("0");
        let complaint = |event: &&Value| {
            ["Runtime.consoleAPICalled", "Runtime.exceptionThrown"].iter().any(|it| event["method"] == *it)
        };
        self.events.iter().filter(complaint).map(|event| event["params"].clone()).collect()
    }

    /// Sends one command and gives its answer.
    pub fn ask(&mut self, method: &str, params: Value) -> Value {
        self.sent += 1;
        let mut command = json!({ "id": self.sent, "method": method, "params": params });
        if let Some(session) = &self.session {
            command["sessionId"] = json!(session);
        }
        self.commands.write_all(format!("{command}\0").as_bytes()).unwrap();
        loop {
            let message = self.message();
            if message["id"] == self.sent {
                assert_eq!(message["error"], Value::Null, "{method}");
                return message["result"].clone();
            }
            self.events.push(message);
        }
    }

    fn message(&self) -> Value {
        self.messages.recv_timeout(stretched(PATIENCE)).expect("Chromium says something")
    }
}

impl Drop for Chromium {
    fn drop(&mut self) {
        // It may be gone by itself.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
