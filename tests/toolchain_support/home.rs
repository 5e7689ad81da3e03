//! Directories that are filled once and reused.

use super::progress;
use std::{
    fs::{self, File},
    io,
    path::{Path, PathBuf},
    time::Instant,
};

/// File that marks a filled folder with its source; written last, so that half a folder has none.
const MARK: &str = "installed-from";

/// The folder `target/<place>`, which `fill` has filled. It is filled again when `from` is another than last time:
/// what it is made of, all of it, such as a lock file. Tests that run side by side wait for each other.
pub fn installed(
    place: &str,
    from: &str,
    fill: impl FnOnce(&Path) -> Result<(), String>,
) -> Result<PathBuf, String> {
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).parent().expect("the target directory");
    let folder = target.join(place);
    let text = |error: io::Error| format!("{}: {error}", folder.display());
    fs::create_dir_all(folder.parent().expect("below target")).map_err(text)?;
    // Let go of when the file is closed, be it that the process is killed.
    let lock = File::create(target.join(format!("{place}.lock"))).map_err(text)?;
    lock.lock().map_err(text)?;
    let mark = folder.join(MARK);
    if fs::read_to_string(&mark).is_ok_and(|mark| mark == from) {
        return Ok(folder);
    }
    if folder.exists() {
        fs::remove_dir_all(&folder).map_err(text)?;
    }
    fs::create_dir_all(&folder).map_err(text)?;
    progress(&format!("installing target/{place}"));
    let started = Instant::now();
    fill(&folder)?;
    progress(&format!("installed target/{place} in {} s", started.elapsed().as_secs()));
    fs::write(mark, from).map_err(text)?;
    Ok(folder)
}
