//! The servers that a client is played against.

use super::releases::Installed;
use pi_rpc_conform::live::Adapter;
use pi_rpc_protocol::{Dialect, DialectVersion, Version};
use pi_rpc_server::Hazard;
use std::{
    env,
    path::{Path, PathBuf},
};

/// A server.
pub struct Subject {
    /// Its name in reports.
    pub name: String,
    pub kind: Kind,
    /// What it speaks.
    pub spoken: DialectVersion,
    /// The dialect that the client hears, if the front stands between.
    pub speaks: Option<Dialect>,
    /// The program and its first arguments.
    pub words: Vec<PathBuf>,
}

#[derive(Clone, PartialEq, Eq)]
pub enum Kind {
    /// A release of pi, by its version.
    Release(String),
    /// This server.
    Own,
}

/// The adapter with the files that give the agent the scripted model.
pub const ADAPTER: &str = "pi";

/// The seed of the hazards: the same every time.
const SEED: &str = "7";

impl Subject {
    /// A release of pi.
    pub fn of_release(release: &Installed) -> Self {
        Self {
            name: format!("{ADAPTER} {}", release.version),
            kind: Kind::Release(release.version.clone()),
            spoken: dialect_of(&release.version),
            speaks: None,
            words: release.words.clone(),
        }
    }

    /// This server with these hazards.
    pub fn own(spoken: DialectVersion, hazards: &[Hazard]) -> Self {
        let names: Vec<&str> = hazards.iter().map(|hazard| hazard.as_str()).collect();
        let mut words: Vec<PathBuf> = vec![own_program(), "serve".into()];
        words.extend(["--dialect", spoken.dialect.as_str()].map(PathBuf::from));
        let mut name = format!("pi-rpc ({})", spoken.dialect);
        if !names.is_empty() {
            let list = names.join(",");
            words.extend(["--hazard", &list, "--seed", SEED].map(PathBuf::from));
            name += &format!(" with {list}");
        }
        Self { name, kind: Kind::Own, spoken, speaks: None, words }
    }

    /// The same server behind the front.
    pub fn behind_front(&self, speaks: Dialect) -> Self {
        Self {
            name: format!("{} behind front, which speaks {speaks}", self.name),
            kind: self.kind.clone(),
            spoken: self.spoken,
            speaks: Some(speaks),
            words: self.words.clone(),
        }
    }

    /// The whole command.
    pub fn command(&self) -> Vec<PathBuf> {
        let front = self.speaks.into_iter().flat_map(|speaks| {
            let (client, server) = (speaks.as_str().to_owned(), self.spoken.to_string());
            let options =
                ["front".to_owned(), "--speak".to_owned(), client, "--server-dialect".to_owned(), server];
            let options = options.into_iter().chain(["--".to_owned()]).map(PathBuf::from);
            [own_program()].into_iter().chain(options)
        });
        front.chain(self.words.iter().cloned()).collect()
    }

    /// The command line that a user of the client would write to have the front before this server.
    pub fn cure(&self, speaks: Dialect) -> String {
        format!("pi-rpc front --speak {speaks} --server-dialect {} -- {ADAPTER}", self.spoken)
    }
}

fn own_program() -> PathBuf {
    env::current_exe().unwrap_or_else(|_| Path::new("pi-rpc").to_owned())
}

/// The dialects of pi, each with the first version that speaks it.
pub fn family() -> impl Iterator<Item = (Version, Dialect)> {
    Dialect::ALL.into_iter().filter(is_of_pi).filter_map(|dialect| {
        let record = dialect.record();
        let of_name = dialect.as_str().split_once('@').map(|(_, version)| Version::parse(version));
        let first = match (record.versions_from.and_then(Version::parse), of_name) {
            (Some(first), _) => first,
            (None, Some(first)) => first?,
            (None, None) => Version(0, 0, 0),
        };
        Some((first, dialect))
    })
}

/// Whether the program that the adapter is for speaks the dialect: the one that it goes back to is of no other program.
fn is_of_pi(dialect: &Dialect) -> bool {
    let mut record = dialect.record();
    while let Some(before) = record.extends.and_then(Dialect::parse) {
        record = before.record();
    }
    let adapter = Adapter::find(ADAPTER).map(|adapter| adapter.name).unwrap_or_default();
    record.started_as.is_empty() || record.started_as.contains(&adapter.as_str())
}

/// What a release speaks.
pub fn dialect_of(version: &str) -> DialectVersion {
    let number = version.split(['-', '+']).next().and_then(Version::parse).unwrap_or(Version(u16::MAX, 0, 0));
    let begun = family().filter(|(first, _)| *first <= number);
    let dialect = begun.max_by_key(|(first, _)| *first).map_or(Dialect::Pi1, |(_, dialect)| dialect);
    let name = dialect.as_str().split('@').next().unwrap_or_default();
    let versioned =
        dialect.earliest_version().and_then(|_| DialectVersion::parse(&format!("{name}@{number}")));
    versioned.unwrap_or_else(|| dialect.into())
}

#[cfg(test)]
mod tests {
    use super::dialect_of;

    #[test]
    fn release_has_dialect_of_its_time() {
        let dialect = |version: &str| dialect_of(version).to_string();
        for (version, spoken) in [
            ("0.52.12", "pi"),
            ("0.58.1", "pi@0.58"),
            ("0.60.0", "pi@0.58.4"),
            ("0.73.1", "pi@0.73"),
            ("0.84.0", "pi-1@0.84.0"),
            ("1.6.0", "pi-1@1.6.0"),
        ] {
            assert_eq!(dialect(version), spoken, "{version}");
        }
    }
}
