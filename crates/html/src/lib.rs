//! The head that every HTML page of this project begins with: one style, and a content security policy that loads nothing.
//!
//! For the pages of reports, sessions and the protocol's reference, which are single files that people keep and pass on.
//!
//! A page with this head loads nothing, sends nothing, and runs nothing but the script that it carries itself: the policy names
//! style and script by their hashes. This crate does no IO and knows nothing of a page's body.
//!
//! - [`head`]: the `head` of a page. Where the page has a script, its text has to be given as it stands in the page.
//! - [`SHARED_STYLE`]: the style that all pages share, the inspector too; [`BASE_STYLE`]: that of documents, which includes it.
//! - [`COPY_SCRIPT`]: buttons that copy a text.
//!
//! ```
//! use maud::{DOCTYPE, html};
//! use pi_rpc_html::{BASE_STYLE, head};
//!
//! let page = html! {
//!     (DOCTYPE)
//!     html lang="en" {
//!         (head("Report <1>", BASE_STYLE, None))
//!         body { h1 { "Report" } }
//!     }
//! };
//! let page = page.into_string();
//! assert!(page.contains("<title>Report &lt;1&gt;</title>"));
//! assert!(page.contains("default-src 'none'") && !page.contains("script-src"));
//! ```

use base64::{Engine as _, prelude::BASE64_STANDARD};
use maud::{Markup, PreEscaped, html};
use sha2::{Digest as _, Sha256};

/// The style that all pages share: colours in light and dark, fonts, focus, and classes such as `bad`.
pub const SHARED_STYLE: &str = include_str!("shared.css");

/// The style that documents share: [`SHARED_STYLE`], letters, buttons, lists of facts.
pub const BASE_STYLE: &str = concat!(include_str!("shared.css"), include_str!("base.css"));

/// The beginning of a page's script: `copyButton`, which needs a `say` of the page.
pub const COPY_SCRIPT: &str = include_str!("copy.js");

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
