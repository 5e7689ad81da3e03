//! Keys from the chain of AWS: each source against an endpoint on this machine.

use super::{MODEL, answered, started, vendor};
use pi_rpc::mock::{AWS_KEY_ID, AWS_SECRET};
use serde_json::{Value, json};
use std::{
    fs,
    io::{Read as _, Write as _},
    net::{SocketAddr, TcpListener, TcpStream},
    sync::{Arc, Mutex},
    thread,
};

/// An endpoint that answers by `answers`: parts of the first line of a request, and bodies.
struct Endpoint {
    address: SocketAddr,
    asked: Arc<Mutex<Vec<String>>>,
}

impl Endpoint {
    fn new(answers: Vec<(&'static str, String)>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let (address, asked) = (listener.local_addr().unwrap(), Arc::new(Mutex::new(Vec::new())));
        let log = asked.clone();
        // It ends with the test's process.
        thread::spawn(move || {
            for stream in listener.incoming() {
                let mut stream = stream.unwrap();
                let request = request(&mut stream);
                let line = request.lines().next().unwrap_or_default().to_owned();
                let found = answers.iter().find(|(part, _)| line.contains(part));
                let (status, body) = found.map_or((404, ""), |(_, body)| (200, body));
                log.lock().unwrap().push(request);
                let head = "content-type: text/plain\r\nconnection: close\r\nx-aws-ec2-metadata-token-ttl-seconds: 600";
                let _ = write!(
                    stream,
                    "HTTP/1.1 {status} X\r\n{head}\r\ncontent-length: {}\r\n\r\n{body}",
                    body.len()
                );
            }
        });
        Self { address, asked }
    }

    fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// The requests so far, as they came.
    fn asked(&self) -> Vec<String> {
        self.asked.lock().unwrap().clone()
    }
}

/// Reads a request with its body.
fn request(stream: &mut TcpStream) -> String {
    let mut bytes = Vec::new();
    let mut piece = [0; 4096];
    loop {
        let text = String::from_utf8_lossy(&bytes).into_owned();
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let length = head.to_ascii_lowercase();
            let length = length.lines().find_map(|line| line.strip_prefix("content-length: ")?.parse().ok());
            if body.len() >= length.unwrap_or(0) {
                return text;
            }
        }
        match stream.read(&mut piece) {
            Ok(0) | Err(_) => return text,
            Ok(read) => bytes.extend_from_slice(&piece[..read]),
        }
    }
}

/// The keys as containers and machines give them.
fn keys() -> String {
    json!({
        "Code": "Success", "Type": "AWS-HMAC", "AccessKeyId": AWS_KEY_ID, "SecretAccessKey": AWS_SECRET,
        "Token": "token", "Expiration": "2999-01-01T00:00:00Z",
    })
    .to_string()
}

/// The answer of the security token service to `action`.
fn assumed(action: &str) -> String {
    format!(
        "<{action}Response xmlns=\"https://sts.amazonaws.com/doc/2011-06-15/\"><{action}Result><Credentials>\
         <AccessKeyId>{AWS_KEY_ID}</AccessKeyId><SecretAccessKey>{AWS_SECRET}</SecretAccessKey>\
         <SessionToken>token</SessionToken><Expiration>2999-01-01T00:00:00Z</Expiration></Credentials>\
         <AssumedRoleUser><Arn>arn:aws:sts::1:assumed-role/r/s</Arn><AssumedRoleId>A:s</AssumedRoleId></AssumedRoleUser>\
         </{action}Result><ResponseMetadata><RequestId>1</RequestId></ResponseMetadata></{action}Response>"
    )
}

/// Checks that a prompt to a model is answered with the keys of the chain, and signed with their token.
fn assert_answered(files: &[(&str, &str)], environment: &[(&str, &str)]) {
    let vendor = vendor();
    let message = answered(&vendor, files, environment);
    assert_eq!(message["content"][0]["text"], "Hello", "{MODEL}: {message}");
    assert_eq!(vendor.journal.received()[0].header("x-amz-security-token"), Some("token"));
}

