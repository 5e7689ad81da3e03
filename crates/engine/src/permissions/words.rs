//! The words of a simple shell command, and which of them a permission may be for.

/// Programs whose arguments say what else runs: no prefix of such a command covers others.
const RUNNERS: [&str; 74] = [
    ".", "alias", "ash", "at", "awk", "bash", "batch", "builtin", "bun", "bunx", "busybox", "chroot",
    "command", "coproc", "crontab", "csh", "dash", "deno", "docker", "doas", "emacs", "env", "eval", "exec",
    "expect", "find", "fish", "flock", "gawk", "gdb", "ionice", "ksh", "kubectl", "less", "ltrace", "lua",
    "make", "man", "mawk", "more", "nice", "node", "nohup", "npx", "nsenter", "parallel", "perl", "php",
    "pipx", "podman", "python", "rsync", "ruby", "screen", "script", "sed", "setsid", "sh", "source", "ssh",
    "stdbuf", "strace", "su", "sudo", "tar", "time", "timeout", "tmux", "trap", "unshare", "uvx", "watch",
    "xargs", "zsh",
];

/// Programs whose second word says what they do.
const WITH_SUBCOMMANDS: [&str; 12] =
    ["apt", "brew", "cargo", "dotnet", "gh", "git", "go", "gradle", "mvn", "npm", "pnpm", "yarn"];

/// Subcommands whose arguments say what else runs.
const RUNNING_SUBCOMMANDS: [&str; 6] = ["create", "dlx", "exec", "install", "run", "x"];

/// Programs that change nothing, whatever their arguments.
const READERS: [&str; 17] = [
    "basename",
    "cat",
    "cksum",
    "df",
    "dirname",
    "du",
    "grep",
    "head",
    "id",
    "ls",
    "md5sum",
    "pwd",
    "realpath",
    "sha256sum",
    "stat",
    "tail",
    "wc",
];

/// The words of a command that is one simple command without expansions; `None`: it is not, or may not be.
pub fn of(command: &str) -> Option<Vec<String>> {
    let mut words: Vec<String> = Vec::new();
    let mut word: Option<String> = None;
    let mut letters = command.chars();
    while let Some(letter) = letters.next() {
        match letter {
            ' ' | '\t' => words.extend(word.take()),
            '\'' => word.get_or_insert_default().push_str(&quoted(&mut letters, '\'', |_| true)?),
            '"' => {
                let is_plain = |it: char| !matches!(it, '$' | '`' | '\\' | '!');
                word.get_or_insert_default().push_str(&quoted(&mut letters, '"', is_plain)?);
            }
            letter if letter.is_alphanumeric() || "_-./:,=+@%".contains(letter) => {
                word.get_or_insert_default().push(letter);
            }
            _ => return None,
        }
    }
    words.extend(word);
    // Without it, the shell looks for another program, or sets a variable.
    let is_name = |letter: char| letter.is_ascii_alphanumeric() || "_-./+".contains(letter);
    let first = words.first()?;
    (!first.is_empty() && first.chars().all(is_name)).then_some(words)
}

/// The text up to the closing quote; `None`: there is no such quote, or something in front of it that is not plain.
fn quoted(
    letters: &mut impl Iterator<Item = char>,
    quote: char,
    is_plain: impl Fn(char) -> bool,
) -> Option<String> {
    let mut text = String::new();
    loop {
        match letters.next()? {
            letter if letter == quote => return Some(text),
            letter if letter.is_control() || !is_plain(letter) => return None,
            letter => text.push(letter),
        }
    }
}

/// The words as people read them: one with anything but plain letters in it has quotes.
pub fn shown(words: &[String]) -> String {
    let is_plain = |word: &str| {
        !word.is_empty() && word.chars().all(|it| it.is_alphanumeric() || "_-./:,=+@%".contains(it))
    };
    let quoted = words.iter().map(|word| if is_plain(word) { word.clone() } else { format!("'{word}'") });
    quoted.collect::<Vec<_>>().join(" ")
}

/// The words by which commands like this one may be permitted together; `None`: only this very command may be.
pub fn prefix(words: &[String]) -> Option<&[String]> {
    let first = words.first()?.as_str();
    if READERS.contains(&first) {
        return Some(&words[..1]);
    }
    if !WITH_SUBCOMMANDS.contains(&first) {
        return None;
    }
    let is_plain = |word: &String| {
        word.starts_with(|it: char| it.is_ascii_lowercase())
            && word.chars().all(|it| it.is_ascii_lowercase() || it.is_ascii_digit() || ":-".contains(it))
    };
    let second = words.get(1).filter(|word| is_plain(word))?;
    match RUNNING_SUBCOMMANDS.contains(&second.as_str()) {
        // A script of the project has its name as the third word.
        true if second == "run" => words.get(2).filter(|word| is_plain(word)).map(|_| &words[..3]),
        true => None,
        false => Some(&words[..2]),
    }
}

/// Whether a permission may be for all commands that begin with these words.
pub fn may_be_prefix(words: &[String]) -> bool {
    let Some(first) = words.first() else { return false };
    let name = first.rsplit('/').next().unwrap_or(first);
    let base = name.trim_end_matches(|it: char| it.is_ascii_digit() || it == '.');
    !first.is_empty() && !RUNNERS.contains(&name) && !RUNNERS.contains(&base)
}
