//! Access to AWS, by the environment and the user's files.

use crate::home_support::{Home, endpoint};
use pi_rpc::{
    config::Config,
    model::bedrock::{AwsAccess, AwsKeySource, AwsKeys},
    model::request::Credentials,
};
use std::fs;

const MODEL: &str = "amazon-bedrock/us.anthropic.claude-opus-4-6-v1";

const CONFIG: &str = "\
# Comment
[default]
region = us-west-1

[profile work] ; comment
region=eu-west-1   # comment
endpoint_url = https://work.example
s3 =
    endpoint_url = https://wrong.example
aws_access_key_id = id-of-config
aws_secret_access_key = secret-of-config

[profile chained]
role_arn = arn:aws:iam::1:role/r
source_profile = work
[work]
region = wrong
";

const CREDENTIALS: &str = "\
[default]
aws_access_key_id = id-of-default
aws_secret_access_key = secret-of-default
[work]
aws_access_key_id=id-of-work
aws_secret_access_key=secret#of-work
aws_session_token = token-of-work
[chained]
aws_access_key_id = id
aws_secret_access_key = secret
";

fn home() -> Home {
    let home = Home::new([]);
    let folder = home.path().join(".aws");
    fs::create_dir(&folder).unwrap();
    fs::write(folder.join("config"), CONFIG).unwrap();
    fs::write(folder.join("credentials"), CREDENTIALS).unwrap();
    home
}

fn credentials(config: &Config) -> Credentials {
    config.keys.credentials(&endpoint(config, MODEL).model).unwrap()
}

fn access(environment: &[(&str, &str)]) -> AwsAccess {
    credentials(&home().load(environment)).aws.unwrap()
}

fn known(id: &str, secret: &str, token: Option<&str>) -> AwsKeySource {
    let session_token = token.map(str::to_owned);
    AwsKeySource::Known(AwsKeys { id: id.to_owned(), secret: secret.to_owned(), session_token })
}

#[test]
fn bedrock_is_configured_by_variables() {
    let home = home();
    for (variables, expected) in [
        (&[][..], false),
        (&[("AWS_ACCESS_KEY_ID", "a")], false),
        (&[("AWS_ACCESS_KEY_ID", "a"), ("AWS_SECRET_ACCESS_KEY", "b")], true),
        (&[("AWS_PROFILE", "work")], true),
        (&[("AWS_BEARER_TOKEN_BEDROCK", "token")], true),
        (&[("AWS_WEB_IDENTITY_TOKEN_FILE", "/f")], true),
        (&[("AWS_CONTAINER_CREDENTIALS_FULL_URI", "http://x")], true),
    ] {
        assert_eq!(home.load(variables).keys.is_configured("amazon-bedrock"), expected, "{variables:?}");
    }
}

#[test]
fn variables_precede_profile() {
    let keys = [("AWS_ACCESS_KEY_ID", "id"), ("AWS_SECRET_ACCESS_KEY", "secret"), ("AWS_PROFILE", "work")];
    let found = access(&keys);
    assert_eq!(found.keys, known("id", "secret", None));
    assert_eq!(
        (found.region, found.has_profile, found.profile_region.as_deref()),
        (None, true, Some("eu-west-1"))
    );
    let session =
        access(&[&keys[..], &[("AWS_SESSION_TOKEN", "token"), ("AWS_DEFAULT_REGION", "eu-x-1")]].concat());
    assert_eq!(
        (session.keys, session.region.as_deref()),
        (known("id", "secret", Some("token")), Some("eu-x-1"))
    );
}

