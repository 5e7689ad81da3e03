//! Who a connection acts for: the name behind a token, its limits, and what it has used of them.

use super::{
    host_error::HostError,
    limits::{TokenLimits, real_path},
    token_file::is_name_of_hash,
    usage::{SpendState, Usage},
};
use futures_util::future::BoxFuture;
use pi_rpc_protocol::{MultiSessionErrorCode, RpcCommand};
use pi_rpc_server::admits_model;
use pi_rpc_session_store::working_directory;
use serde::{Deserialize, Serialize};
use std::{
    path::{Path, PathBuf},
    sync::Arc,
    time::Instant,
};
use tokio_util::sync::CancellationToken;

/// A client, or several that share a name and with it all that they use.
#[derive(Debug, Serialize, Deserialize)]
pub struct Principal {
    /// The name, which sessions are owned by.
    pub name: String,
    /// What it may do.
    pub limits: TokenLimits,
    #[serde(skip)]
    usage: Arc<Usage>,
    /// Cancelled once the token is revoked: the connections that it has opened end.
    #[serde(skip)]
    revoked: CancellationToken,
}

/// Where a session keeps its files.
#[derive(Clone, Debug)]
pub struct SessionPlace {
    /// The working directory.
    pub directory: PathBuf,
    /// The session's file.
    pub file: Option<PathBuf>,
}

/// What a session is, as far as the limits of its clients depend on it.
#[derive(Clone, Debug)]
pub struct SessionFacts<'s> {
    /// The working directory.
    pub directory: &'s Path,
    /// The tools that the model is offered.
    pub tools: Vec<&'s str>,
    /// Provider and id of the model.
    pub model: Option<(String, String)>,
    /// Whether an extension chooses the model of each request, as the selected one is virtual.
    pub is_routed: bool,
    /// Whether it connects servers of the Model Context Protocol.
    pub connects_mcp: bool,
    /// Whether scripts of its model may run further models.
    pub runs_other_models: bool,
}

/// Whether a command makes the session call a model, which costs money.
pub const fn calls_model(command: &RpcCommand) -> bool {
    use RpcCommand as It;
    match command {
        It::Prompt(_) | It::Steer(_) | It::FollowUp(_) | It::AbortAndPrompt(_) | It::Compact(_) => true,
        It::NavigateTree(it) => matches!(it.summarize, Some(true)),
        _ => false,
    }
}

/// Whether a command counts as one of a minute: a client that has sent too much can still stop what that has set off.
pub fn counts(command: &RpcCommand) -> bool {
    let kind = command.kind();
    kind.ended_work().is_none() || kind.is_prompt()
}

/// Whether a command logs the host's user in or out, at a provider or at an MCP server.
fn changes_logins(command: &RpcCommand) -> bool {
    use RpcCommand as It;
    let text = match command {
        It::Prompt(it) => &it.message,
        It::Steer(it) => &it.message,
        It::FollowUp(it) => &it.message,
        It::AbortAndPrompt(it) => &it.message,
        _ => return command.kind().needs_logins(),
    };
    let mut words = text.split_whitespace();
    words.next() == Some("/mcp") && matches!(words.next(), Some("login" | "logout"))
}

impl Principal {
    /// The name of clients without a token: of a Unix socket, and of stdin.
    pub const LOCAL: &'static str = "local";

    /// A client that may do everything, as the user who runs the host may.
    pub fn local() -> Arc<Self> {
        Self::elsewhere(Self::LOCAL.to_owned(), TokenLimits::none())
    }

    /// Names a client of the principal that calls itself `name`: no client of another principal has the same key.
    pub fn client_key(&self, name: &str) -> String {
        format!("{}/{name}", self.name.replace('%', "%25").replace('/', "%2F"))
    }

    /// A client of another process, whose usage is counted there.
    pub fn elsewhere(name: String, limits: TokenLimits) -> Arc<Self> {
        Arc::new(Self::new(name, limits, Arc::default(), CancellationToken::new()))
    }

