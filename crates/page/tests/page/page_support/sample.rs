//! A session with every kind of entry.

use super::{Talk, answer, call_block, result, text_block, with};
use pi_rpc_page::{Body, Page};
use serde_json::json;

/// A chart of four bars.
pub const PICTURE: &str = concat!(
    "iVBORw0KGgoAAAANSUhEUgAAADAAAAAYAQMAAACGM+yfAAAABlBMVEX8/Po/dMRbRTPEAAAAG0lEQVR42mNgwAUY/xOi5D8S",
    "oBj/E6KAmDgKAK4YN0t1VwvHAAAAAElFTkSuQmCC",
);

const ANSWER: &str = "\
The total is wrong because `price` is parsed **after** the discount is applied.

## What I found

1. `parse_price` drops the cents of `1.50`.
2. The discount is rounded *before* the sum, which loses up to half a cent an item:

   ```rust
   let total: u64 = items.iter().map(|item| discount(item.price)).sum();
   ```

| Item | Before | After |
|:-----|-------:|------:|
| Pear | 1.50 | 1.35 |
| Fig  | 0.99 | 0.89 |

> Money is counted in cents, never in floats.

See [the chapter on integers](https://doc.rust-lang.org/book/ch03-02-data-types.html) and `src/price.rs`.";

const DIFF: &str = "\
 10 fn total(items: &[Item]) -> u64 {
-11     items.iter().map(|item| discount(item.price)).sum()
+11     let sum: u64 = items.iter().map(|item| item.price).sum();
+12     discount(sum)
 13 }
    ...";

/// The session; its path ends with the answer to the last prompt.
pub fn sample() -> Page {
    let mut talk = Talk::new();
    talk.page.name = Some("Totals that are a cent off".to_owned());
    talk.entry(Body::Model("anthropic/claude-sonnet-4-5".to_owned()));
    talk.entry(Body::Level(Some("medium".to_owned())));
    talk.message(json!({ "role": "user", "timestamp": 0, "content": [
        text_block("The total in the cart is a cent off for some orders, see the picture.\n\nCan you find out why and fix it? Start with `src/price.rs`."),
        { "type": "image", "data": PICTURE, "mimeType": "image/png" },
    ] }));
    talk.answer(json!([
        { "type": "thinking", "thinking": "A cent off smells like rounding.\n\nLook at the file before guessing." },
        text_block("I will look at the code first."),
        call_block("c1", "read", json!({ "path": "src/price.rs", "limit": 40 })),
        call_block("c2", "bash", json!({ "command": "cargo test price 2>&1 | tail -5" })),
    ]));
    talk.result("c1", "read", "use crate::Item;\n\nfn total(items: &[Item]) -> u64 {\n    items.iter().map(|item| discount(item.price)).sum()\n}\n");
    talk.message(with(
        result("c2", "bash", "\x1b[31mtest price::rounds ... FAILED\x1b[0m\n\nfailures:\n    price::rounds\n\nCommand exited with code 101"),
        json!({ "isError": true, "details": {} }),
    ));
    let found = talk.answer(json!([text_block(ANSWER)]));
    talk.user("Just round at the end, nothing else.");
    talk.answer(json!([call_block(
        "c3",
        "edit",
        json!({ "path": "src/price.rs", "oldText": "    items.iter()", "newText": "    let sum" })
    ),]));
    talk.message(with(
        result("c3", "edit", "Successfully replaced text in src/price.rs."),
        json!({ "details": { "diff": DIFF, "firstChangedLine": 11 } }),
    ));
    let done = talk.answer(json!([text_block("Done: the discount is applied to the **sum**, once.")]));
    talk.message(json!({
        "role": "bashExecution", "command": "cargo test -q", "output": "running 41 tests\n.........................................\ntest result: ok. 41 passed\n",
        "exitCode": 0, "cancelled": false, "truncated": false, "timestamp": 0,
    }));
    // A branch that was left, and one that leaves it again.
    talk.back_to(&found);
    let other = talk.user("Could we use a decimal crate instead?");
    talk.answer(json!([text_block("We could; `rust_decimal` is the usual choice. It is a larger change.")]));
    talk.back_to(&other);
    talk.message(with(
        answer(json!([text_block("We could, but")])),
        json!({ "stopReason": "aborted", "errorMessage": "Request was aborted." }),
    ));
    talk.back_to(&done);
    talk.entry(Body::Label { target: done.clone(), label: Some("fixed".to_owned()) });
    talk.entry(Body::Compaction {
        summary: "## Goal\n\nFix totals that are a cent off.\n\n## Done\n\n- `src/price.rs` rounds once, at the end.".to_owned(),
        tokens_before: 151_204,
        first_kept: Some(done),
    });
    talk.message(json!({
        "role": "custom", "customType": "reminder", "content": "Two to-dos are open.", "display": true, "timestamp": 0,
    }));
    talk.entry(Body::Other { kind: "todo_state".to_owned(), data: json!({ "open": ["docs", "changelog"] }) });
    talk.user("شكرا! Now write the changelog entry, please.");
    talk.answer(json!([
        call_block(
            "c4",
            "write",
            json!({ "path": "CHANGELOG.md", "content": "## 1.4.2\n\n- Totals are rounded once.\n" })
        ),
        call_block("c5", "grep", json!({ "pattern": "discount\\(", "path": "src", "glob": "*.rs" })),
        call_block("c6", "bash", json!({ "command": "git log --oneline" })),
    ]));
    talk.result("c4", "write", "Successfully wrote 40 bytes to CHANGELOG.md");
    talk.result(
        "c5",
        "grep",
        &(1..=60)
            .map(|line| format!("src/cart.rs:{line}: discount(item) // {}\n", "x".repeat(90)))
            .collect::<String>(),
    );
    talk.message(with(
        answer(json!([text_block(
            "The changelog has the entry. A file with a strange name turned up:\u{202E}gpj.exe"
        )])),
        json!({ "stopReason": "length" }),
    ));
    talk.page
}
