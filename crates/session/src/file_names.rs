//! Names of session files and of their directories.

use pi_rpc_protocol::{Dialect, DialectSessionFilesDirectory};
use std::path::Path;

/// The name of the directory for the sessions of the project in `cwd`, inside the directory of all sessions. `home`
/// and `temporary` are the user's and the system's directories; all three paths have their links resolved (source: pi
/// source, xcsh source).
pub fn directory_name(dialect: Dialect, cwd: &Path, home: Option<&Path>, temporary: &Path) -> String {
    let inside = |directory: &Path, mark: &str| {
        let rest = cwd.strip_prefix(directory).ok()?.to_string_lossy().into_owned();
        Some(match rest.is_empty() {
            true => mark.to_owned(),
            false => format!("{}-{}", mark.trim_end_matches('-'), dashed(&rest)),
        })
    };
    let whole = || {
        let cwd = cwd.to_string_lossy();
        format!("--{}--", dashed(cwd.strip_prefix(['/', '\\']).unwrap_or(&cwd)))
    };
    match dialect.record().session_files.directory {
        DialectSessionFilesDirectory::WholePath => whole(),
        DialectSessionFilesDirectory::ByHome => home
            .and_then(|home| inside(home, "-"))
            .or_else(|| inside(temporary, "-tmp"))
            .unwrap_or_else(whole),
    }
}

/// The name of a session's file; `timestamp` as in its header.
pub fn file_name(timestamp: &str, id: &str) -> String {
    format!("{}_{id}.jsonl", timestamp.replace([':', '.'], "-"))
}

fn dashed(path: &str) -> String {
    path.replace(['/', '\\', ':'], "-")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn directory_name_comes_from_project_path() {
        let name = |dialect, cwd: &str| {
            directory_name(dialect, Path::new(cwd), Some(Path::new("/home/u")), Path::new("/tmp"))
        };
        for (cwd, pi, xcsh) in [
            ("/home/u/proj", "--home-u-proj--", "-proj"),
            ("/home/u/a/b:c", "--home-u-a-b-c--", "-a-b-c"),
            ("/home/u", "--home-u--", "-"),
            ("/home/user2/x", "--home-user2-x--", "--home-user2-x--"),
            ("/tmp", "--tmp--", "-tmp"),
            ("/tmp/x/y", "--tmp-x-y--", "-tmp-x-y"),
            ("/", "----", "----"),
            ("C:\\a", "--C--a--", "--C--a--"),
        ] {
            assert_eq!([name(Dialect::Pi, cwd), name(Dialect::Xcsh, cwd)], [pi, xcsh], "{cwd}");
        }
    }

    #[test]
    fn file_name_has_time_and_id() {
        let name = file_name("2026-01-05T10:00:00.007Z", "5f0e");
        assert_eq!(name, "2026-01-05T10-00-00-007Z_5f0e.jsonl");
    }
}