#[test]
fn process_of_profile_gives_keys() {
    let keys = json!({ "Version": 1, "AccessKeyId": AWS_KEY_ID, "SecretAccessKey": AWS_SECRET, "SessionToken": "token" });
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("keys.json");
    fs::write(&file, keys.to_string()).unwrap();
    let config = format!("[profile work]\ncredential_process = cat {}\n", file.display());
    assert_answered(&[("config", &config)], &[("AWS_PROFILE", "work")]);
}

#[test]
fn container_gives_keys() {
    let endpoint = Endpoint::new(vec![("/keys", keys())]);
    let url = format!("{}/keys", endpoint.url());
    assert_answered(
        &[],
        &[
            ("AWS_CONTAINER_CREDENTIALS_FULL_URI", &url),
            ("AWS_CONTAINER_AUTHORIZATION_TOKEN", "Basic scripted"),
        ],
    );
    assert!(endpoint.asked()[0].to_ascii_lowercase().contains("authorization: basic scripted"));
}

#[test]
fn machine_gives_keys() {
    let list = "/latest/meta-data/iam/security-credentials";
    let endpoint = Endpoint::new(vec![
        ("/latest/api/token", "session".to_owned()),
        ("/security-credentials/robot", keys()),
        ("/security-credentials-extended/robot", keys()),
        (list, "robot".to_owned()),
    ]);
    let url = endpoint.url();
    // A profile without keys: the chain goes on to the machine.
    assert_answered(
        &[("config", "[profile work]\nregion = eu-west-1\n")],
        &[
            ("AWS_PROFILE", "work"),
            ("AWS_EC2_METADATA_DISABLED", "false"),
            ("AWS_EC2_METADATA_SERVICE_ENDPOINT", &url),
        ],
    );
    let asked = endpoint.asked();
    assert!(asked[0].starts_with("PUT /latest/api/token"), "{asked:?}");
    assert!(asked.last().unwrap().contains("x-aws-ec2-metadata-token: session"), "{asked:?}");
}

#[test]
fn role_of_profile_gives_keys() {
    let endpoint = Endpoint::new(vec![("POST", assumed("AssumeRole"))]);
    let url = endpoint.url();
    let config = "[profile work]\nrole_arn = arn:aws:iam::1:role/r\nsource_profile = base\nrole_session_name = s\n\
                  [profile base]\naws_access_key_id = base-id\naws_secret_access_key = base-secret\n";
    assert_answered(&[("config", config)], &[("AWS_PROFILE", "work"), ("AWS_ENDPOINT_URL_STS", &url)]);
    let asked = &endpoint.asked()[0];
    assert!(asked.contains("Action=AssumeRole") && asked.contains("Credential=base-id/"), "{asked}");
}

#[test]
fn web_identity_gives_keys() {
    let endpoint = Endpoint::new(vec![("POST", assumed("AssumeRoleWithWebIdentity"))]);
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("token");
    fs::write(&file, "proof").unwrap();
    assert_answered(
        &[],
        &[
            ("AWS_WEB_IDENTITY_TOKEN_FILE", file.to_str().unwrap()),
            ("AWS_ROLE_ARN", "arn:aws:iam::1:role/r"),
            ("AWS_ENDPOINT_URL_STS", &endpoint.url()),
        ],
    );
    assert!(endpoint.asked()[0].contains("WebIdentityToken=proof"), "{:?}", endpoint.asked());
}

