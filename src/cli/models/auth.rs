//! `pi-rpc models --auth`: the credential of each provider, without anything that could log somebody in.

use jiff::{Timestamp, tz::TimeZone};
use pi_rpc_config::{Config, CredentialKind, CredentialPlace, CredentialSource};
use serde_json::{Value, json};
use std::collections::BTreeSet;

/// Providers with a credential, and its source.
pub fn sources(config: &Config) -> Vec<(String, CredentialSource)> {
    let models = config.models().into_iter().map(|endpoint| endpoint.model.provider);
    let stored = config.keys.stored_providers().into_iter();
    let stored = stored.chain(config.keys.database_providers().map(str::to_owned));
    let providers: BTreeSet<String> = models.chain(stored).collect();
    let found = providers.into_iter().filter_map(|provider| {
        let source = config.keys.credential_source(&provider)?;
        Some((provider, source))
    });
    found.collect()
}

/// The table for people.
pub fn as_text(config: &Config) -> String {
    let sources = sources(config);
    if sources.is_empty() {
        return "No provider has a credential. Log in (pi-rpc login), set a variable (pi-rpc models), or write auth.json."
            .to_owned();
    }
    let rows = sources.iter().map(|(provider, CredentialSource { kind, place })| {
        [provider.clone(), kind_text(*kind).to_owned(), place_text(place), validity(*kind)]
    });
    let head = ["PROVIDER", "CREDENTIAL", "FROM", "VALID UNTIL"].map(str::to_owned);
    let rows: Vec<[String; 4]> = std::iter::once(head).chain(rows).collect();
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
    let [provider, kind, place] = [width(0), width(1), width(2)];
    let lines = rows.iter().map(|row| {
        format!("{:provider$}  {:kind$}  {:place$}  {}", row[0], row[1], row[2], row[3]).trim_end().to_owned()
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// The same as JSON.
pub fn as_json(config: &Config) -> Value {
    let providers = sources(config).into_iter().map(|(provider, CredentialSource { kind, place })| {
        let (file, variable) = match place {
            CredentialPlace::File(path) => (Some(path), None),
            CredentialPlace::Variable(name) => (None, Some(name)),
        };
        let (expires, renewed) = match kind {
            CredentialKind::Login { expires, is_renewed } => (expires, Some(is_renewed)),
            CredentialKind::Key | CredentialKind::Command => (None, None),
        };
        json!({
            "provider": provider, "credential": kind_text(kind), "file": file, "variable": variable,
            "expires": expires.map(|time| time as i64), "renewed": renewed,
        })
    });
    providers.collect()
}

/// The file or the variable that a credential is in.
pub fn place_text(place: &CredentialPlace) -> String {
    match place {
        CredentialPlace::File(path) => path.display().to_string(),
        CredentialPlace::Variable(name) => format!("${name}"),
    }
}

/// What a credential is.
pub const fn kind_text(kind: CredentialKind) -> &'static str {
    match kind {
        CredentialKind::Key => "key",
        CredentialKind::Command => "command",
        CredentialKind::Login { .. } => "login",
    }
}

fn validity(kind: CredentialKind) -> String {
    let CredentialKind::Login { expires, is_renewed } = kind else { return String::new() };
    let Some(expires) = expires else { return "it is revoked".to_owned() };
    let until = Timestamp::from_millisecond(expires as i64).map_or_else(
        |_| "unknown".to_owned(),
        |time| time.to_zoned(TimeZone::UTC).strftime("%Y-%m-%d %H:%M UTC").to_string(),
    );
    let has_passed = Timestamp::now().as_millisecond() as f64 >= expires;
    match (is_renewed, has_passed) {
        (true, _) => format!("{until}, then renewed"),
        (false, true) => format!("{until}, which has passed"),
        (false, false) => until,
    }
}
