//! Kinds of logins: `data/logins.json` says where and how each provider's tokens are obtained, renewed and used.
//!
//! Texts in requests hold `{names}`: of the table (`clientId`, `scope`), of the credential (`refresh`), of
//! [`LoginKind::variables`], and of the flow (`code`, `verifier`, `redirectUri`, …).

use serde::Deserialize;
use std::{collections::BTreeMap, sync::LazyLock};

/// The kind of login of one provider.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct LoginKind {
    /// The name for people.
    pub name: String,
    /// The id under which the vendor knows the client.
    #[serde(default)]
    pub client_id: String,
    /// What the login may be used for.
    pub scopes: Vec<String>,
    /// Further names for texts.
    #[serde(default)]
    pub variables: BTreeMap<String, Variable>,
    /// Obtains a new token; `None`: the token does not expire.
    pub refresh: Option<TokenRequest>,
    /// Retries of a refresh that failed for now.
    #[serde(default)]
    pub refresh_retries: u32,
    /// How a token becomes an entry of `auth.json`.
    pub answer: TokenAnswer,
    /// Whether the token always goes into `Authorization: Bearer`.
    #[serde(default)]
    pub bearer: bool,
    /// The rule by which the token names the address of the API.
    pub base_url: Option<BaseUrlRule>,
    /// The models that the account may use.
    pub account_models: Option<AccountModels>,
    /// Login in a browser on this machine.
    pub browser: Option<BrowserFlow>,
    /// Login in any browser, by a code that the user types.
    pub device: Option<DeviceFlow>,
}

/// Where the value of a name comes from; the first that exists is used.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Variable {
    /// A member of the credential: the host of an address, or the text itself.
    pub credential: Option<String>,
    /// Environment variables.
    #[serde(default)]
    pub environment: Vec<String>,
    /// The value otherwise.
    pub default: Option<String>,
}

/// A request for a token. With a body it is a `POST`, else a `GET`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TokenRequest {
    /// The address.
    pub url: String,
    /// The form of the body.
    pub body: BodyForm,
    /// Further headers.
    #[serde(default)]
    pub headers: BTreeMap<String, String>,
    /// Members of the body.
    #[serde(default)]
    pub fields: indexmap::IndexMap<String, String>,
}

/// The form of a request's body.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum BodyForm {
    /// `application/x-www-form-urlencoded`.
    Form,
    /// JSON.
    Json,
    /// No body.
    None,
}

/// The members of an answer with a token.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct TokenAnswer {
    /// Holds the token that is sent.
    pub access: String,
    /// Holds the token for a refresh; `None`: the one that was used stays.
    pub refresh: Option<String>,
    /// The end of the token's validity.
    pub expires: Expiry,
    /// Seconds before that end from which the token counts as expired.
    pub margin_seconds: f64,
    /// Members that are copied into the credential.
    #[serde(default)]
    pub copied: Vec<String>,
    /// The rule for further members of the credential.
    pub members: Option<MembersRule>,
}

/// How an answer tells the end of a token's validity.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "lowercase", untagged)]
pub enum Expiry {
    /// A member holds the seconds from now.
    In {
        /// The member.
        r#in: String,
        /// Seconds without that member.
        default: Option<f64>,
    },
    /// A member holds the time, in seconds since 1970.
    At {
        /// The member.
        at: String,
    },
    /// A fixed time.
    After {
        /// Seconds from now.
        after: f64,
    },
    /// The token does not expire.
    Never(NeverWord),
}

/// The word `never`.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum NeverWord {
    /// Never.
    Never,
}

/// Rules for members of a credential that are computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum MembersRule {
    /// `accountId` from the token's claims.
    CodexAccount,
    /// `scopes`, which must contain the one for direct use, and `clientId`.
    ChatgptScopes,
}

/// Rules by which a token names the address of the API.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum BaseUrlRule {
    /// The token's `proxy-ep`, else that of the company, else GitHub's for individuals.
    Copilot,
}

/// The member of a credential that lists the models of the account.
pub const AVAILABLE: &str = "availableModelIds";