#[test]
fn single_sign_on_gives_keys() {
    let role = json!({ "roleCredentials": {
        "accessKeyId": AWS_KEY_ID, "secretAccessKey": AWS_SECRET, "sessionToken": "token", "expiration": 32_472_144_000_000_u64,
    } });
    let endpoint = Endpoint::new(vec![("/federation/credentials", role.to_string())]);
    let config = "[profile work]\nsso_session = company\nsso_account_id = 1\nsso_role_name = r\n\
                  [sso-session company]\nsso_region = eu-west-1\nsso_start_url = https://company.awsapps.com/start\n";
    let cached: Value = json!({
        "accessToken": "cached", "expiresAt": "2999-01-01T00:00:00Z", "region": "eu-west-1",
        "startUrl": "https://company.awsapps.com/start",
    });
    // The name is the SHA-1 of the session's.
    let name = "sso/cache/71b21161ffa1e6516bcc072aaf5ef38cbe85b511.json";
    let cached = cached.to_string();
    assert_answered(
        &[("config", config), (name, &cached)],
        &[("AWS_PROFILE", "work"), ("AWS_ENDPOINT_URL_SSO", &endpoint.url())],
    );
    assert!(endpoint.asked()[0].contains("x-amz-sso_bearer_token: cached"), "{:?}", endpoint.asked());
}

#[test]
fn profile_of_login_chooses_source() {
    let keys = json!({ "Version": 1, "AccessKeyId": AWS_KEY_ID, "SecretAccessKey": AWS_SECRET, "SessionToken": "token" });
    let config = format!("[profile work]\ncredential_process = echo '{keys}'\n");
    let login =
        json!({ "amazon-bedrock": { "type": "api_key", "env": { "AWS_PROFILE": "work" } } }).to_string();
    assert_answered(&[("config", &config), ("../.pi/agent/auth.json", &login)], &[]);
}

#[test]
fn source_without_keys_is_named() {
    let endpoint = Endpoint::new(Vec::new());
    let url = format!("{}/keys", endpoint.url());
    let message = answered(&vendor(), &[], &[("AWS_CONTAINER_CREDENTIALS_FULL_URI", &url)]);
    let error = message["errorMessage"].as_str().unwrap();
    assert!(error.starts_with("No AWS keys: "), "{error}");
}

#[test]
fn keys_stay_out_of_log() {
    let secret = "planted-secret-of-aws-0123456789abcdef";
    let told = |secret: &str| {
        keys().replace(AWS_SECRET, secret).replace("\"token\"", &format!("\"{secret}-token\""))
    };
    let endpoint = Endpoint::new(vec![
        ("/keys", told(secret)),
        ("POST", assumed("AssumeRoleWithWebIdentity").replace(AWS_SECRET, secret)),
    ]);
    let url = format!("{}/keys", endpoint.url());
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("token");
    fs::write(&file, format!("{secret}-proof")).unwrap();
    let process =
        json!({ "Version": 1, "AccessKeyId": AWS_KEY_ID, "SecretAccessKey": secret, "SessionToken": secret });
    let config = format!("[profile work]\ncredential_process = echo '{process}'\n");
    let identity = [
        ("AWS_WEB_IDENTITY_TOKEN_FILE", file.to_str().unwrap()),
        ("AWS_ROLE_ARN", "arn:aws:iam::1:role/r"),
        ("AWS_ENDPOINT_URL_STS", &endpoint.url()),
    ];
    for (files, environment) in [
        (&[][..], &[("AWS_CONTAINER_CREDENTIALS_FULL_URI", url.as_str())][..]),
        (&[("config", config.as_str())], &[("AWS_PROFILE", "work")]),
        (&[], &identity),
    ] {
        let vendor = vendor();
        let mut server = started(&vendor, files, &[environment, &[("RUST_LOG", "trace")]].concat());
        let frames = server.run("hi");
        server.close_stdin();
        let stderr = server.ends().stderr;
        assert!(vendor.refusals()[0].contains("signature"), "{:?}", vendor.refusals());
        let stdout = Value::from(frames).to_string();
        let found = [&stdout, &stderr]
            .map(|text| text.lines().find(|line| line.contains("planted-secret")).map(str::to_owned));
        assert_eq!(found, [None, None], "{environment:?}");
    }
}
