//! Who a connection acts for: the name behind a token, its limits, and what it has used of them.

use super::{
    host_error::HostError,
    limits::{TokenLimits, real_path},
    token_file::is_name_of_hash,
};
use pi_rpc_protocol::{MultiSessionErrorCode, RpcCommand};
use pi_rpc_server::admits_model;
use pi_rpc_session_store::working_directory;
use serde::{Deserialize, Serialize};
use std::{
    collections::HashMap,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
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

/// What a name has used of its limits.
#[derive(Debug, Default)]
pub struct Usage {
    rate: Mutex<Option<CommandRate>>,
    spend: Mutex<Spend>,
}

/// What all names have used, so that it counts across tokens and connections.
#[derive(Clone, Debug, Default)]
pub struct UsageBook(Arc<Mutex<HashMap<String, Arc<Usage>>>>);

impl UsageBook {
    /// The principal of this name, until `revoked` is cancelled.
    pub fn principal(&self, name: String, limits: TokenLimits, revoked: CancellationToken) -> Arc<Principal> {
        let usage = lock(&self.0).entry(name.clone()).or_default().clone();
        Arc::new(Principal { name, limits, usage, revoked })
    }
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
        Arc::new(Self { name, limits, usage: Arc::default(), revoked: CancellationToken::new() })
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

    /// Counts a command.
    ///
    /// # Errors
    ///
    /// `rate_limited`: there were too many in the last minute.
    pub fn count_command(&self, now: Instant) -> Result<(), HostError> {
        let Some(limit) = self.limits.commands_per_minute else { return Ok(()) };
        let mut rate = lock(&self.usage.rate);
        match rate.get_or_insert_with(|| CommandRate::new(limit, now)).take(limit, now) {
            true => Ok(()),
            false => {
                let text = format!("commands_per_minute: {limit}; wait, and send the command again");
                Err(HostError::Forbidden(MultiSessionErrorCode::RateLimited, text))
            }
        }
    }

    /// Checks that there is money left for today; `wall` in milliseconds since the Unix epoch.
    ///
    /// # Errors
    ///
    /// `spend_exceeded`.
    pub fn check_spend(&self, wall: u64) -> Result<(), HostError> {
        let Some(limit) = self.limits.dollars_per_day else { return Ok(()) };
        match lock(&self.usage.spend).today(wall) < limit {
            true => Ok(()),
            false => {
                let text = format!("dollars_per_day: {limit}; more is available from 0:00 UTC on");
                Err(HostError::Forbidden(MultiSessionErrorCode::SpendExceeded, text))
            }
        }
    }

    /// Adds the cost of an answer.
    pub fn spend(&self, dollars: f64, wall: u64) {
        lock(&self.usage.spend).add(dollars, wall);
    }

    /// Checks a command to a session. Blocks where a path is named.
    ///
    /// # Errors
    ///
    /// The command goes beyond the limits.
    pub fn check_command(
        &self,
        command: &RpcCommand,
        place: &SessionPlace,
        now: Instant,
    ) -> Result<(), HostError> {
        // A client that has sent too much can still stop what that has set off.
        let kind = command.kind();
        if kind.ended_work().is_none() || kind.is_prompt() {
            self.count_command(now)?;
        }
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

/// Commands that may be given now. By hand: crates for this bring a dozen others, for 15 lines.
#[derive(Debug)]
struct CommandRate {
    left: f64,
    at: Instant,
}

impl CommandRate {
    fn new(per_minute: u32, now: Instant) -> Self {
        Self { left: f64::from(per_minute), at: now }
    }

    /// Takes one command; `false`: there is none left.
    fn take(&mut self, per_minute: u32, now: Instant) -> bool {
        let limit = f64::from(per_minute);
        let refilled = now.saturating_duration_since(self.at).as_secs_f64() * limit / 60.0;
        (self.left, self.at) = ((self.left + refilled).min(limit), now.max(self.at));
        let is_left = self.left >= 1.0;
        if is_left {
            self.left -= 1.0;
        }
        is_left
    }
}

/// Dollars of one day.
#[derive(Debug, Default)]
struct Spend {
    /// Days since the Unix epoch.
    day: u64,
    dollars: f64,
}

const DAY_MS: u64 = 24 * 60 * 60 * 1000;

impl Spend {
    fn today(&self, wall: u64) -> f64 {
        if wall / DAY_MS > self.day { 0.0 } else { self.dollars }
    }

    fn add(&mut self, dollars: f64, wall: u64) {
        // A clock that goes back gives nothing back.
        *self = Self { dollars: self.today(wall) + dollars, day: self.day.max(wall / DAY_MS) };
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    fn principal(book: &UsageBook, limits: &str) -> Arc<Principal> {
        let limits = serde_json::from_str(limits).unwrap();
        book.principal("a".to_owned(), limits, CancellationToken::new())
    }

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
            principal.check_command(&command, &place, Instant::now()).map_err(|error| error.text())
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

    #[test]
    fn rate_refills_over_a_minute() {
        let start = Instant::now();
        let mut rate = CommandRate::new(2, start);
        let mut taken = |seconds| rate.take(2, start + Duration::from_secs(seconds));
        assert_eq!(
            [0, 0, 0, 29, 30, 31, 120, 120, 120].map(&mut taken),
            [true, true, false, false, true, false, true, true, false]
        );
    }

    #[test]
    fn tokens_of_one_name_share_usage() {
        let (book, now) = (UsageBook::default(), Instant::now());
        let limits = r#"{"commands_per_minute":1,"dollars_per_day":1}"#;
        let (one, other) = (principal(&book, limits), principal(&book, limits));
        one.count_command(now).unwrap();
        one.spend(1.0, 0);
        let codes =
            [other.count_command(now), other.check_spend(0)].map(|refused| refused.unwrap_err().text());
        assert_eq!(
            codes,
            [
                "rate_limited: commands_per_minute: 1; wait, and send the command again",
                "spend_exceeded: dollars_per_day: 1; more is available from 0:00 UTC on",
            ]
        );
    }

    #[test]
    fn spend_begins_anew_each_day() {
        let book = UsageBook::default();
        let one = principal(&book, r#"{"dollars_per_day":1}"#);
        one.spend(0.5, DAY_MS);
        one.check_spend(DAY_MS + 1).unwrap();
        one.spend(0.5, DAY_MS + 1);
        one.check_spend(DAY_MS + 1).unwrap_err();
        // A clock that goes back.
        one.check_spend(1).unwrap_err();
        one.check_spend(2 * DAY_MS).unwrap();
    }
}
