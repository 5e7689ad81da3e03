//! What the holder of a token may do.

use super::host_error::HostError;
use pi_rpc_engine::matches_any;
use pi_rpc_protocol::{Dialect, MultiSessionErrorCode};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::{
    fs, io,
    path::{Component, Path, PathBuf},
};

/// Limits of a token. A limit that is absent does not exist.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TokenLimits {
    /// Folders in which sessions may work.
    pub roots: Option<Roots>,
    /// Globs over the models, with a slash by `provider/id`, else by id.
    pub models: Option<Vec<String>>,
    /// The only tools that are offered: names, or patterns with `*`. Without `bash`, the command `bash` is refused, too.
    pub tools: Option<Vec<String>>,
    /// `false`: no servers of the Model Context Protocol are connected.
    pub mcp: Option<bool>,
    /// Dialects that sessions may speak.
    pub dialects: Option<Vec<String>>,
    /// Sessions that may be open at once.
    pub sessions: Option<usize>,
    /// Commands in a minute, of all connections together.
    pub commands_per_minute: Option<u32>,
    /// Dollars in a day of UTC, by the cost that answers report.
    pub dollars_per_day: Option<f64>,
    /// Whether sessions of other tokens can be seen and used.
    #[serde(default)]
    pub sees_all: bool,
    /// Whether the host's user may be logged in and out (`--wire-login`).
    #[serde(default)]
    pub logins: bool,
}

impl TokenLimits {
    /// The limits of a client that may do everything, as the user who runs the host may.
    pub fn none() -> Self {
        Self { logins: true, ..Self::of_line() }
    }

    /// The limits of a token in a file that names none: all is allowed but what has to be said of a token.
    pub fn of_line() -> Self {
        Self { sees_all: true, ..Self::default() }
    }

    /// Checks what can be told without a request.
    ///
    /// # Errors
    ///
    /// A root is not absolute, an entry of `tools` is no name, a dialect is unknown, or the dollars are no amount.
    pub fn validate(&self) -> Result<(), String> {
        if let Some(root) = self.roots.iter().flat_map(|roots| &roots.0).find(|root| !root.is_absolute()) {
            return Err(format!("roots: expected absolute paths, got {:?}", root.display()));
        }
        let is_name = |entry: &str| !entry.trim().is_empty() && !entry.starts_with(['+', '-']);
        if let Some(entry) = self.tools.iter().flatten().find(|entry| !is_name(entry)) {
            return Err(format!("tools: expected names of tools, or patterns with *, got {entry:?}"));
        }
        if let Some(name) = self.dialects.iter().flatten().find(|name| Dialect::parse(name).is_none()) {
            let known = Dialect::ALL.map(Dialect::as_str).join(", ");
            return Err(format!("dialects: expected some of {known}, got {name:?}"));
        }
        match self.dollars_per_day {
            Some(dollars) if !dollars.is_finite() || dollars < 0.0 => {
                Err(format!("dollars_per_day: expected an amount, got {dollars}"))
            }
            _ => Ok(()),
        }
    }

    /// Checks the dialect of a new session.
    ///
    /// # Errors
    ///
    /// It is not one of [`dialects`](Self::dialects).
    pub fn check_dialect(&self, dialect: Dialect) -> Result<(), HostError> {
        let Some(allowed) = &self.dialects else { return Ok(()) };
        match allowed.iter().any(|name| name == dialect.as_str()) {
            true => Ok(()),
            false => Err(HostError::Forbidden(
                MultiSessionErrorCode::ForbiddenDialect,
                format!("dialect: expected one of {}, got {:?}", allowed.join(", "), dialect.as_str()),
            )),
        }
    }

    /// Checks that a session may be that of another's server, which nothing of this program keeps within folders, models or tools.
    ///
    /// # Errors
    ///
    /// There is a limit that it could not be held to.
    pub fn check_other_server(&self) -> Result<(), HostError> {
        use MultiSessionErrorCode as Code;
        // Every limit is named, so that a new one is decided here. The host itself counts and ends what costs too much.
        let Self {
            roots,
            models,
            tools,
            mcp,
            dialects: _,
            sessions: _,
            commands_per_minute: _,
            dollars_per_day: _,
            sees_all: _,
            logins: _,
        } = self;
        let unheld = [
            ("roots", roots.is_some(), Code::ForbiddenDirectory),
            ("models", models.is_some(), Code::ForbiddenModel),
            ("tools", tools.is_some(), Code::ForbiddenTool),
            ("mcp", *mcp == Some(false), Code::ForbiddenTool),
        ];
        match unheld.into_iter().find(|(_, is_limited, _)| *is_limited) {
            Some((limit, _, code)) => {
                let text = format!(
                    "{limit}: the sessions of this host are another program's, which cannot be held to it"
                );
                Err(HostError::Forbidden(code, text))
            }
            None => Ok(()),
        }
    }

    /// Whether servers of the Model Context Protocol may be connected.
    pub fn allows_mcp(&self) -> bool {
        self.mcp != Some(false)
    }

    /// Whether a tool may be used.
    pub fn allows_tool(&self, name: &str) -> bool {
        self.tools.as_ref().is_none_or(|tools| matches_any(tools, name))
    }

    /// Checks that no limit is `null` in the limits as written: a list that was lost on the way must not be no limit.
    ///
    /// # Errors
    ///
    /// The first such limit.
    pub fn refuse_nulls(written: &Value) -> Result<(), String> {
        let mut limits = written.as_object().into_iter().flatten();
        match limits.find(|(_, value)| value.is_null()) {
            Some((name, _)) => {
                Err(format!("limits.{name}: expected a limit, got null; leave it out where there is none"))
            }
            None => Ok(()),
        }
    }
}

