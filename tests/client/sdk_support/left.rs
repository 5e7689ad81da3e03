//! Check for processes that a server has left behind.

use std::{fs, path::Path};

/// Checks that the process is gone and was waited for, that its group is empty, and that nothing lives that was started
/// with `home` as its home. Without one: a server that was killed could not end what it had put into groups of their own.
pub fn nothing_is_left(process: u32, home: Option<&Path>) -> Result<(), String> {
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
    let left: Vec<String> = left.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    if left.is_empty() { Ok(()) } else { Err(format!("left behind: {}", left.join(", "))) }
}
