//! Check for processes that a server has left behind.

use std::{
    fs,
    path::Path,
    thread,
    time::{Duration, Instant},
};

/// How long what was killed may take to be gone.
const GONE_WITHIN: Duration = Duration::from_secs(20);

/// Checks that the process is gone and was waited for, that its group is empty, and that nothing lives that was started
/// with `home` as its home. Without one: a server that was killed could not end what it had put into groups of their own.
pub fn nothing_is_left(process: u32, home: Option<&Path>) -> Result<(), String> {
    let deadline = Instant::now() + GONE_WITHIN;
    loop {
        let left = left(process, home)?;
        if left.is_empty() {
            return Ok(());
        }
        if Instant::now() > deadline {
            return Err(format!("left behind: {}", left.join(", ")));
        }
        thread::sleep(Duration::from_millis(5));
    }
}

/// The ids of what is left now.
fn left(process: u32, home: Option<&Path>) -> Result<Vec<String>, String> {
    let mark = home.map(|home| format!("HOME={}", home.display())).unwrap_or_default();
    let left = fs::read_dir("/proc").map_err(|error| error.to_string())?.flatten().filter(|entry| {
        let file = |name: &str| fs::read(entry.path().join(name)).unwrap_or_default();
        let stat = String::from_utf8_lossy(&file("stat")).into_owned();
        // Behind the name, which may hold anything: state, parent, group.
        let fields: Vec<&str> =
            stat.rsplit_once(')').map_or_else(Vec::new, |(_, rest)| rest.split_whitespace().collect());
        let [state, parent, group, ..] = fields[..] else { return false };
        let is_marked = file("environ")
            .split(|byte| *byte == 0)
            .any(|variable| !mark.is_empty() && variable == mark.as_bytes());
        let id = process.to_string();
        let is_of_it = entry.file_name().to_str() == Some(&id) || group == id || is_marked;
        // What it had started and is dead belongs to the system, which takes its time.
        is_of_it && (state != "Z" || parent == std::process::id().to_string())
    });
    Ok(left.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect())
}
