//! Judges the ids, files and exported pages of the sessions of a process, and restores what is known of a reopened session.
//!
//! Rules: `session-identity`, `export-path`.

use super::{
    frame_context::FrameContext,
    pending_read::Interference,
    session_checks::{CommandArguments, SessionChecks},
};
use crate::{findings::Findings, session_state::inactive_sessions::InactiveSession};
use pi_rpc_protocol::RuleId as Rule;
use std::mem;

impl SessionChecks {
    /// Stores what is known of the session that is left, for when it is reopened.
    pub(super) fn store_session(&mut self) {
        let Some(file) = self.file.take() else {
            // A session of this process has a file of its own.
            if !self.has_begun {
                self.left.forget();
            }
            return;
        };
        // Servers differ in what they store of an unfinished run.
        let is_known = !self.log.is_running()
            && !self.may_be_changed_by_extensions()
            && !self.has_branched
            && self.log.has_answer();
        let session = is_known.then(|| InactiveSession {
            log: mem::take(&mut self.log),
            forks: mem::take(&mut self.forks),
            entries: mem::take(&mut self.entries).reopened(),
        });
        self.left.insert(&file, session);
    }

    /// Takes in that the host has switched to a session.
    pub(super) fn on_reopened(&mut self, requested: Option<CommandArguments>, at: &FrameContext) {
        self.leave();
        let Some(CommandArguments::Switch(path)) = requested else { return self.left.forget() };
        let Some(mut session) = self.left.take(&path) else { return };
        if !at.has_extensions && !self.may_be_changed_by_extensions() && session.log.reopen() {
            (self.log, self.forks, self.entries) = (session.log, session.forks, session.entries);
        }
    }

    /// Takes in that an unknown command was executed, which may have changed the session.
    pub fn lose_session(&mut self) {
        self.left.forget();
        (self.file, self.has_begun) = (None, false);
    }

    /// Judges a reported session id and file.
    pub(super) fn named(
        &mut self,
        id: &str,
        file: Option<&str>,
        sight: Interference,
        at: &FrameContext,
        found: &mut Findings,
    ) {
        if sight != Interference::None {
            return;
        }
        // A session that was opened by a path keeps the path. In a redacted recording the name means nothing.
        // The file of a fork may have been named before the fork had its id.
        let is_judged =
            self.has_begun && !self.has_forked && !self.may_be_changed_by_extensions() && !at.has_extensions;
        let name = file.and_then(|file| name_of(file).strip_suffix(".jsonl")).filter(|_| is_judged);
        if let Some(name) = name {
            found.expect(Rule::SessionIdentity, name.ends_with(&format!("_{id}")), || {
                format!("a name that ends with `_{id}.jsonl` at /data/sessionFile")
            });
        }
        self.file = file.filter(|_| !at.cut).map(str::to_owned);
    }

    /// Judges the path of an exported page; `requested` is the one of the command.
    pub(super) fn exported(
        &self,
        requested: Option<&str>,
        reported: &str,
        at: &FrameContext,
        found: &mut Findings,
    ) {
        match requested {
            // The server decides whether that is a path.
            Some("") => {}
            Some(path) => found.expect_same(
                Rule::ExportPath,
                "/data/path",
                "the path that was asked for",
                &path,
                &reported,
            ),
            None => {
                let prefix = at.dialect.record().export.prefix;
                let name = name_of(reported);
                let is_page = name.starts_with(prefix) && name.ends_with(".html");
                found.expect(Rule::ExportPath, is_page, || {
                    format!("a name that begins with `{prefix}` and ends with `.html` at /data/path")
                });
                let file = self.file.as_deref().and_then(|file| name_of(file).strip_suffix(".jsonl"));
                if let Some(file) = file.filter(|_| is_page && !at.cut) {
                    let expected = format!("{prefix}{file}.html");
                    let what = "the name of the session's file";
                    found.expect_same(Rule::ExportPath, "/data/path", what, &expected.as_str(), &name);
                }
            }
        }
    }
}

/// The last part of a path.
fn name_of(path: &str) -> &str {
    path.rsplit(['/', '\\']).next().unwrap_or_default()
}
