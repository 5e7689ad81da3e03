//! The words of a simple shell command, and which of them a permission may be for.

/// Programs whose second word says what they do, and the second words with which plain words run nothing else.
const SUBCOMMANDS: [(&str, &[&str]); 9] = [
    ("apt", &["list", "search", "show"]),
    ("brew", &["list", "search"]),
    ("cargo", &["bench", "build", "check", "clippy", "doc", "fmt", "test", "tree"]),
    ("dotnet", &["build", "test"]),
    (
        "git",
        &[
            "add",
            "blame",
            "branch",
            "commit",
            "describe",
            "diff",
            "fetch",
            "grep",
            "log",
            "ls-files",
            "merge-base",
            "push",
            "rev-parse",
            "shortlog",
            "show",
            "status",
            "tag",
        ],
    ),
    ("go", &["build", "fmt", "list", "test", "vet"]),
    ("npm", &["ls", "outdated", "test"]),
    ("pnpm", &["ls", "outdated", "test"]),
    ("yarn", &["outdated", "test"]),
];

/// Those of them whose `run` runs a script of the project, which the third word names.
const SCRIPT_RUNNERS: [&str; 3] = ["npm", "pnpm", "yarn"];

/// Programs that change nothing, whatever plain words follow.
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
    let second = words.get(1).map(String::as_str);
    let is_known = |subcommand: &&str| {
        SUBCOMMANDS.iter().any(|(program, known)| *program == first && known.contains(subcommand))
    };
    let count = match second {
        _ if READERS.contains(&first) => 1,
        Some("run") if SCRIPT_RUNNERS.contains(&first) => 3,
        Some(second) if is_known(&second) => 2,
        _ => return None,
    };
    let (prefix, rest) = words.split_at_checked(count)?;
    prefix.iter().chain(rest).all(|word| is_plain(word)).then_some(prefix)
}

/// Whether commands with these words are among those that begin with `prefix`, which may have been written by hand.
pub fn begins_with(words: &[String], prefix: &[String]) -> bool {
    !prefix.is_empty() && self::prefix(words) == Some(prefix)
}

/// Whether the word is neither an option, a file of options, an address, a setting nor a toolchain: those say what else runs.
fn is_plain(word: &str) -> bool {
    !word.is_empty() && !word.starts_with(['-', '+', '@']) && !word.contains([':', '='])
}
