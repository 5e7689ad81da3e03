//! Access to AWS: variables of the environment, and the files `~/.aws/config` and `~/.aws/credentials`.
//!
//! Source: the vendor's reference of its SDKs' settings; pi source (`bedrock-converse-stream`, its provider).

use super::Environment;
use pi_rpc_files::regular_files::{self, CONFIGURATION};
use pi_rpc_model::bedrock::{AwsAccess, AwsKeySource, AwsKeys};
use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

/// The provider that is asked with the credentials of AWS.
pub const AMAZON_BEDROCK: &str = "amazon-bedrock";

/// The variable that names a profile.
pub const PROFILE: &str = "AWS_PROFILE";

/// Variables that hold keys.
pub const SECRET_VARIABLES: [&str; 2] = ["AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN"];

/// Whether variables name credentials. Runs and reads nothing.
pub fn is_configured(environment: &Environment) -> bool {
    let has = |name: &str| environment.get(name).is_some();
    has(PROFILE)
        || (has("AWS_ACCESS_KEY_ID") && has("AWS_SECRET_ACCESS_KEY"))
        || [
            "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI",
            "AWS_CONTAINER_CREDENTIALS_FULL_URI",
            "AWS_WEB_IDENTITY_TOKEN_FILE",
        ]
        .into_iter()
        .any(has)
}

/// Reads what environment and files say about access. A file that cannot be read counts as empty.
pub fn access(environment: &Environment) -> AwsAccess {
    let get = |name: &str| environment.get(name).map(str::to_owned);
    let is_on =
        |name: &str, on: &str| environment.get(name).is_some_and(|value| value.eq_ignore_ascii_case(on));
    let profile = Profile::read(environment);
    let is_chosen = |name: &str, setting: &str| {
        let value = get(name).or_else(|| profile.get(setting));
        value.is_some_and(|value| value.eq_ignore_ascii_case("true"))
    };
    let skips_auth = is_on("AWS_BEDROCK_SKIP_AUTH", "1");
    let keys = match (skips_auth, environment_keys(environment).or_else(|| profile.keys())) {
        (true, _) => AwsKeySource::Known(AwsKeys::dummy()),
        (false, Some(keys)) => AwsKeySource::Known(keys),
        (false, None) => AwsKeySource::Chain,
    };
    let endpoint = get("AWS_ENDPOINT_URL_BEDROCK_RUNTIME")
        .or_else(|| get("AWS_ENDPOINT_URL"))
        .or_else(|| profile.get("endpoint_url"))
        .filter(|_| !is_on("AWS_IGNORE_CONFIGURED_ENDPOINT_URLS", "true"));
    AwsAccess {
        region: get("AWS_REGION").or_else(|| get("AWS_DEFAULT_REGION")),
        has_profile: environment.get(PROFILE).is_some(),
        profile_region: profile.get("region"),
        endpoint,
        uses_fips: is_chosen("AWS_USE_FIPS_ENDPOINT", "use_fips_endpoint"),
        uses_dual_stack: is_chosen("AWS_USE_DUALSTACK_ENDPOINT", "use_dualstack_endpoint"),
        caches_always: is_on("AWS_BEDROCK_FORCE_CACHE", "1"),
        keys,
    }
}

fn environment_keys(environment: &Environment) -> Option<AwsKeys> {
    Some(AwsKeys {
        id: environment.get("AWS_ACCESS_KEY_ID")?.to_owned(),
        secret: environment.get("AWS_SECRET_ACCESS_KEY")?.to_owned(),
        session_token: environment.get("AWS_SESSION_TOKEN").map(str::to_owned),
    })
}

/// The settings of one profile: those of the file of credentials before those of the other.
struct Profile(BTreeMap<String, String>);

impl Profile {
    /// Reads the profile that `AWS_PROFILE` names, else `default`.
    fn read(environment: &Environment) -> Self {
        let name = environment.get(PROFILE).unwrap_or("default");
        let home = environment.get("HOME").unwrap_or_default();
        let text = |variable: &str, file: &str| {
            let path = environment
                .get(variable)
                .map_or_else(|| Path::new(home).join(".aws").join(file), PathBuf::from);
            regular_files::read_to_string(&path, CONFIGURATION).unwrap_or_default()
        };
        let mut settings = section(&text("AWS_CONFIG_FILE", "config"), |found| {
            (found == "default" && name == "default")
                || found
                    .strip_prefix("profile")
                    .is_some_and(|rest| rest.starts_with([' ', '\t']) && rest.trim() == name)
        });
        settings.extend(section(&text("AWS_SHARED_CREDENTIALS_FILE", "credentials"), |found| found == name));
        Self(settings)
    }

    fn get(&self, name: &str) -> Option<String> {
        self.0.get(name).filter(|value| !value.is_empty()).cloned()
    }

    /// The keys in the profile; `None`: it has none, or takes them from a role, as the vendor's clients prefer.
    fn keys(&self) -> Option<AwsKeys> {
        if self.get("role_arn").is_some() {
            return None;
        }
        Some(AwsKeys {
            id: self.get("aws_access_key_id")?,
            secret: self.get("aws_secret_access_key")?,
            session_token: self.get("aws_session_token"),
        })
    }
}

/// The settings in the sections of a file whose names `is_wanted` accepts; later ones win. Settings below another one, which are
/// indented, are left out.
fn section(text: &str, is_wanted: impl Fn(&str) -> bool) -> BTreeMap<String, String> {
    let mut settings = BTreeMap::new();
    let mut is_inside = false;
    for line in text.lines() {
        let is_indented = line.starts_with([' ', '\t']);
        let line = line.trim();
        if line.is_empty() || line.starts_with(['#', ';']) {
            continue;
        }
        if let Some(header) = line.strip_prefix('[').filter(|_| !is_indented) {
            is_inside = header.split_once(']').is_some_and(|(name, _)| is_wanted(name.trim()));
            continue;
        }
        if let Some((name, value)) = line.split_once('=').filter(|_| is_inside && !is_indented) {
            // A comment behind a value begins with a blank.
            let end = [" #", " ;", "\t#", "\t;"].iter().filter_map(|mark| value.find(mark)).min();
            let value = value[..end.unwrap_or(value.len())].trim();
            settings.insert(name.trim().to_ascii_lowercase(), value.to_owned());
        }
    }
    settings
}