/// Requests about the models that an account may use. `{apiBase}`: the address that the token names.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AccountModels {
    /// Lists them.
    pub list: TokenRequest,
    /// Accepts the terms of `{modelId}`.
    pub enable: TokenRequest,
}

/// Login in a browser: authorization code with PKCE, and a listener on this machine.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct BrowserFlow {
    /// Tells the authorization page, where that is not fixed: `discovered`.
    pub discovery: Option<Discovery>,
    /// The authorization page.
    pub url: String,
    /// Its query.
    pub parameters: indexmap::IndexMap<String, String>,
    /// What ties the callback to this login.
    pub state: StateRule,
    /// Where the browser comes back to.
    pub callback: Callback,
    /// The page that shows the code for copying, where the browser is on another machine.
    pub copied_to: Option<String>,
    /// Members of the callback's query that go into the credential, by their names there.
    #[serde(default)]
    pub callback_members: BTreeMap<String, String>,
    /// Exchanges the code for a token.
    pub exchange: TokenRequest,
}

/// A document that tells the authorization page.
#[derive(Debug, Deserialize)]
pub struct Discovery {
    /// Its address.
    pub url: String,
    /// The member that holds the page.
    pub member: String,
}

/// What `state` is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum StateRule {
    /// A random text.
    Random,
    /// The PKCE verifier.
    Verifier,
    /// A random part of the callback's path; the query has none.
    Path,
}

/// The listener for the browser.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Callback {
    /// The host in the redirect address.
    pub host: String,
    /// The port; 0: any.
    pub port: u16,
    /// The path.
    pub path: String,
    /// Whether any other port will do if that one is taken.
    #[serde(default)]
    pub or_any_port: bool,
}

/// Login by a code that the user types into any browser.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct DeviceFlow {
    /// Begins it.
    pub start: TokenRequest,
    /// What the answer to that holds.
    pub started: DeviceStart,
    /// Asks whether the user is done.
    pub poll: TokenRequest,
    /// Further errors that mean: not yet.
    #[serde(default)]
    pub pending_errors: Vec<String>,
    /// Statuses that mean: not yet.
    #[serde(default)]
    pub pending_statuses: Vec<u16>,
    /// The redirect address of an exchange that follows.
    pub code_redirect_uri: Option<String>,
    /// What the last answer to `poll` is.
    pub then: DeviceOutcome,
}

/// The members of the answer that begins a device login.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct DeviceStart {
    /// Holds the code that `poll` repeats.
    pub device_code: String,
    /// Hold the page for the user; the first that exists is used.
    #[serde(default)]
    pub pages: Vec<String>,
    /// The page for the user, where it is fixed.
    pub page: Option<String>,
    /// Lifetime of the codes if the answer has no `expires_in`.
    pub lifetime_seconds: Option<f64>,
}

/// What the last answer of a device login is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum DeviceOutcome {
    /// The token.
    Answer,
    /// A code for the exchange of the browser flow, with its verifier.
    Exchange,
    /// A token that only obtains the one to be sent, by a refresh.
    Refresh,
}

#[derive(Deserialize)]
struct Table {
    providers: indexmap::IndexMap<String, LoginKind>,
}

/// The text of the table.
pub const LOGINS: &str = include_str!("../../../data/logins.json");

// Unreadable, it is empty; a test ensures that it is not.
static KINDS: LazyLock<indexmap::IndexMap<String, LoginKind>> = LazyLock::new(|| {
    serde_json::from_str::<Table>(LOGINS).map_or_else(|_| indexmap::IndexMap::new(), |table| table.providers)
});

/// The kind of login of a provider; `None`: it has none.
pub fn login_kind(provider: &str) -> Option<&'static LoginKind> {
    KINDS.get(provider)
}

/// Every provider with a kind of login, in the table's order.
pub fn login_kinds() -> impl Iterator<Item = (&'static str, &'static LoginKind)> {
    KINDS.iter().map(|(provider, kind)| (provider.as_str(), kind))
}