    /// A client that shares what it uses, until `revoked` is cancelled.
    pub(super) const fn new(
        name: String,
        limits: TokenLimits,
        usage: Arc<Usage>,
        revoked: CancellationToken,
    ) -> Self {
        Self { name, limits, usage, revoked }
    }

    /// Whether the token of the principal is revoked.
    #[cfg(test)]
    pub fn is_revoked(&self) -> bool {
        self.revoked.is_cancelled()
    }

    /// Resolves once the token of the principal is revoked.
    pub async fn revoked(&self) {
        self.revoked.cancelled().await;
    }

    /// Checks the name that an operator gives to a principal.
    ///
    /// # Errors
    ///
    /// It could be taken for another one's, or be more than a name where it is written.
    pub fn check_name(name: &str) -> Result<(), String> {
        check_text("name", name)?;
        if name == Self::LOCAL {
            return Err(format!("name: {name:?} is that of clients without a token; expected another one"));
        }
        match is_name_of_hash(name) {
            true => Err(format!("name: {name:?} is that of a token without a name; expected another one")),
            false => Ok(()),
        }
    }

    /// Counts a command in this process, and knows what was spent in it. Where several processes count, [`admission`](Self::admission)
    /// has done so.
    ///
    /// # Errors
    ///
    /// `rate_limited`: there were too many in the last minute.
    pub fn count_command(&self, now: Instant) -> Result<(), HostError> {
        self.limits.commands_per_minute.map_or(Ok(()), |limit| self.usage.take_command(limit, now))
    }

