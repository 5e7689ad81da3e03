//! Resolves credentials of providers, per request.

mod secret_texts;

use super::{
    Environment,
    auth::{Login, Logins, SharedLogins},
    aws,
    catalogue::BUILT_IN,
    command::KeyCommands,
    credential_database::StoredCredentials,
    credential_error::CredentialError,
    credential_order::CredentialFiles,
    credential_source::CredentialPlace,
    login_kinds::AVAILABLE,
    login_use::{has_passed, login_use},
    models_file::{Override, ProviderKeys, Providers},
    pattern::full_id,
};
use pi_rpc_files::secrets::{Secrets, names_key};
use pi_rpc_model::{
    anthropic::federation::{self, ANTHROPIC},
    api::Api,
    bedrock::{AwsAccess, AwsKeySource},
    chatgpt_token::chatgpt_account,
    request::Credentials,
};
use pi_rpc_protocol::{JsonObject, Model};
use serde_json::Value;
use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
    path::PathBuf,
    sync::Arc,
};

/// The provider whose models an account of Google authorizes.
pub(super) const VERTEX: &str = "google-vertex";

/// All sources of credentials. Clones share the outputs of commands.
#[derive(Clone, Default)]
pub struct Keys {
    pub(super) environment: Environment,
    pub(super) logins: SharedLogins,
    /// Configured sources by provider.
    pub(super) providers: BTreeMap<String, ProviderKeySources>,
    /// Configured headers of single models, by provider and id.
    pub(super) model_headers: BTreeMap<(String, String), JsonObject>,
    /// `--api-key`: a provider and its key.
    pub(super) cli_key: Option<(String, String)>,
    /// The agent directory, for error texts.
    pub(super) agent: PathBuf,
    /// Keys and logins of the dialect's database, below those of `auth.json`.
    pub(super) database: Arc<StoredCredentials>,
    /// Providers whose login or key in `logins` is of the database.
    pub(super) of_database: BTreeSet<String>,
    /// The files that credentials come from beside `auth.json`.
    pub(super) files: CredentialFiles,
    commands: Arc<KeyCommands>,
    /// Whether values may contain `$NAME`.
    interpolates: bool,
    /// Whether commands that print keys are withheld: their project is not approved.
    withholds_commands: bool,
    /// Providers whose extensions answer for the models, with any API.
    streams: BTreeSet<String>,
    /// Providers of virtual models alone, which need no key.
    keyless: BTreeSet<String>,
    /// Full ids of virtual models, whose requests are sent to others.
    virtual_models: BTreeSet<String>,
    /// Known secrets, to be redacted.
    pub(super) secrets: Secrets,
}

/// The configured sources of a provider's key and headers.
#[derive(Clone, Default)]
pub(super) struct ProviderKeySources {
    /// Variables that may hold the key.
    variables: &'static [&'static str],
    /// Those of them that hold a token for `Authorization`.
    bearer_variables: &'static [&'static str],
    /// The key in `models.json`, as configured.
    pub(super) key: Option<String>,
    headers: JsonObject,
    /// Whether the key goes into `Authorization: Bearer`, by `models.json` or the provider.
    bearer: bool,
    /// Header for the key, in place of that of the API.
    key_header: Option<&'static str>,
    /// Variables that the addresses need.
    needs: &'static [&'static str],
}

// Keys must not reach logs.
impl fmt::Debug for Keys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Keys").finish_non_exhaustive()
    }
}

impl Keys {
    /// Collects the sources in files and environment.
    /// `secrets` learns their values.
    pub fn new(
        configured: &Providers,
        logins: Logins,
        environment: Environment,
        agent: PathBuf,
        secrets: Secrets,
    ) -> Self {
        let mut keys =
            Self { environment, logins: SharedLogins::new(logins), agent, secrets, ..Self::default() };
        for known in BUILT_IN.providers {
            let provider = keys.providers.entry(known.id.to_owned()).or_default();
            provider.variables = known.env;
            provider.bearer_variables = known.bearer_env;
            provider.bearer = known.bearer;
            provider.key_header = known.key_header;
            provider.needs = known.needs;
            for variable in known.env.iter().filter(|name| names_key(name)) {
                keys.secrets.withhold(variable);
                keys.environment.get(variable).into_iter().for_each(|value| keys.secrets.remember(value));
            }
        }
        for variable in aws::SECRET_VARIABLES {
            keys.environment.get(variable).into_iter().for_each(|value| keys.secrets.remember(value));
        }
        for variable in PROXIES {
            keys.environment.get(variable).into_iter().for_each(|url| keys.secrets.remember_url(url));
        }
        keys.logins.all().values().for_each(|login| keys.learn_login_secrets(login));
        for (name, file) in configured {
            keys.learn_provider_secrets(file);
            let provider = keys.providers.entry(name.clone()).or_default();
            provider.key.clone_from(&file.api_key);
            provider.headers.clone_from(&file.headers);
            provider.bearer |= file.auth_header;
            // As in pi: a model's own headers replace those of an override, and an empty list removes them.
            for (id, over) in &file.model_overrides {
                let over: Override = serde_json::from_value(over.clone()).unwrap_or_default();
                keys.model_headers.insert((name.clone(), id.clone()), over.headers);
            }
            for model in &file.models {
                keys.model_headers.insert((name.clone(), model.id.clone()), model.headers.clone());
            }
        }
        keys
    }

