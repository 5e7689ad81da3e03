//! What every page of ours begins with: nothing is loaded, nothing is sent, and nothing runs but what the page carries.

use base64::{Engine as _, prelude::BASE64_STANDARD};
use maud::{Markup, PreEscaped, html};
use sha2::{Digest as _, Sha256};

/// The style that the pages share: colours in light and dark, letters, focus, buttons.
pub const BASE_STYLE: &str = include_str!("base.css");

/// The `head` of a page with that style. `script`: what the page carries further down and may run; without it nothing
/// does.
pub fn head(title: &str, style: &str, script: Option<&str>) -> Markup {
    html! {
        head {
            meta charset="utf-8";
            // Before anything that it is to hold for.
            meta http-equiv="Content-Security-Policy" content=(policy(style, script));
            meta name="viewport" content="width=device-width, initial-scale=1";
            meta name="color-scheme" content="light dark";
            meta name="referrer" content="no-referrer";
            meta http-equiv="x-dns-prefetch-control" content="off";
            title { (title) }
            // Else browsers ask the server that the page is on for a picture.
            link rel="icon" href="data:,";
            style { (PreEscaped(style)) }
        }
    }
}

fn policy(style: &str, script: Option<&str>) -> String {
    let hash = |text: &str| BASE64_STANDARD.encode(Sha256::digest(text));
    let script = script.map(|script| format!(" script-src 'sha256-{}';", hash(script))).unwrap_or_default();
    format!(
        "default-src 'none'; style-src 'sha256-{}';{script} img-src data:; base-uri 'none'; form-action 'none'",
        hash(style)
    )
}
