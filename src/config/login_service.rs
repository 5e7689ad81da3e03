//! Renews the tokens of logins: what each vendor's token endpoint is sent, and what its answer becomes in `auth.json`.
//!
//! Source: pi 1.5.2 (its logins), observed; RFC 6749, section 6. A client library of OAuth 2 would serve two of these
//! seven: others send JSON, exchange the token of another service, or leave members out.

use super::token::chatgpt_account;
use crate::{model::http::TokenRequest, protocol::JsonObject};
use serde_json::{Value, json};

/// A vendor's way to renew a login.
#[derive(Debug)]
pub struct LoginService {
    /// The provider, as in `auth.json`.
    provider: &'static str,
    /// The endpoint; `{domain}` stands for the domain of a login at a company's own GitHub.
    url: &'static str,
    grant: Grant,
    answer: Answer,
}

/// What the endpoint is sent.
#[derive(Debug)]
enum Grant {
    /// The refresh token and the client, as a form.
    Form(Client),
    /// The same as JSON.
    Json(Client),
    /// A `GET` with the refresh token as bearer token, and these headers.
    Get(&'static [(&'static str, &'static str)]),
    /// An empty object with the refresh token as bearer token, and these headers.
    Mint(&'static [(&'static str, &'static str)]),
}

/// The client's id.
#[derive(Debug)]
enum Client {
    /// The same for everybody.
    Fixed(&'static str),
    /// Given to each login, for this resource.
    Issued { member: &'static str, resource: &'static str },
}

/// What the answer holds.
#[derive(Debug)]
enum Answer {
    /// The members of RFC 6749.
    Tokens {
        /// How long before its end a token counts as expired, in seconds.
        margin: u64,
        /// Validity in seconds where the answer names none; `None`: it must.
        validity: Option<u64>,
        /// Whether the refresh token stays where the answer names none.
        keeps_refresh: bool,
    },
    /// Copilot's `token` and `expires_at`.
    Copilot,
    /// `api_key`, for so many seconds.
    Key(u64),
}

const MINUTE: u64 = 60;
const DAY: u64 = 24 * 60 * MINUTE;

/// The logins that can be renewed.
static SERVICES: [LoginService; 7] = [
    LoginService {
        provider: "anthropic",
        url: "https://platform.claude.com/v1/oauth/token",
        grant: Grant::Json(Client::Fixed("9d1c250a-e61b-44d9-88ed-5944d1962f5e")),
        answer: Answer::Tokens { margin: 5 * MINUTE, validity: None, keeps_refresh: false },
    },
    LoginService {
        provider: "github-copilot",
        url: "https://api.{domain}/copilot_internal/v2/token",
        grant: Grant::Get(&[
            ("user-agent", "GitHubCopilotChat/0.35.0"),
            ("editor-version", "vscode/1.107.0"),
            ("editor-plugin-version", "copilot-chat/0.35.0"),
            ("copilot-integration-id", "vscode-chat"),
        ]),
        answer: Answer::Copilot,
    },
    LoginService {
        provider: "kimi-coding",
        url: "https://auth.kimi.com/api/oauth/token",
        grant: Grant::Form(Client::Fixed("17e5f671-d194-4dfb-9706-5516cb48c098")),
        answer: Answer::Tokens { margin: 0, validity: None, keeps_refresh: false },
    },
    LoginService {
        provider: "meta",
        url: "https://api.meta.ai/muse-code/key",
        grant: Grant::Mint(&[("x-api-version", "1.0.0")]),
        answer: Answer::Key(DAY),
    },
    LoginService {
        provider: "openai",
        url: "https://auth.openai.com/api/accounts/oauth/token",
        grant: Grant::Form(Client::Issued { member: "clientId", resource: "https://api.openai.com/v1" }),
        answer: Answer::Tokens { margin: 3 * MINUTE, validity: None, keeps_refresh: false },
    },
    LoginService {
        provider: "openai-codex",
        url: "https://auth.openai.com/oauth/token",
        grant: Grant::Form(Client::Fixed("app_EMoamEEZ73f0CkXaXp7hrann")),
        answer: Answer::Tokens { margin: 0, validity: None, keeps_refresh: false },
    },
    LoginService {
        provider: "xai",
        url: "https://auth.x.ai/oauth2/token",
        grant: Grant::Form(Client::Fixed("b1a00492-073a-47ea-816f-4c329264a828")),
        answer: Answer::Tokens { margin: 5 * MINUTE, validity: Some(60 * MINUTE), keeps_refresh: true },
    },
];

impl LoginService {
    /// The service that renews the provider's login; `None`: this version cannot.
    pub fn of(provider: &str) -> Option<&'static Self> {
        SERVICES.iter().find(|service| service.provider == provider)
    }

    /// Builds the request that renews the login `entry` of `auth.json`. `origin` replaces the vendor's own.
    ///
    /// # Errors
    ///
    /// The member that the entry lacks.
    pub fn request(&self, entry: &JsonObject, origin: Option<&str>) -> Result<TokenRequest, String> {
        let refresh = member(entry, "refresh")?;
        let mut headers = vec![("accept".to_owned(), "application/json".to_owned())];
        let mut add = |name: &str, value: &str| headers.push((name.to_owned(), value.to_owned()));
        let body = match &self.grant {
            Grant::Form(client) => {
                add("content-type", "application/x-www-form-urlencoded");
                Some(form(&client.members(entry, refresh)?))
            }
            Grant::Json(client) => {
                add("content-type", "application/json");
                let members = client.members(entry, refresh)?;
                let members = members.into_iter().map(|(name, value)| (name.to_owned(), Value::from(value)));
                Some(Value::Object(members.collect()).to_string())
            }
            Grant::Get(own) | Grant::Mint(own) => {
                add("authorization", &format!("Bearer {refresh}"));
                own.iter().for_each(|(name, value)| add(name, value));
                matches!(self.grant, Grant::Mint(_)).then(|| json!({}).to_string())
            }
        };
        if matches!(self.grant, Grant::Mint(_)) {
            headers.push(("content-type".to_owned(), "application/json".to_owned()));
        }
        let domain = member(entry, "enterpriseUrl").unwrap_or("github.com");
        let url = self.url.replace("{domain}", domain);
        let url = match origin {
            Some(origin) => format!("{origin}/{}", url.splitn(4, '/').nth(3).unwrap_or_default()),
            None => url,
        };
        Ok(TokenRequest { url, headers, body })
    }

    /// Writes the answer of the endpoint into the login. `now` is in milliseconds since 1970.
    ///
    /// # Errors
    ///
    /// The member that the answer lacks, or that is no text or number, without its value.
    pub fn renew(&self, entry: &JsonObject, answer: &Value, now: u64) -> Result<JsonObject, String> {
        let text = |name: &str| {
            let text = answer[name].as_str().filter(|text| !text.is_empty());
            text.ok_or_else(|| format!("{name}: expected a text in the answer"))
        };
        let seconds = |name: &str| {
            let number = answer[name].as_f64().filter(|number| *number > 0.0);
            number.ok_or_else(|| format!("{name}: expected a number of seconds in the answer"))
        };
        let millis =
            |seconds: f64, margin: u64| (seconds * 1000.0) as u64 - margin.min(seconds as u64) * 1000;
        let mut renewed = entry.clone();
        let mut set = |name: &str, value: Value| drop(renewed.insert(name.to_owned(), value));
        match self.answer {
            Answer::Tokens { margin, validity, keeps_refresh } => {
                set("access", text("access_token")?.into());
                match text("refresh_token") {
                    Err(_) if keeps_refresh && answer["refresh_token"].is_null() => {}
                    refresh => set("refresh", refresh?.into()),
                }
                let left = match validity.filter(|_| answer["expires_in"].is_null()) {
                    Some(validity) => validity as f64,
                    None => seconds("expires_in")?,
                };
                set("expires", (now + millis(left, margin)).into());
                if self.provider == "openai-codex" {
                    let account = chatgpt_account(text("access_token")?);
                    set("accountId", account.ok_or("access_token: names no ChatGPT account")?.into());
                }
            }
            Answer::Copilot => {
                set("access", text("token")?.into());
                set("expires", millis(seconds("expires_at")?, 5 * MINUTE).into());
            }
            Answer::Key(validity) => {
                set("access", text("api_key")?.into());
                set("expires", (now + validity * 1000).into());
            }
        }
        Ok(renewed)
    }
}

impl Client {
    /// The members of a request for new tokens.
    fn members<'a>(
        &self,
        entry: &'a JsonObject,
        refresh: &'a str,
    ) -> Result<Vec<(&'static str, &'a str)>, String> {
        let mut members = vec![("grant_type", "refresh_token"), ("refresh_token", refresh)];
        match self {
            Self::Fixed(id) => members.push(("client_id", id)),
            Self::Issued { member: name, resource } => {
                members.push(("client_id", member(entry, name)?));
                members.push(("resource", resource));
            }
        }
        Ok(members)
    }
}

fn member<'a>(entry: &'a JsonObject, name: &str) -> Result<&'a str, String> {
    let text = entry.get(name).and_then(Value::as_str).filter(|text| !text.is_empty());
    text.ok_or_else(|| format!("{name}: expected a text in the login"))
}

