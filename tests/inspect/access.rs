//! Access to the page: by its address alone, and not from pages of other origins.

use crate::inspect_support::{Page, recording};

fn page() -> Page {
    Page::of_file(&recording("pi-1/plain.jsonl"))
}

/// The status of a request for the session with these headers.
fn status(page: &Page, path: &str, headers: &str) -> u16 {
    page.raw(&format!("GET {path} HTTP/1.1\r\n{headers}"), "").status
}

#[test]
fn wrong_token_is_not_found() {
    let page = page();
    let host = format!("Host: {}", page.authority());
    let base = page.base();
    assert_eq!(status(&page, &format!("{base}api/session"), &host), 200);
    let shorter = format!("{}/api/session", &base[..base.len() - 2]);
    let other = format!("/{}/api/session", "A".repeat(base.len() - 2));
    for path in ["/", "/api/session", "//api/session", shorter.as_str(), other.as_str()] {
        assert_eq!(status(&page, path, &host), 404, "{path}");
    }
}

#[test]
fn foreign_names_and_origins_are_refused() {
    let page = page();
    let path = format!("{}api/session", page.base());
    let own = page.authority();
    let port = own.split(':').nth(1).unwrap();
    let cases = [
        (format!("Host: localhost:{port}"), 200),
        (format!("Host: evil.example:{port}"), 403),
        ("Host: 127.0.0.1".to_owned(), 403),
        (format!("Host: {own}\r\nOrigin: http://{own}"), 200),
        (format!("Host: {own}\r\nOrigin: https://{own}"), 403),
        (format!("Host: {own}\r\nOrigin: http://evil.example"), 403),
        (format!("Host: {own}\r\nOrigin: null"), 403),
        (format!("Host: {own}\r\nSec-Fetch-Site: same-origin"), 200),
        (format!("Host: {own}\r\nSec-Fetch-Site: cross-site"), 403),
        (format!("Host: {own}\r\nSec-Fetch-Site: same-site"), 403),
    ];
    for (headers, expected) in cases {
        assert_eq!(status(&page, &path, &headers), expected, "{headers}");
    }
}

#[test]
fn every_answer_has_the_policy() {
    let page = page();
    for path in ["", "api/session", "api/records/1/text", "nothing"] {
        let headers = page.request("GET", path, "").headers;
        for expected in [
            "content-security-policy: default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; connect-src 'self'; form-action 'none'; frame-ancestors 'none'; base-uri 'none'",
            "x-content-type-options: nosniff",
            "referrer-policy: no-referrer",
            "x-frame-options: deny",
            "cross-origin-opener-policy: same-origin",
            "cross-origin-resource-policy: same-origin",
            "cache-control: no-store",
        ] {
            assert!(headers.contains(expected), "{path}: {headers}");
        }
    }
}

#[test]
fn address_for_browsers_leads_there_once() {
    let page = page();
    let path = page.ticket.split(page.authority()).nth(1).unwrap().to_owned();
    let head = |path: &str| format!("GET {path} HTTP/1.1\r\nHost: {}", page.authority());
    assert_eq!(page.raw(&head(&format!("{path}x")), "").status, 404);
    let first = page.raw(&head(&path), "");
    assert_eq!(first.status, 303);
    assert!(
        first.headers.contains(&format!("location: {}", page.base().to_lowercase())),
        "{}",
        first.headers
    );
    assert_eq!(page.raw(&head(&path), "").status, 404);
    assert_eq!(page.raw(&head("/open/"), "").status, 404);
}

#[test]
fn page_is_served() {
    let answer = page().request("GET", "", "");
    assert_eq!(answer.status, 200);
    assert!(answer.headers.contains("content-type: text/html; charset=utf-8"), "{}", answer.headers);
}
