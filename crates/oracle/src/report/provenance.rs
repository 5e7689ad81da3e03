//! Collects what the subjects show of their servers.

use super::{MAX_COMMANDS, Provenance, Report, Subject};
use pi_rpc_protocol::Tier;

impl Provenance {
    /// What the subjects show; rules below `least_tier` were left out.
    pub(super) fn of(subjects: &[Subject], least_tier: Tier) -> Self {
        let servers = || subjects.iter().map(|subject| &subject.server);
        let commands = servers().filter(|server| !server.command.is_empty());
        let mut commands = distinct(commands.map(|server| server.command.join(" ")));
        commands.truncate(MAX_COMMANDS);
        Self {
            servers: distinct(servers().filter_map(|server| server.name.clone())),
            versions: distinct(servers().filter_map(|server| server.version.clone())),
            commands,
            dialects: distinct(subjects.iter().map(Subject::dialect_version)),
            least_tier,
            date: None,
        }
    }
}

impl Report {
    /// Names the command line that started every server, in place of those that the recordings have.
    #[must_use]
    pub fn with_command(mut self, command: String) -> Self {
        self.provenance.commands = vec![command];
        self
    }

    /// Names the version that the server's program tells on its command line, unless the servers have said theirs in a frame.
    #[must_use]
    pub fn with_version(mut self, version: Option<String>) -> Self {
        if self.provenance.versions.is_empty() {
            self.provenance.versions.extend(version);
        }
        self
    }

    /// Names the time of judging: RFC 3339, in UTC. The report reads no clock.
    #[must_use]
    pub fn with_date(mut self, date: String) -> Self {
        self.provenance.date = Some(date);
        self
    }
}

/// The values in their order, each once.
fn distinct(values: impl Iterator<Item = String>) -> Vec<String> {
    let mut all: Vec<String> = Vec::new();
    for value in values {
        if !all.contains(&value) {
            all.push(value);
        }
    }
    all
}