/// Folders, each with all that is below it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Roots(Vec<PathBuf>);

impl Roots {
    /// The path without symbolic links, if it is below a root. The last part of the path need not exist. Blocks.
    ///
    /// # Errors
    ///
    /// `forbidden_directory` where it is not below a root, or cannot be looked up; `field` names what was given.
    pub fn check(&self, field: &str, path: &Path) -> Result<PathBuf, HostError> {
        let forbidden = |reason: &str| {
            let text =
                format!("{field}: expected a path below the roots of the token, got {:?}{reason}", path);
            HostError::Forbidden(MultiSessionErrorCode::ForbiddenDirectory, text)
        };
        // Beyond the roots, what exists is not told.
        let is_below = || {
            let is_plain = path.components().all(|part| part != Component::ParentDir);
            is_plain && self.0.iter().any(|root| path.starts_with(root))
        };
        let real = real_path(path).map_err(|error| match is_below() {
            true => forbidden(&format!(": {error}")),
            false => forbidden(""),
        })?;
        match self.contain(&real) {
            true => Ok(real),
            false => Err(forbidden("")),
        }
    }

    /// Like [`check`](Self::check), for a folder that is created with those above it.
    ///
    /// # Errors
    ///
    /// As [`check`](Self::check).
    pub fn check_folder(&self, field: &str, path: &Path) -> Result<(), HostError> {
        let existing = path.ancestors().find(|above| fs::symlink_metadata(above).is_ok());
        let new = existing.and_then(|existing| path.strip_prefix(existing).ok());
        match (existing, new) {
            (Some(existing), Some(new)) if new.components().all(|it| matches!(it, Component::Normal(_))) => {
                self.check(field, existing).map(drop)
            }
            // What does not exist cannot be left again.
            _ => self.check(field, path).map(drop),
        }
    }

    /// Whether a path without symbolic links is below a root.
    pub fn contain(&self, real: &Path) -> bool {
        self.0.iter().any(|root| fs::canonicalize(root).is_ok_and(|root| real.starts_with(root)))
    }
}

/// The path without symbolic links. Its last part need not exist, and must then be a name.
pub fn real_path(path: &Path) -> io::Result<PathBuf> {
    match fs::canonicalize(path) {
        // A link that leads nowhere would be written through.
        Err(error) if error.kind() == io::ErrorKind::NotFound && fs::symlink_metadata(path).is_err() => {
            let (Some(folder), Some(name)) = (path.parent(), path.file_name()) else { return Err(error) };
            Ok(fs::canonicalize(folder)?.join(name))
        }
        found => found,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    #[test]
    fn roots_hold_against_links_and_parents() {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        fs::create_dir_all(at("root/inner")).unwrap();
        fs::create_dir_all(at("root2")).unwrap();
        symlink(at("root2"), at("root/out")).unwrap();
        symlink(at("root2/new"), at("root/dangling")).unwrap();
        symlink(at("root/inner"), at("in")).unwrap();
        let roots = Roots(vec![at("root")]);
        let real = fs::canonicalize(at("root")).unwrap();
        for (path, expected) in [
            ("root", Some(real.clone())),
            ("root/inner", Some(real.join("inner"))),
            ("in", Some(real.join("inner"))),
            ("root/new.jsonl", Some(real.join("new.jsonl"))),
            ("root/inner/../new.jsonl", Some(real.join("new.jsonl"))),
            ("root2", None),
            ("root/..", None),
            ("root/../root2", None),
            ("root/inner/../../root2/new", None),
            ("root/out", None),
            ("root/out/new", None),
            ("root/dangling", None),
            ("root/none/new", None),
        ] {
            assert_eq!(roots.check("cwd", &at(path)).ok(), expected, "{path}");
        }
        for (path, is_below) in [
            ("root/none/new", true),
            ("root/inner", true),
            ("root/none/../new", false),
            ("root/none/../../root2", false),
            ("root/out/none/new", false),
            ("root/dangling/new", false),
            ("root2/none", false),
        ] {
            assert_eq!(roots.check_folder("sessionDir", &at(path)).is_ok(), is_below, "{path}");
        }
    }

    #[test]
    fn unknown_and_wrong_limits_are_refused() {
        let read = |text: &str| {
            let limits: Result<TokenLimits, _> = serde_json::from_str(text);
            limits.map_err(|error| error.to_string()).and_then(|limits| limits.validate())
        };
        assert_eq!(read("{}"), Ok(()));
        assert!(read(r#"{"root":[]}"#).unwrap_err().starts_with("unknown field `root`"));
        assert_eq!(read(r#"{"roots":["a"]}"#).unwrap_err(), "roots: expected absolute paths, got \"a\"");
        let unknown = read(r#"{"dialects":["x"]}"#).unwrap_err();
        assert!(unknown.ends_with("got \"x\""), "{unknown}");
        for entry in ["", " ", "-bash", "+read"] {
            let text = format!("tools: expected names of tools, or patterns with *, got {entry:?}");
            assert_eq!(read(&format!(r#"{{"tools":["{entry}"]}}"#)), Err(text));
        }
        let negative = read(r#"{"dollars_per_day":-1}"#).unwrap_err();
        assert_eq!(negative, "dollars_per_day: expected an amount, got -1");
    }
}
