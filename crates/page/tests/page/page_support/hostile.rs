//! Texts that would be more than text, put wherever a session has text.

use super::{Talk, answer, call_block, result, text_block, with};
use pi_rpc_page::{Body, Page, PageEntry};
use proptest::prelude::*;
use serde_json::json;

/// Known attacks on pages.
pub const ATTACKS: [&str; 26] = [
    "<script>document.title='ran'</script>",
    "</script><script>document.title='ran'</script>",
    "</style><script>document.title='ran'</script>",
    "</title><script>document.title='ran'</script>",
    "</textarea></pre></code></details><img src=x onerror=\"document.title='ran'\">",
    "<svg/onload=document.title='ran'>",
    "<math><mtext></p><script>document.title='ran'</script>",
    "<!--><script>document.title='ran'</script>-->",
    "<![CDATA[<script>document.title='ran'</script>]]>",
    "\" onmouseover=\"document.title='ran'\" x=\"",
    "' autofocus onfocus='document.title=1' '",
    "[x](javascript:document.title='ran')",
    "[x](  JaVaScRiPt:document.title='ran')",
    "[x](java\tscript:alert(1)) [y](&#106;avascript:alert(1)) <javascript:alert(1)>",
    "[x](data:text/html,<script>alert(1)</script>) ![x](http://192.0.2.1/a.png \"t\" onload=x)",
    "![](http://192.0.2.1/pixel.gif)\n\n<img src=http://192.0.2.1/b.gif>\n\n[r]: http://192.0.2.1/ 'x'\n\n![r]",
    "[x](https://a.example/\" onclick=\"alert(1)) <https://a.example/\"onclick=alert(1)>",
    "```\"><script>alert(1)</script>\n</code></pre><script>alert(1)</script>\n```",
    "| <b> | </table> |\n|-----|---|\n| <script>alert(1)</script> | x |",
    "<base href=http://192.0.2.1/><meta http-equiv=refresh content='0;url=http://192.0.2.1/'><link rel=stylesheet href=//192.0.2.1>",
    "<style>@import url(http://192.0.2.1/x.css)</style><div style=\"background:url(http://192.0.2.1/)\">",
    "<iframe srcdoc='<script>parent.document.title=1</script>'></iframe><object data=x><embed src=x>",
    "&lt;script&gt;&#60;script&#62;&#x202e;&NewLine;&#0;",
    "a\0b\x08\x0B\x1b[31mred\x1b[0m\x1b]0;title\x07\x7f\u{85}\u{9b}31m",
    "invoice\u{202E}fdp.exe\u{2066}\u{200F}\u{61C}\u{200B}\u{E0041}\u{FEFF}",
    "\u{FEFF}<\u{200E}script>\r\n<scr\0ipt>alert(1)</scr\0ipt>\u{2028}\u{2029}",
];

/// Attacks, parts of markup and any other characters, in any order.
pub fn text() -> impl Strategy<Value = String> {
    let markup = "<>&\"'`=/\\!-[](){}#*_|~:;\n\t \r\0\u{202E}\u{200F}\x1bax1";
    let letters: Vec<char> = markup.chars().collect();
    let part = prop_oneof![
        2 => prop::sample::select(&ATTACKS[..]).prop_map(str::to_owned),
        3 => prop::collection::vec(prop::sample::select(letters), 0..24).prop_map(String::from_iter),
        1 => any::<String>(),
    ];
    prop::collection::vec(part, 1..4).prop_map(|parts| parts.concat())
}

/// A session with `text` everywhere, so long that its parts are no elements at first.
pub fn long(text: &str) -> Page {
    let mut page = everywhere(text);
    let once = page.entries.clone();
    for round in 0..14 {
        page.entries.extend(once.iter().cloned().map(|entry| PageEntry {
            id: format!("{round}{}", entry.id),
            parent: entry.parent.map(|parent| format!("{round}{parent}")),
            ..entry
        }));
    }
    page
}

/// A session with `text` in every place that can have any.
pub fn everywhere(text: &str) -> Page {
    let t = text;
    let mut talk = Talk::new();
    let page = &mut talk.page;
    page.name = Some(t.to_owned());
    page.instructions = Some(t.to_owned());
    for field in [&mut page.session, &mut page.cwd, &mut page.written_by] {
        *field = t.to_owned();
    }
    talk.entry(Body::Model(t.to_owned()));
    talk.entry(Body::Level(Some(t.to_owned())));
    talk.entry(Body::Name(t.to_owned()));
    talk.message(json!({ "role": "user", "content": t, "timestamp": 0 }));
    let picture = |data: &str, kind: &str| json!({ "type": "image", "data": data, "mimeType": kind });
    let first = talk.message(json!({ "role": "user", "timestamp": 0, "content": [
        text_block(t), picture(t, "image/png"), picture("AAAA", t), picture("AAAA", "image/svg+xml"),
    ] }));
    let marked = talk.message(with(
        answer(json!([
            { "type": "thinking", "thinking": t, "thinkingSignature": t },
            { "type": "redactedThinking", "data": t },
            text_block(t),
            with(call_block("c", t, json!({ "command": t, t: t, "list": [t, { t: t }] })), json!({ "intent": t })),
            call_block(t, "edit", json!({ "path": t })),
        ])),
        json!({ "provider": t, "model": t, "api": t, "stopReason": "error", "errorMessage": t }),
    ));
    talk.message(with(result("c", t, t), json!({ "isError": true })));
    talk.message(with(
        result(t, "edit", t),
        json!({ "details": { "diff": format!("+1 {t}\n-2 {t}\n{t}") } }),
    ));
    talk.message(with(result("gone", t, t), json!({ "content": [text_block(t), picture(t, "image/png")] })));
    for (role, code) in [("bashExecution", "command"), ("pythonExecution", "code")] {
        talk.message(json!({
            "role": role, code: t, "output": t, "cancelled": true, "truncated": true, "timestamp": 0,
        }));
    }
    for (role, is_shown) in [("custom", true), ("hookMessage", false)] {
        talk.message(json!({
            "role": role, "customType": t, "content": t, "display": is_shown, "timestamp": 0,
        }));
    }
    talk.message(json!({ "role": "developer", "content": t, "timestamp": 0 }));
    talk.message(json!({ "role": "branchSummary", "summary": t, "fromId": t, "timestamp": 0 }));
    talk.message(json!({ "role": "compactionSummary", "summary": t, "tokensBefore": 1, "timestamp": 0 }));
    talk.message(json!({ "role": "fileMention", "timestamp": 0, "files": [
        { "path": t, "content": t, "image": picture(t, t) },
    ] }));
    talk.entry(Body::Label { target: marked + t, label: Some(t.to_owned()) });
    talk.entry(Body::Compaction { summary: t.to_owned(), tokens_before: 1, first_kept: Some(t.to_owned()) });
    talk.entry(Body::Other { kind: t.to_owned(), data: json!({ t: [t] }) });
    talk.back_to(&first);
    talk.user(t);
    // Ids are anything, too.
    for entry in &mut talk.page.entries {
        entry.id.push_str(t);
        entry.parent = entry.parent.take().map(|parent| parent + t);
    }
    talk.page.leaf = None;
    talk.page
}
