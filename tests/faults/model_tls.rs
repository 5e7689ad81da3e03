//! Endpoints whose certificates are not to be trusted.

use crate::{
    model_endpoint::{Endpoint, OPEN, Talk, answer, stream, text_of},
    serve_support::APIS,
    table::row,
};
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, DnType, IsCa, KeyPair, date_time_ymd};
use rustls::{
    ServerConfig, ServerConnection, StreamOwned,
    crypto::ring,
    pki_types::{CertificateDer, PrivateKeyDer},
};
use std::{
    fs,
    io::{BufRead, BufReader, Read, Write},
    net::{SocketAddr, TcpListener},
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
};

/// Variables and their values.
type Environment<'a> = &'a [(&'a str, &'a str)];

type Issuer = CertifiedIssuer<'static, KeyPair>;

/// An authority of a company.
fn authority(name: &str) -> Issuer {
    let mut params = CertificateParams::new(Vec::new()).unwrap();
    params.distinguished_name.push(DnType::CommonName, name);
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap()
}

/// A certificate for `name`, of `issuer` or its own, which ends in `year`; and its key.
fn certificate(
    name: &str,
    issuer: Option<&Issuer>,
    year: i32,
) -> (CertificateDer<'static>, PrivateKeyDer<'static>) {
    let mut params = CertificateParams::new(vec![name.to_owned()]).unwrap();
    params.not_after = date_time_ymd(year, 1, 1);
    let key = KeyPair::generate().unwrap();
    let signed = match issuer {
        Some(issuer) => params.signed_by(&key, issuer),
        None => params.self_signed(&key),
    };
    (signed.unwrap().der().clone(), PrivateKeyDer::try_from(key.serialize_der()).unwrap())
}

/// A place that answers every request over TLS with `bytes`; and how many it has heard.
fn secure(
    (chain, key): (CertificateDer<'static>, PrivateKeyDer<'static>),
    bytes: Vec<u8>,
) -> (SocketAddr, Arc<AtomicUsize>) {
    let config = ServerConfig::builder_with_provider(ring::default_provider().into());
    let config = config.with_safe_default_protocol_versions().unwrap().with_no_client_auth();
    let config = Arc::new(config.with_single_cert(vec![chain], key).unwrap());
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let (address, heard) = (listener.local_addr().unwrap(), Arc::new(AtomicUsize::new(0)));
    let hears = heard.clone();
    // It ends with the test's process.
    thread::spawn(move || {
        for stream in listener.incoming() {
            let stream = StreamOwned::new(ServerConnection::new(config.clone()).unwrap(), stream.unwrap());
            let mut reader = BufReader::new(stream);
            let (mut head, mut length) = (String::new(), 0);
            // Who does not trust it leaves in the middle of the greeting.
            while reader.read_line(&mut head).is_ok_and(|read| read > 2) {
                let line = head.lines().next_back().unwrap().to_ascii_lowercase();
                if let Some(value) = line.strip_prefix("content-length: ") {
                    length = value.parse().unwrap();
                }
            }
            if length > 0 {
                hears.fetch_add(1, Ordering::SeqCst);
                reader.read_exact(&mut vec![0; length]).unwrap();
                let mut stream = reader.into_inner();
                stream.write_all(&bytes).unwrap();
                stream.conn.send_close_notify();
                stream.flush().unwrap();
            }
        }
    });
    (address, heard)
}

fn pem(folder: &Path, name: &str, issuer: &Issuer) -> String {
    let path = folder.join(name);
    fs::write(&path, issuer.pem()).unwrap();
    path.display().to_string()
}

#[test]
fn untrusted_certificate_is_refused_without_key() {
    let folder = tempfile::tempdir().unwrap();
    let (ours, theirs) = (authority("ours"), authority("theirs"));
    let (own, other) = (pem(folder.path(), "own.pem", &ours), pem(folder.path(), "other.pem", &theirs));
    let missing = folder.path().join("missing.pem").display().to_string();
    let garbled = folder.path().join("garbled.pem").display().to_string();
    fs::write(&garbled, "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n").unwrap();
    let whole = || format!("{OPEN}{}", stream(APIS[0], &["Trusted."])).into_bytes();
    let trusts = [("SSL_CERT_FILE", own.as_str())];
    let does_not = [("SSL_CERT_FILE", other.as_str())];
    let adds = [("SSL_CERT_FILE", other.as_str()), ("NODE_EXTRA_CA_CERTS", own.as_str())];
    let lacks = [("SSL_CERT_FILE", other.as_str()), ("NODE_EXTRA_CA_CERTS", missing.as_str())];
    let breaks = [("SSL_CERT_FILE", own.as_str()), ("NODE_EXTRA_CA_CERTS", garbled.as_str())];
    let of = |name: &str, year: i32| certificate(name, Some(&ours), year);
    let unknown = "(UnknownIssuer); NODE_EXTRA_CA_CERTS may name a file of further authorities";
    let cases: [(_, Environment<'_>, &str, &[&str]); 8] = [
        (of("localhost", 2100), &trusts, "", &[]),
        (of("localhost", 2100), &adds, "", &[]),
        (of("localhost", 2100), &breaks, "", &["NODE_EXTRA_CA_CERTS: "]),
        (of("localhost", 2100), &does_not, unknown, &[]),
        (of("localhost", 2100), &lacks, unknown, &["NODE_EXTRA_CA_CERTS: "]),
        (certificate("localhost", None, 2100), &trusts, unknown, &[]),
        (of("other.example", 2100), &trusts, "not valid for name \"localhost\"", &[]),
        (of("localhost", 2020), &trusts, "expired", &[]),
    ];
    let mut refused = 0;
    for (certificate, environment, expected, stderr) in cases {
        let (address, heard) = secure(certificate, whole());
        let base = format!("https://localhost:{}", address.port());
        let mut talk = Talk::at(&base, APIS[0], &[], environment);
        let answer = talk.run("hello?");
        match expected {
            "" => assert_eq!((text_of(&answer), heard.load(Ordering::SeqCst)), ("Trusted.", 1), "{answer}"),
            expected => {
                let error = answer["errorMessage"].as_str().unwrap();
                let start = format!(
                    "Connection error: localhost:{}: its certificate is not trusted (",
                    address.port()
                );
                assert!(error.starts_with(&start) && error.contains(expected), "{error}");
                assert_eq!(heard.load(Ordering::SeqCst), 0);
                refused += 1;
            }
        }
        talk.ends(stderr);
    }
    row(
        "has a certificate of its own making, of an unknown authority, for another name, of a time that is over",
        refused,
    );
}

#[test]
fn redirect_to_http_is_not_followed() {
    let folder = tempfile::tempdir().unwrap();
    let ours = authority("ours");
    let own = pem(folder.path(), "own.pem", &ours);
    let plain = Endpoint::new();
    let moved = answer(307, &format!("location: http://{}/\r\n", plain.address), b"");
    let (address, heard) = secure(certificate("localhost", Some(&ours), 2100), moved);
    let base = format!("https://localhost:{}", address.port());
    let mut talk = Talk::at(&base, APIS[0], &[], &[("SSL_CERT_FILE", &own)]);
    let error = talk.fails("hello?");
    assert!(
        error.starts_with(&format!("307 redirected to http://{}/, which is not", plain.address)),
        "{error}"
    );
    assert_eq!((heard.load(Ordering::SeqCst), plain.asked()), (1, 0));
    talk.ends(&[]);
    row("redirects from https to http", 1);
}