#[test]
fn profile_has_keys_region_and_endpoint() {
    let found = access(&[("AWS_PROFILE", "work")]);
    let expected = AwsAccess {
        has_profile: true,
        profile_region: Some("eu-west-1".to_owned()),
        endpoint: Some("https://work.example".to_owned()),
        keys: known("id-of-work", "secret#of-work", Some("token-of-work")),
        ..AwsAccess::default()
    };
    assert_eq!(found, expected);
    for profile in ["chained", "missing"] {
        assert_eq!(access(&[("AWS_PROFILE", profile)]).keys, AwsKeySource::Chain, "{profile}");
    }
    let default = access(&[("AWS_WEB_IDENTITY_TOKEN_FILE", "/f")]);
    assert_eq!(default.keys, known("id-of-default", "secret-of-default", None));
    assert_eq!((default.has_profile, default.profile_region.as_deref()), (false, Some("us-west-1")));
}

#[test]
fn files_are_where_variables_say() {
    let home = home();
    let other = home.path().join("other");
    fs::write(&other, "[work]\naws_access_key_id=other\naws_secret_access_key=s\n").unwrap();
    let path = other.to_str().unwrap();
    let config = home.load(&[
        ("AWS_PROFILE", "work"),
        ("AWS_SHARED_CREDENTIALS_FILE", path),
        ("AWS_CONFIG_FILE", "/dev/null"),
    ]);
    let found = credentials(&config).aws.unwrap();
    assert_eq!((found.keys, found.profile_region), (known("other", "s", None), None));
}

#[test]
fn switches_of_aws_are_read() {
    let found = access(&[
        ("AWS_PROFILE", "work"),
        ("AWS_ENDPOINT_URL", "https://all.example"),
        ("AWS_ENDPOINT_URL_BEDROCK_RUNTIME", "https://one.example"),
        ("AWS_USE_FIPS_ENDPOINT", "true"),
        ("AWS_USE_DUALSTACK_ENDPOINT", "true"),
        ("AWS_BEDROCK_FORCE_CACHE", "1"),
    ]);
    assert_eq!(found.endpoint.as_deref(), Some("https://one.example"));
    assert_eq!((found.uses_fips, found.uses_dual_stack, found.caches_always), (true, true, true));
    let ignored = access(&[("AWS_PROFILE", "work"), ("AWS_IGNORE_CONFIGURED_ENDPOINT_URLS", "true")]);
    assert_eq!(ignored.endpoint, None);
    let skipped = access(&[("AWS_PROFILE", "work"), ("AWS_BEDROCK_SKIP_AUTH", "1")]);
    assert_eq!(skipped.keys, AwsKeySource::Known(AwsKeys::dummy()));
}

#[test]
fn bearer_token_is_key_profile_is_not() {
    let home = home();
    let key = |variables: &[(&str, &str)]| credentials(&home.load(variables)).key;
    assert_eq!(key(&[("AWS_PROFILE", "work")]), None);
    assert_eq!(
        key(&[("AWS_PROFILE", "work"), ("AWS_BEARER_TOKEN_BEDROCK", "token")]).as_deref(),
        Some("token")
    );
    let secrets = home.load(&[("AWS_PROFILE", "work")]);
    credentials(&secrets);
    assert_eq!(secrets.keys.secrets().redact("secret#of-work token-of-work"), "*** ***");
    assert!(!secrets.keys.secrets().child_environment().withholds("AWS_PROFILE"));
}

#[test]
fn profile_of_login_precedes_environment() {
    let home = home();
    let login = |profile: &str| {
        let env = serde_json::json!({ "AWS_PROFILE": profile, "AWS_REGION": "eu-x-9" });
        let login = serde_json::json!({ "amazon-bedrock": { "type": "api_key", "env": env } });
        home.write("auth.json", &login.to_string());
        let config = home.load(&[("AWS_PROFILE", "missing")]);
        assert!(config.keys.is_configured("amazon-bedrock"));
        let found = credentials(&config).aws.unwrap();
        (found.keys, found.region)
    };
    let region = || Some("eu-x-9".to_owned());
    assert_eq!(login("work"), (known("id-of-work", "secret#of-work", Some("token-of-work")), region()));
    assert_eq!(login("chained"), (AwsKeySource::Profile("chained".to_owned()), region()));
}