    /// Counts a command over several processes, as far as there are limits; `None`: there are none, or this process counts alone.
    /// `counts`: whether commands a minute limit it, `spends`: whether dollars do.
    pub fn admission(&self, counts: bool, spends: bool) -> Option<BoxFuture<'static, Result<(), HostError>>> {
        let per_minute = self.limits.commands_per_minute.filter(|_| counts);
        let spends = spends && self.limits.dollars_per_day.is_some();
        (per_minute.is_some() || spends).then(|| self.usage.admission(per_minute, spends))?
    }

    /// Checks that there is money left for today; `wall` in milliseconds since the Unix epoch.
    ///
    /// # Errors
    ///
    /// `spend_exceeded`, or `cluster_unavailable`: what other processes have spent is not known.
    pub fn check_spend(&self, wall: u64) -> Result<(), HostError> {
        let Some(limit) = self.limits.dollars_per_day else { return Ok(()) };
        match self.usage.spend_state(limit, wall) {
            SpendState::Left => Ok(()),
            SpendState::Spent => {
                let text = format!("dollars_per_day: {limit}; more is available from 0:00 UTC on");
                Err(HostError::Forbidden(MultiSessionErrorCode::SpendExceeded, text))
            }
            SpendState::Unknown => {
                let text = "dollars_per_day: what other hosts have spent is not known";
                Err(HostError::ClusterUnavailable(text.to_owned()))
            }
        }
    }

    /// Whether the money of today is known to be spent.
    pub fn has_overspent(&self, wall: u64) -> bool {
        let limit = self.limits.dollars_per_day;
        limit.is_some_and(|limit| self.usage.spend_state(limit, wall) == SpendState::Spent)
    }

    /// Whether dollars that were spent here are on their way to where all processes count.
    pub fn is_adding_dollars(&self) -> bool {
        self.usage.is_adding_dollars()
    }

    /// Adds the cost of an answer.
    pub fn spend(&self, dollars: f64, wall: u64) {
        self.usage.spend(dollars, wall);
    }

    /// Checks a command to a session, which was counted. Blocks where a path is named.
    ///
    /// # Errors
    ///
    /// The command goes beyond the limits.
    pub fn check_command(&self, command: &RpcCommand, place: &SessionPlace) -> Result<(), HostError> {
        let kind = command.kind();
        match command {
            RpcCommand::Bash(_) if !self.limits.allows_tool("bash") => Err(HostError::Forbidden(
                MultiSessionErrorCode::ForbiddenTool,
                "bash: not one of the tools of the token".to_owned(),
            )),
            _ if changes_logins(command) && !self.limits.logins => Err(HostError::Forbidden(
                MultiSessionErrorCode::ForbiddenTool,
                format!("{kind}: the token lacks the limit `logins`"),
            )),
            RpcCommand::SwitchSession(command) => self.check_session_file(&command.session_path, place),
            RpcCommand::ExportHtml(command) => match (&self.limits.roots, &command.output_path) {
                (Some(roots), Some(path)) => roots.check("outputPath", &place.directory.join(path)).map(drop),
                _ => Ok(()),
            },
            _ => Ok(()),
        }
    }

    /// Checks a command to a session that was opened within other limits, as one of another principal: what the command sets
    /// off stays within these. Blocks where there are roots.
    ///
    /// # Errors
    ///
    /// The session works elsewhere, has another model, or offers further tools.
    pub fn check_effects(
        &self,
        command: &RpcCommand,
        opened: &TokenLimits,
        session: &SessionFacts<'_>,
    ) -> Result<(), HostError> {
        let (limits, kind, is_run) = (&self.limits, command.kind().as_str(), calls_model(command));
        let is_foreign = limits.roots != opened.roots;
        if let Some(roots) = limits.roots.as_ref().filter(|_| is_foreign)
            && (is_run || matches!(command, RpcCommand::Bash(_)))
        {
            roots.check("cwd", session.directory)?;
        }
        let is_foreign = limits.models != opened.models;
        if let Some(globs) = limits.models.as_ref().filter(|_| is_foreign) {
            let forbidden = |got: &str| {
                let text = format!("{kind}: expected one of the models {}, got {got}", globs.join(", "));
                Err(HostError::Forbidden(MultiSessionErrorCode::ForbiddenModel, text))
            };
            match (command, &session.model) {
                (RpcCommand::SetModel(it), _) if !admits_model(globs, &it.provider, &it.model_id) => {
                    return forbidden(&format!("\"{}/{}\"", it.provider, it.model_id));
                }
                (RpcCommand::CycleModel(_), _) => return forbidden("the next one; use set_model"),
                _ if is_run && session.is_routed => {
                    return forbidden("a virtual one, whose requests may go to any");
                }
                _ if is_run && session.runs_other_models => {
                    return forbidden("a session whose scripts may run any");
                }
                (_, Some((provider, id))) if is_run && !admits_model(globs, provider, id) => {
                    return forbidden(&format!("\"{provider}/{id}\""));
                }
                _ => {}
            }
        }
        let calls_tools = is_run && !matches!(command, RpcCommand::Compact(_) | RpcCommand::NavigateTree(_));
        if calls_tools && session.connects_mcp && !limits.allows_mcp() {
            let text = format!("{kind}: the session connects MCP servers, which the token forbids (`mcp`)");
            return Err(HostError::Forbidden(MultiSessionErrorCode::ForbiddenTool, text));
        }
        let further = session.tools.iter().find(|name| !limits.allows_tool(name));
        match further.filter(|_| calls_tools && limits.tools != opened.tools) {
            Some(name) => {
                let text = format!("{kind}: the session offers {name:?}, not one of the tools of the token");
                Err(HostError::Forbidden(MultiSessionErrorCode::ForbiddenTool, text))
            }
            None => Ok(()),
        }
    }

    fn check_session_file(&self, path: &str, place: &SessionPlace) -> Result<(), HostError> {
        let Some(roots) = &self.limits.roots else { return Ok(()) };
        let path = place.directory.join(path);
        // Sessions beside this one are reached by their names, wherever the folder is.
        let folder = place.file.as_deref().and_then(Path::parent).and_then(|folder| real_path(folder).ok());
        let is_beside = real_path(&path).is_ok_and(|real| real.parent() == folder.as_deref());
        if !is_beside {
            roots.check("sessionPath", &path)?;
        }
        match working_directory(&path) {
            // As for a session that is not there: it may be another's.
            Some(directory) => {
                roots.check("sessionPath", &directory).map_err(|_| HostError::UnknownSession).map(drop)
            }
            None => Ok(()),
        }
    }
}

