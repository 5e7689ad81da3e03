//! Tokens are renewed before they expire: once, under the lock, and written back.

use crate::login_support::{FUTURE, Home, KIMI, PAST, Vendor, entry, http, token};
use pi_rpc::login::{LoginError, refresh_expiring};
use serde_json::{Value, json};
use std::{
    fs,
    os::unix::fs::{PermissionsExt as _, symlink},
    time::{SystemTime, UNIX_EPOCH},
};

const REFRESHED: &str = "/api/oauth/token";

fn now() -> f64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs_f64() * 1000.0
}

/// A file with an expired login of Kimi between others.
fn expired() -> Value {
    json!({
        "groq": { "type": "api_key", "key": "k", "env": { "A": "1" } },
        KIMI: entry("old-access", "old-refresh", PAST),
        "unknown": { "type": "of the future", "expires": 1.5 },
    })
}

#[tokio::test]
async fn expired_token_is_renewed_and_kept() {
    let (vendor, home) = (Vendor::new(&[]), Home::new(&expired()));
    fs::set_permissions(home.auth_file(), fs::Permissions::from_mode(0o640)).unwrap();
    let config = home.config(&vendor);
    refresh_expiring(&http(), &config.keys, KIMI).await.unwrap();
    assert_eq!(token(&config).as_deref(), Some("scripted-access-1"));
    let mut expected = expired();
    expected[KIMI] = home.auth()[KIMI].clone();
    assert_eq!(home.auth(), expected);
    let expires = expected[KIMI]["expires"].as_f64().unwrap();
    assert!((now() + 3_500_000.0..now() + 3_600_000.0).contains(&expires), "{expires}");
    let kept = entry("scripted-access-1", "scripted-refresh-1", expires);
    assert_eq!(expected[KIMI].as_object().unwrap().len(), kept.as_object().unwrap().len());
    assert_eq!(expected[KIMI]["own"], kept["own"]);
    assert_eq!(expected[KIMI]["refresh"], kept["refresh"]);
    let mode = fs::metadata(home.auth_file()).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o640);
    let left: Vec<_> = fs::read_dir(home.auth_file().parent().unwrap()).unwrap().collect();
    assert_eq!(left.len(), 1, "{left:?}");
}

#[tokio::test]
async fn valid_token_is_used_as_it_is() {
    let auth = json!({ KIMI: entry("access", "refresh", FUTURE) });
    let (vendor, home) = (Vendor::new(&[]), Home::new(&auth));
    let config = home.config(&vendor);
    refresh_expiring(&http(), &config.keys, KIMI).await.unwrap();
    assert_eq!(token(&config).as_deref(), Some("access"));
    assert_eq!((vendor.requests(), home.auth()), (vec![], auth));
}

#[tokio::test]
async fn token_is_renewed_minutes_before_its_end() {
    let auth = json!({ KIMI: entry("access", "refresh", now() + 240_000.0) });
    let (vendor, home) = (Vendor::new(&[]), Home::new(&auth));
    let config = home.config(&vendor);
    refresh_expiring(&http(), &config.keys, KIMI).await.unwrap();
    assert_eq!(token(&config).as_deref(), Some("scripted-access-1"));
}

#[tokio::test]
async fn refreshes_at_once_make_one_request() {
    let (vendor, home) = (Vendor::new(&[]), Home::new(&expired()));
    // As two processes, which share nothing but the file.
    let configs = [home.config(&vendor), home.config(&vendor), home.config(&vendor)];
    let http = http();
    let all = configs.each_ref().map(|config| refresh_expiring(&http, &config.keys, KIMI));
    let [one, two, three] = all;
    let (one, two, three) = tokio::join!(one, two, three);
    assert_eq!([one, two, three], [const { Ok(()) }; 3]);
    assert_eq!(
        configs.each_ref().map(token),
        [const { "scripted-access-1" }; 3].map(|it| Some(it.to_owned()))
    );
    assert_eq!(vendor.requests(), [(REFRESHED.to_owned(), Some(200))]);
}

#[tokio::test]
async fn token_of_another_process_is_taken() {
    let (vendor, home) = (Vendor::new(&[]), Home::new(&expired()));
    let config = home.config(&vendor);
    let auth = json!({ KIMI: entry("theirs", "refresh", FUTURE) });
    home.write(&auth);
    refresh_expiring(&http(), &config.keys, KIMI).await.unwrap();
    assert_eq!(token(&config).as_deref(), Some("theirs"));
    assert_eq!((vendor.requests(), home.auth()), (vec![], auth));
}

#[tokio::test]
async fn link_to_auth_file_stays_one() {
    let (vendor, home) = (Vendor::new(&[]), Home::new(&expired()));
    let real = home.path().join("real.json");
    fs::rename(home.auth_file(), &real).unwrap();
    symlink(&real, home.auth_file()).unwrap();
    let config = home.config(&vendor);
    refresh_expiring(&http(), &config.keys, KIMI).await.unwrap();
    assert!(home.auth_file().is_symlink());
    assert_eq!(home.auth()[KIMI]["access"], "scripted-access-1");
}

#[tokio::test]
async fn refused_refresh_names_the_login_command() {
    let (vendor, home) = (Vendor::new(&["invalid_grant"]), Home::new(&expired()));
    let config = home.config(&vendor);
    let error = refresh_expiring(&http(), &config.keys, KIMI).await.unwrap_err();
    assert_eq!(
        error.to_string(),
        "The login of kimi-coding has expired, and 127.0.0.1 refuses to renew it (400: invalid_grant: Scripted: \
         invalid_grant.).\n\nLog in again: pi-rpc login kimi-coding"
    );
    assert_eq!(home.auth(), expired());
}

#[tokio::test]
async fn unreachable_vendor_leaves_a_valid_token() {
    let auth = json!({ KIMI: entry("access", "refresh", now() + 240_000.0) });
    let (vendor, home) = (Vendor::new(&["invalid_grant"]), Home::new(&auth));
    let config = home.config(&vendor);
    refresh_expiring(&http(), &config.keys, KIMI).await.unwrap();
    assert_eq!(token(&config).as_deref(), Some("access"));
    assert_eq!(home.auth(), auth);
}

#[tokio::test]
async fn vendor_in_trouble_is_asked_again() {
    let (vendor, home) = (Vendor::new(&["503"]), Home::new(&expired()));
    let config = home.config(&vendor);
    refresh_expiring(&http(), &config.keys, KIMI).await.unwrap();
    let statuses: Vec<_> = vendor.requests().into_iter().map(|(_, status)| status).collect();
    assert_eq!(statuses, [Some(503), Some(200)]);
}

#[tokio::test]
async fn login_that_was_removed_is_not_renewed() {
    let (vendor, home) = (Vendor::new(&[]), Home::new(&expired()));
    let config = home.config(&vendor);
    home.write(&json!({}));
    refresh_expiring(&http(), &config.keys, KIMI).await.unwrap();
    assert_eq!((vendor.requests(), token(&config), home.auth()), (vec![], None, json!({})));
}

#[tokio::test]
async fn broken_auth_file_is_left_alone() {
    let (vendor, home) = (Vendor::new(&[]), Home::new(&expired()));
    let config = home.config(&vendor);
    fs::write(home.auth_file(), "{ \"secret-key").unwrap();
    let error = refresh_expiring(&http(), &config.keys, KIMI).await.unwrap_err();
    let reason = "expected a JSON object".to_owned();
    assert_eq!(error, LoginError::File { provider: KIMI.to_owned(), path: home.auth_file(), reason });
    assert_eq!(fs::read_to_string(home.auth_file()).unwrap(), "{ \"secret-key");
}