/// Encodes a form: everything but letters, digits and `-._` as bytes.
fn form(members: &[(&str, &str)]) -> String {
    let encode = |text: &str| -> String {
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._".contains(&byte);
        text.bytes()
            .map(|byte| if plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") })
            .collect()
    };
    let pairs: Vec<String> =
        members.iter().map(|(name, value)| format!("{}={}", encode(name), encode(value))).collect();
    pairs.join("&")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry() -> JsonObject {
        let entry = json!({
            "type": "oauth", "access": "a", "refresh": "r&=", "expires": 1, "clientId": "c-1", "enterpriseUrl": "git.example",
        });
        serde_json::from_value(entry).unwrap()
    }

    #[test]
    fn endpoints_get_what_they_expect() {
        let shown = |service: &LoginService| {
            let request = service.request(&entry(), None).unwrap();
            let kind = request
                .headers
                .iter()
                .find(|(name, _)| name == "content-type")
                .map(|(_, kind)| kind.as_str());
            let bearer =
                request.headers.iter().any(|header| *header == ("authorization".into(), "Bearer r&=".into()));
            format!("{} {kind:?} {bearer} {:?}", request.url, request.body.unwrap_or_default())
        };
        let form = "Some(\"application/x-www-form-urlencoded\") false \"grant_type=refresh_token&refresh_token=r%26%3D&client_id=";
        let json = "Some(\"application/json\")";
        assert_eq!(
            SERVICES.each_ref().map(shown),
            [
                format!(
                    "https://platform.claude.com/v1/oauth/token {json} false {:?}",
                    r#"{"grant_type":"refresh_token","refresh_token":"r&=","client_id":"9d1c250a-e61b-44d9-88ed-5944d1962f5e"}"#
                ),
                "https://api.git.example/copilot_internal/v2/token None true \"\"".to_owned(),
                format!("https://auth.kimi.com/api/oauth/token {form}17e5f671-d194-4dfb-9706-5516cb48c098\""),
                format!("https://api.meta.ai/muse-code/key {json} true \"{{}}\""),
                format!(
                    "https://auth.openai.com/api/accounts/oauth/token {form}c-1&resource=https%3A%2F%2Fapi.openai.com%2Fv1\""
                ),
                format!("https://auth.openai.com/oauth/token {form}app_EMoamEEZ73f0CkXaXp7hrann\""),
                format!("https://auth.x.ai/oauth2/token {form}b1a00492-073a-47ea-816f-4c329264a828\""),
            ]
        );
        let local = SERVICES[1].request(&entry(), Some("http://127.0.0.1:9")).unwrap();
        assert_eq!(local.url, "http://127.0.0.1:9/copilot_internal/v2/token");
        let without = LoginService::of("openai").unwrap().request(&JsonObject::new(), None);
        assert_eq!(without, Err("refresh: expected a text in the login".to_owned()));
    }

    #[test]
    fn answers_become_logins() {
        let renew = |provider: &str, answer: Value| {
            let renewed = LoginService::of(provider).unwrap().renew(&entry(), &answer, 1_000_000)?;
            let [access, refresh, expires] =
                ["access", "refresh", "expires"].map(|name| renewed[name].to_string());
            Ok(format!("{access} {refresh} {expires} {}", renewed.len()))
        };
        let tokens = json!({ "access_token": "new", "refresh_token": "next", "expires_in": 3600 });
        let lacks = |text: &str| Err(text.to_owned());
        for (provider, answer, expected) in [
            ("anthropic", tokens.clone(), Ok(r#""new" "next" 4300000 6"#.to_owned())),
            ("kimi-coding", tokens.clone(), Ok(r#""new" "next" 4600000 6"#.to_owned())),
            ("openai", tokens.clone(), Ok(r#""new" "next" 4420000 6"#.to_owned())),
            ("xai", json!({ "access_token": "new" }), Ok(r#""new" "r&=" 4300000 6"#.to_owned())),
            ("meta", json!({ "api_key": "new" }), Ok(r#""new" "r&=" 87400000 6"#.to_owned())),
            (
                "github-copilot",
                json!({ "token": "new", "expires_at": 5000 }),
                Ok(r#""new" "r&=" 4700000 6"#.to_owned()),
            ),
            ("openai-codex", tokens, lacks("access_token: names no ChatGPT account")),
            (
                "anthropic",
                json!({ "access_token": "new" }),
                lacks("refresh_token: expected a text in the answer"),
            ),
            (
                "anthropic",
                json!({ "access_token": "new", "refresh_token": "next", "expires_in": "3600" }),
                lacks("expires_in: expected a number of seconds in the answer"),
            ),
            ("meta", json!({}), lacks("api_key: expected a text in the answer")),
        ] {
            assert_eq!(renew(provider, answer), expected, "{provider}");
        }
    }
}