/// Longest name of a principal or a client, in bytes. Names are headers of messages and members of records.
const MAX_NAME: usize = 256;

/// Checks a name, which is written into headers, records and the log.
///
/// # Errors
///
/// It is empty or too long, has control characters, or blanks at its ends; `field` is where it was given.
pub fn check_text(field: &str, name: &str) -> Result<(), String> {
    if name.is_empty() || name.len() > MAX_NAME {
        return Err(format!("{field}: expected a name of 1 to {MAX_NAME} bytes, got {}", name.len()));
    }
    if name.chars().any(char::is_control) {
        return Err(format!("{field}: expected a name without control characters, got {name:?}"));
    }
    match name.trim() == name {
        true => Ok(()),
        false => Err(format!("{field}: expected a name without blanks at its ends, got {name:?}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_others_are_refused() {
        for name in ["a", "build server", "org/user", "Local", "token-2bb80d53"] {
            assert_eq!(Principal::check_name(name), Ok(()), "{name}");
        }
        let hash = format!("token-{}", "0a".repeat(32));
        let long = "n".repeat(257);
        for (name, reason) in [
            ("", "expected a name of 1 to 256 bytes, got 0"),
            (&*long, "expected a name of 1 to 256 bytes, got 257"),
            ("local", "\"local\" is that of clients without a token; expected another one"),
            (" local", "expected a name without blanks at its ends, got \" local\""),
            ("a\u{a0}", "expected a name without blanks at its ends, got \"a\\u{a0}\""),
            ("a\nb", "expected a name without control characters, got \"a\\nb\""),
            ("a\u{85}b", "expected a name without control characters, got \"a\\u{85}b\""),
        ] {
            assert_eq!(Principal::check_name(name), Err(format!("name: {reason}")));
        }
        assert!(Principal::check_name(&hash).unwrap_err().contains("a token without a name"));
    }

    #[test]
    fn summary_of_branch_calls_a_model() {
        let calls = |line: &str| calls_model(&serde_json::from_str(line).unwrap());
        assert!(calls(r#"{"type":"navigate_tree","targetId":"a","summarize":true}"#));
        assert!(!calls(r#"{"type":"navigate_tree","targetId":"a"}"#));
    }

    #[test]
    fn logins_need_their_limit() {
        let place = SessionPlace { directory: PathBuf::from("/"), file: None };
        let check = |limits: TokenLimits, line: &str| {
            let command: RpcCommand = serde_json::from_str(line).unwrap();
            let principal = Principal::elsewhere("a".to_owned(), limits);
            principal.check_command(&command, &place).map_err(|error| error.text())
        };
        let login = r#"{"type":"login","providerId":"anthropic"}"#;
        for (line, command) in [
            (login, "login"),
            (r#"{"type":"logout","providerId":"anthropic"}"#, "logout"),
            (r#"{"type":"abort_login"}"#, "abort_login"),
        ] {
            let refused = Err(format!("forbidden_tool: {command}: the token lacks the limit `logins`"));
            assert_eq!(check(TokenLimits::default(), line), refused);
            assert_eq!(check(TokenLimits::of_line(), line), refused);
            assert_eq!(check(TokenLimits { logins: true, ..TokenLimits::default() }, line), Ok(()));
            assert_eq!(check(TokenLimits::none(), line), Ok(()));
        }
        assert_eq!(check(TokenLimits::default(), r#"{"type":"get_login_providers"}"#), Ok(()));
        for (line, is_login) in [
            (r#"{"type":"prompt","message":"/mcp  login docs"}"#, true),
            (r#"{"type":"follow_up","message":"/mcp logout docs"}"#, true),
            (r#"{"type":"prompt","message":"/mcp reconnect docs"}"#, false),
            (r#"{"type":"prompt","message":"say /mcp login"}"#, false),
        ] {
            assert_eq!(check(TokenLimits::default(), line).is_err(), is_login, "{line}");
            assert_eq!(check(TokenLimits::none(), line), Ok(()));
        }
    }
}