    /// Sets whether values may contain `$NAME` (source: pi 1.5.2's `models.md`).
    #[must_use]
    pub const fn with_interpolation(mut self, interpolates: bool) -> Self {
        self.interpolates = interpolates;
        self
    }

    /// Sets whether commands that print keys run.
    #[must_use]
    pub const fn with_key_commands(mut self, runs: bool) -> Self {
        self.withholds_commands = !runs;
        self
    }

    /// Adds a provider that an extension has registered; `streams`: the extension answers for its models.
    pub fn add(&mut self, name: &str, added: &ProviderKeys, streams: bool) {
        self.learn_provider_secrets(added);
        let provider = self.providers.entry(name.to_owned()).or_default();
        if added.api_key.is_some() {
            provider.key.clone_from(&added.api_key);
        }
        provider.headers.extend(added.headers.clone());
        provider.bearer |= added.auth_header;
        for model in &added.models {
            self.model_headers.insert((name.to_owned(), model.id.clone()), model.headers.clone());
        }
        if streams {
            self.streams.insert(name.to_owned());
        }
    }

    /// Adds a virtual model; `is_keyless`: its provider has no others.
    pub(super) fn add_virtual(&mut self, model: &Model, is_keyless: bool) {
        self.virtual_models.insert(full_id(model));
        if is_keyless {
            self.keyless.insert(model.provider.clone());
        }
    }

    /// Adds the key of the command line for `provider`, which precedes all others.
    #[must_use]
    pub fn with_cli_key(mut self, provider: &str, key: &str) -> Self {
        self.secrets.remember(key);
        self.cli_key = Some((provider.to_owned(), key.to_owned()));
        self
    }

    /// Adds the key of the command line that `other` has.
    #[must_use]
    pub fn with_cli_key_of(mut self, other: &Self) -> Self {
        self.cli_key.clone_from(&other.cli_key);
        self
    }

    /// Known secrets; outputs of commands are known once they have run.
    pub const fn secrets(&self) -> &Secrets {
        &self.secrets
    }

