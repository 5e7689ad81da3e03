//! Hosts log in to NATS in every way that operators use.

use crate::{
    host_support::hello,
    nodes::{Nodes, command_of, open},
    servers::Servers,
};
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use std::{fs, path::PathBuf};

#[test]
fn login_of_url_is_used() {
    let password = "p@ss,w:rd/%";
    let config = format!("authorization {{ user: \"ann\", password: {password:?} }}\n");
    let Some(servers) = Servers::start_with(1, &config) else { return };
    let port = servers.ports()[0];
    let mut nodes = Nodes::of(servers, 0, &hello(), "300");
    nodes.add(&["--nats", &format!("nats://ann:p%40ss%2Cw%3Ard%2F%25@127.0.0.1:{port}")]);
    let session = open(&mut nodes.client(0));
    assert_eq!(nodes.client(0).request(&command_of(&session, "s", "get_state"))["success"], true);
    let log = nodes.log(0);
    assert!(!log.contains("ss,w:rd") && !log.contains("ss%2Cw"), "{log}");
}

#[test]
fn token_of_url_is_used() {
    let config = "authorization { token: \"s3cret token\" }\n";
    let Some(servers) = Servers::start_with(1, config) else { return };
    let port = servers.ports()[0];
    let mut nodes = Nodes::of(servers, 0, &hello(), "300");
    nodes.add(&["--nats", &format!("nats://s3cret%20token@127.0.0.1:{port}")]);
    open(&mut nodes.client(0));
    let log = nodes.log(0);
    assert!(!log.contains("s3cret"), "{log}");
}

/// A file of `keys`: keys and accounts that were made for these tests, and are used nowhere else.
fn key_file(name: &str) -> String {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/cluster/keys").join(name);
    path.to_str().unwrap().to_owned()
}

/// Adds a host with these options that reaches the servers at `urls`, and opens a session on it.
fn serves(servers: Servers, urls: &str, options: &[&str]) {
    let mut nodes = Nodes::of(servers, 0, &hello(), "300");
    nodes.add(&[&["--nats", urls], options].concat());
    let session = open(&mut nodes.client(0));
    assert_eq!(nodes.client(0).request(&command_of(&session, "s", "get_state"))["success"], true);
}

#[test]
fn nkey_is_used() {
    let user = "UDSJ6TY234B7PNZSPFZBNVELPQTOJQXYPIMMG6EGTBZXBMQPMDYDHOPY";
    let config = format!("authorization {{ users: [{{ nkey: {user} }}] }}\n");
    let Some(servers) = Servers::start_with(1, &config) else { return };
    let urls = servers.urls();
    serves(servers, &urls, &["--nats-nkey", &key_file("nkey")]);
}

#[test]
fn jwt_of_account_is_used() {
    let config = fs::read_to_string(key_file("accounts.conf")).unwrap();
    let Some(servers) = Servers::start_with(1, &config) else { return };
    let urls = servers.urls();
    serves(servers, &urls, &["--nats-credentials", &key_file("host.creds")]);
}

#[test]
fn client_certificate_is_shown() {
    let dir = tempfile::tempdir().unwrap();
    let at = |name: &str| dir.path().join(name).to_str().unwrap().to_owned();
    let mut authority = CertificateParams::new([]).unwrap();
    authority.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let authority = CertifiedIssuer::self_signed(authority, KeyPair::generate().unwrap()).unwrap();
    fs::write(at("ca"), authority.pem()).unwrap();
    for name in ["server", "host"] {
        let key = KeyPair::generate().unwrap();
        let params = CertificateParams::new(["localhost".to_owned(), "127.0.0.1".to_owned()]).unwrap();
        fs::write(at(name), params.signed_by(&key, &authority).unwrap().pem()).unwrap();
        fs::write(at(&format!("{name}-key")), key.serialize_pem()).unwrap();
    }
    let config = format!(
        "tls {{ cert_file: {:?}, key_file: {:?}, ca_file: {:?}, verify: true }}\n",
        at("server"),
        at("server-key"),
        at("ca")
    );
    let Some(servers) = Servers::start_with(1, &config) else { return };
    let urls = format!("tls://localhost:{}", servers.ports()[0]);
    let options = ["--nats-ca", &at("ca"), "--nats-cert", &at("host"), "--nats-key", &at("host-key")];
    serves(servers, &urls, &options);
}

#[test]
fn dead_server_of_several_is_passed_over() {
    let Some(servers) = Servers::start(1) else { return };
    let urls = format!("nats://127.0.0.1:1,{}", servers.urls());
    serves(servers, &urls, &[]);
}
