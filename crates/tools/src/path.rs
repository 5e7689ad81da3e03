//! Resolves paths in the arguments of tools, and renders system errors as Node does.

use std::io;
use std::path::{Component, Path, PathBuf};

use unicode_normalization::UnicodeNormalization;

/// Resolves a path as the model has `written` it to an absolute one.
///
/// As in pi, a leading `@` (a file mention) is dropped, unusual Unicode blanks count as blanks, `~` is the home
/// directory, and anything relative starts at `cwd`, with `.` and `..` resolved by name alone.
pub(super) fn resolve(written: &str, cwd: &Path) -> PathBuf {
    let written: String = written.strip_prefix('@').unwrap_or(written).chars().map(plain_blank).collect();
    let expanded = expand_home(&written);
    if expanded.is_absolute() { expanded } else { without_dots(&cwd.join(expanded)) }
}

/// Resolves the path of a file to read. If it does not exist, tries the spellings of macOS (a narrow blank before AM and
/// PM, decomposed letters, a curly apostrophe). Accesses the disk.
pub(super) fn resolve_existing(written: &str, cwd: &Path) -> PathBuf {
    let path = resolve(written, cwd);
    if path.exists() {
        return path;
    }
    let Some(text) = path.to_str() else { return path };
    let decomposed: String = text.nfd().collect();
    let spellings = [
        text.replace(" AM.", "\u{202F}AM.").replace(" PM.", "\u{202F}PM."),
        text.replace('\'', "\u{2019}"),
        decomposed.replace('\'', "\u{2019}"),
        decomposed,
    ];
    spellings.into_iter().map(PathBuf::from).find(|spelling| spelling.exists()).unwrap_or(path)
}

/// Renders `error` as Node does, which pi's tools show: `ENOENT: no such file or directory, access '/a/b'`. `call` is the
/// system call that Node would name.
pub(super) fn system_error(error: &io::Error, call: &str, path: Option<&Path>) -> String {
    use rustix::io::Errno;
    let place = path.map(|path| format!(" '{}'", path.display())).unwrap_or_default();
    let (code, words) = match Errno::from_io_error(error) {
        Some(Errno::NOENT) => ("ENOENT", "no such file or directory"),
        Some(Errno::ACCESS) => ("EACCES", "permission denied"),
        Some(Errno::PERM) => ("EPERM", "operation not permitted"),
        Some(Errno::ISDIR) => ("EISDIR", "illegal operation on a directory"),
        Some(Errno::NOTDIR) => ("ENOTDIR", "not a directory"),
        Some(Errno::LOOP) => ("ELOOP", "too many symbolic links encountered"),
        Some(Errno::NAMETOOLONG) => ("ENAMETOOLONG", "name too long"),
        Some(Errno::EXIST) => ("EEXIST", "file already exists"),
        Some(Errno::NOSPC) => ("ENOSPC", "no space left on device"),
        Some(Errno::ROFS) => ("EROFS", "read-only file system"),
        Some(Errno::IO) => ("EIO", "i/o error"),
        _ => return format!("{error}, {call}{place}"),
    };
    format!("{code}: {words}, {call}{place}")
}

fn plain_blank(letter: char) -> char {
    match letter {
        '\u{00A0}' | '\u{2000}'..='\u{200A}' | '\u{202F}' | '\u{205F}' | '\u{3000}' => ' ',
        other => other,
    }
}

fn expand_home(written: &str) -> PathBuf {
    let rest = match written {
        "~" => "",
        _ => match written.strip_prefix("~/") {
            Some(rest) => rest,
            None => return PathBuf::from(written),
        },
    };
    match std::env::home_dir() {
        Some(home) if rest.is_empty() => home,
        Some(home) => home.join(rest.trim_start_matches('/')),
        None => PathBuf::from(written),
    }
}

fn without_dots(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => {
                plain.pop();
            }
            other => plain.push(other),
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_understood_as_pi_does() {
        let cwd = Path::new("/work/here");
        let home = std::env::home_dir().expect("a home directory");
        for (written, meant) in [
            ("a.txt", PathBuf::from("/work/here/a.txt")),
            ("@a.txt", "/work/here/a.txt".into()),
            ("./x/../a", "/work/here/a".into()),
            ("../../../../a", "/a".into()),
            ("/abs/./a", "/abs/./a".into()),
            ("my\u{00A0}file\u{3000}x", "/work/here/my file x".into()),
            ("~", home.clone()),
            ("~/a", home.join("a")),
            ("~user/a", "/work/here/~user/a".into()),
            (".", "/work/here".into()),
        ] {
            assert_eq!(resolve(written, cwd), meant, "{written}");
        }
    }
}