    /// Environment variables that may hold the provider's key.
    pub fn variables(&self, provider: &str) -> &'static [&'static str] {
        self.providers.get(provider).map_or(&[], |configured| configured.variables)
    }

    /// Whether any source is configured for the provider, so that its models are offered. Runs nothing.
    pub fn is_configured(&self, provider: &str) -> bool {
        let configured = self.providers.get(provider);
        self.cli_key(provider).is_some()
            || self.keyless.contains(provider)
            || self.logins.get(provider).as_ref().is_some_and(Login::has_key)
            || self.late_key(provider).is_some()
            || (provider == aws::AMAZON_BEDROCK && aws::is_configured(&self.environment_of(provider)))
            || configured.is_some_and(|it| it.key.is_some() || self.variable(it).is_some())
            || (provider == VERTEX && self.has_google_account())
            || (provider == ANTHROPIC && self.has_federation())
    }

    /// Whether variables name the exchange of a platform's token for one of Anthropic. The token is not read.
    fn has_federation(&self) -> bool {
        let needed = &federation::VARIABLES[..federation::NEEDED];
        needed.iter().all(|name| self.variable_of(ANTHROPIC, name).is_some_and(|it| !it.trim().is_empty()))
    }

    /// Whether there is an account for Vertex AI, with its project and location: a file, or a metadata server that a variable names.
    /// The account is not read.
    fn has_google_account(&self) -> bool {
        let variables = self.variables_of(VERTEX, Api::GoogleVertex);
        let credentials = Credentials { variables, ..Credentials::default() };
        let source = Api::GoogleVertex.account_source(&credentials).ok().flatten();
        source.is_some_and(|source| {
            let is_file = source.file.is_some_and(|file| std::path::Path::new(&file).is_file());
            is_file || (!source.is_named && source.metadata_host.is_some())
        })
    }

    /// Values of the variables that a request to the provider depends on: of its login, else of the environment.
    fn variables_of(&self, provider: &str, api: Api) -> BTreeMap<&'static str, String> {
        let names = api.variables(provider).iter();
        names.filter_map(|name| Some((*name, self.variable_of(provider, name)?))).collect()
    }

    /// The value of a variable for requests to the provider: of its entry in `auth.json`, else of the environment.
    fn variable_of(&self, provider: &str, name: &str) -> Option<String> {
        let own = match self.logins.get(provider) {
            Some(Login::ApiKey { mut env, .. }) => env.remove(name).filter(|value| !value.is_empty()),
            _ => None,
        };
        own.or_else(|| self.environment.get(name).map(str::to_owned))
    }

    /// The environment, with the variables of the provider's entry in `auth.json`.
    fn environment_of(&self, provider: &str) -> Environment {
        match self.logins.get(provider) {
            Some(Login::ApiKey { env, .. }) if !env.is_empty() => self.environment.with(&env),
            _ => self.environment.clone(),
        }
    }

    /// The source of the provider's credentials, for people: a variable, a file or an option; `None`: there is none.
    pub fn source(&self, provider: &str) -> Option<String> {
        if self.cli_key(provider).is_some() {
            return Some("--api-key".to_owned());
        }
        // An entry may hold variables alone.
        let is_stored = || self.logins.get(provider).map(|_| CredentialPlace::File(self.auth_file()));
        let place = self.credential_source(provider).map(|source| source.place).or_else(is_stored)?;
        Some(match place {
            CredentialPlace::File(path) => {
                path.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned())
            }
            CredentialPlace::Variable(name) => name.to_owned(),
        })
    }

    /// Checks that the model's API is supported, or that an extension answers for the model.
    ///
    /// # Errors
    ///
    /// The API is not supported.
    pub fn check_api(&self, model: &Model) -> Result<(), CredentialError> {
        let is_virtual = || self.virtual_models.contains(&full_id(model));
        match Api::parse(&model.api).is_some() || self.streams.contains(&model.provider) || is_virtual() {
            true => Ok(()),
            false => Err(CredentialError::Api(model.api.clone())),
        }
    }

    /// Whether hosts may choose a model of a configured provider: its API is supported, and its address complete.
    pub fn is_offered(&self, model: &Model) -> bool {
        self.check_api(model).is_ok() && self.missing_variable(model).is_none() && self.is_of_account(model)
    }

    /// Whether the account of the provider's login may use the model, as far as its entry lists that.
    fn is_of_account(&self, model: &Model) -> bool {
        let Some((kind, Login::Oauth { others, .. })) = self.oauth_login(&model.provider) else {
            return true;
        };
        let listed = others.get(AVAILABLE).filter(|_| kind.account_models.is_some());
        let listed = listed.and_then(Value::as_array).filter(|ids| ids.iter().all(Value::is_string));
        listed.is_none_or(|ids| ids.iter().any(|id| *id == *model.id))
    }

    /// Checks that credentials for the model can be resolved, as far as possible without running a command.
    ///
    /// # Errors
    ///
    /// A source of credentials is missing or has expired, or the API is not supported.
    pub fn check(&self, model: &Model) -> Result<(), CredentialError> {
        self.check_api(model)?;
        let provider = &model.provider;
        if let Some(variable) = self.missing_variable(model).filter(|_| self.source(provider).is_some()) {
            return Err(CredentialError::NoVariable { provider: provider.clone(), variable });
        }
        match self.login(provider) {
            Some(Login::Oauth { expires, refresh, .. }) if has_passed(expires) => {
                self.check_renewable(provider, &refresh)
            }
            _ if self.is_configured(provider) => Ok(()),
            _ => Err(CredentialError::NoKey {
                provider: provider.clone(),
                variables: self.variables(provider),
                agent: self.agent.clone(),
            }),
        }?;
        self.check_settings(model)
    }

    /// The ChatGPT account that the provider's token belongs to.
    fn account(&self, provider: &str, token: &str) -> Result<String, CredentialError> {
        chatgpt_account(token).ok_or_else(|| {
            CredentialError::Setting(format!(
                "The token of {provider} names no ChatGPT account: expected that of a login, which is kept in {}, got \
                 something else, such as an API key.",
                self.login_file(provider).display()
            ))
        })
    }

    /// Checks what the API needs beside the key.
    fn check_settings(&self, model: &Model) -> Result<(), CredentialError> {
        let Some(api) = Api::parse(&model.api).filter(|_| !self.streams.contains(&model.provider)) else {
            return Ok(());
        };
        let variables = self.variables_of(&model.provider, api);
        let credentials = Credentials { variables, ..Credentials::default() };
        api.check(model, &credentials).map_err(CredentialError::Setting)
    }

    /// Resolves the credentials for the model: the key of the command line, else of `auth.json`, else of the
    /// environment, else of `models.json`; and the configured headers. In omp the key of the file of models comes second,
    /// and the database holds logins and keys that come before and after the environment. May run commands, for up to ten
    /// seconds each.
    ///
    /// # Errors
    ///
    /// Nothing is configured, the login has expired, a command printed nothing, or the API is not supported.
    pub fn credentials(&self, model: &Model) -> Result<Credentials, CredentialError> {
        self.check(model)?;
        let provider = &model.provider;
        let nothing = ProviderKeySources::default();
        let configured = self.providers.get(provider).unwrap_or(&nothing);
        let mut key = self.key(provider, configured)?;
        let known = model.headers.iter().flatten();
        let mut headers: Vec<(String, String)> =
            known.map(|(name, value)| (name.clone(), value.clone())).collect();
        let is_token =
            self.key_variable(provider).is_some_and(|name| configured.bearer_variables.contains(&name));
        if let Some(name) = configured.key_header.or(is_token.then_some("authorization")) {
            headers.extend(key.take().map(|key| (name.to_owned(), format!("Bearer {key}"))));
        }
        headers.extend(self.headers(&configured.headers, &format!("provider {provider:?}"))?);
        if let Some(own) = self.model_headers.get(&(provider.clone(), model.id.clone())) {
            headers.extend(self.headers(own, &format!("model \"{provider}/{}\"", model.id))?);
        }
        let variables =
            Api::parse(&model.api).map(|api| self.variables_of(provider, api)).unwrap_or_default();
        let account = match Api::parse(&model.api) {
            Some(Api::OpenaiCodexResponses) => {
                Some(self.account(provider, key.as_deref().unwrap_or_default())?)
            }
            _ => None,
        };
        let login = self.oauth_login(provider);
        let (bearer, base_url) = login.map_or((false, None), |(kind, login)| login_use(kind, &login));
        let (bearer, aws) = (bearer || configured.bearer, self.aws_access(model));
        Ok(Credentials { key, headers, bearer, variables, account, base_url, aws })
    }

    /// Resolves the credentials of a provider, or of one of its models, for an extension: key and headers, and
    /// whether the key is a login's. May run commands, as [`Keys::credentials`] does.
    ///
    /// # Errors
    ///
    /// The login has expired, or a command printed nothing.
    pub fn extension_credentials(
        &self,
        provider: &str,
        model: Option<&str>,
    ) -> Result<(Credentials, bool), CredentialError> {
        let login = self.login(provider);
        if let Some(Login::Oauth { expires, refresh, .. }) = &login
            && has_passed(*expires)
        {
            self.check_renewable(provider, refresh)?;
        }
        let nothing = ProviderKeySources::default();
        let configured = self.providers.get(provider).unwrap_or(&nothing);
        let key = self.key(provider, configured)?;
        let mut headers = self.headers(&configured.headers, &format!("provider {provider:?}"))?;
        let own = model.and_then(|model| self.model_headers.get(&(provider.to_owned(), model.to_owned())));
        if let Some(own) = own {
            headers.extend(self.headers(own, &format!("model {provider:?}"))?);
        }
        let credentials = Credentials { key, headers, bearer: configured.bearer, ..Credentials::default() };
        Ok((credentials, matches!(login, Some(Login::Oauth { .. }))))
    }

    /// The model's address, with the values of the variables that its provider needs.
    pub fn address(&self, model: &Model) -> String {
        self.filled_address(&model.provider, &model.base_url)
    }

    /// An address of a provider, with the values of the variables that it needs; those without a value stay in it.
    pub fn filled_address(&self, provider: &str, address: &str) -> String {
        let needs = self.providers.get(provider).map_or(&[][..], |configured| configured.needs);
        needs.iter().fold(address.to_owned(), |address, name| match self.variable_of(provider, name) {
            Some(value) => address.replace(&format!("{{{name}}}"), &value),
            None => address,
        })
    }

    /// The first variable in the model's address that is not set.
    fn missing_variable(&self, model: &Model) -> Option<&'static str> {
        let needs = self.providers.get(&model.provider).map_or(&[][..], |configured| configured.needs);
        let is_missing = |name: &&&str| {
            model.base_url.contains(&format!("{{{name}}}"))
                && self.variable_of(&model.provider, name).is_none()
        };
        needs.iter().find(is_missing).copied()
    }

    /// Whether [`Keys::credentials`] may have to run a command.
    pub fn may_run_command(&self, model: &Model) -> bool {
        let is_command = |text: &str| text.starts_with('!');
        let any = |headers: &JsonObject| headers.values().filter_map(Value::as_str).any(is_command);
        let login = match self.login(&model.provider) {
            Some(Login::ApiKey { key: Some(key), .. }) => is_command(&key),
            Some(Login::ApiKey { .. } | Login::Oauth { .. }) | None => false,
        };
        let login = login || self.late_key(&model.provider).is_some_and(is_command);
        let configured = self.providers.get(&model.provider);
        let own = self.model_headers.get(&(model.provider.clone(), model.id.clone()));
        login
            || configured.is_some_and(|it| it.key.as_deref().is_some_and(is_command) || any(&it.headers))
            || own.is_some_and(any)
    }

    /// Kills the command that [`Keys::credentials`] waits for, if any, which then fails.
    pub fn stop(&self) {
        self.commands.stop();
    }

    fn key(
        &self,
        provider: &str,
        configured: &ProviderKeySources,
    ) -> Result<Option<String>, CredentialError> {
        let what = || format!("API key for provider {provider:?}");
        if let Some(key) = self.cli_key(provider) {
            return Ok(Some(key.to_owned()));
        }
        if let Some(key) = self.first_key(provider) {
            return self.secret(key, what).map(Some);
        }
        match self.login(provider) {
            Some(Login::ApiKey { key: Some(key), .. }) => return self.secret(&key, what).map(Some),
            Some(Login::Oauth { access, .. }) => return Ok(Some(access)),
            Some(Login::ApiKey { .. }) | None => {}
        }
        if let Some(key) = self.variable(configured) {
            return Ok(Some(key.to_owned()));
        }
        let key = self.late_key(provider).or(configured.key.as_deref());
        key.map(|key| self.secret(key, what)).transpose()
    }

    pub(super) fn cli_key(&self, provider: &str) -> Option<&str> {
        self.cli_key.as_ref().filter(|(whose, _)| whose == provider).map(|(_, key)| key.as_str())
    }

    /// The variable that holds the provider's key; `None`: the key is of elsewhere.
    fn key_variable(&self, provider: &str) -> Option<&'static str> {
        match self.credential_source(provider)?.place {
            CredentialPlace::Variable(name) => Some(name).filter(|_| self.cli_key(provider).is_none()),
            CredentialPlace::File(_) => None,
        }
    }

    /// The value of the first variable of the provider that holds a key.
    pub(super) fn variable(&self, configured: &ProviderKeySources) -> Option<&str> {
        // Others name a profile.
        let keys = configured.variables.iter().filter(|name| names_key(name));
        keys.copied().find_map(|name| self.environment.get(name))
    }

    /// Access to AWS for a model that needs it, with its keys among the secrets.
    fn aws_access(&self, model: &Model) -> Option<AwsAccess> {
        if Api::parse(&model.api) != Some(Api::BedrockConverseStream) {
            return None;
        }
        let environment = self.environment_of(&model.provider);
        let mut access = aws::access(&environment);
        let profile =
            environment.get(aws::PROFILE).filter(|name| self.environment.get(aws::PROFILE) != Some(*name));
        if let (AwsKeySource::Chain, Some(profile)) = (&access.keys, profile) {
            access.keys = AwsKeySource::Profile(profile.to_owned());
        }
        if let AwsKeySource::Known(keys) = &access.keys {
            self.secrets.remember(&keys.secret);
            keys.session_token.iter().for_each(|token| self.secrets.remember(token));
        }
        Some(access)
    }
}

/// Variables of proxies, whose URLs may hold a password.
const PROXIES: [&str; 6] =
    ["HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"];
