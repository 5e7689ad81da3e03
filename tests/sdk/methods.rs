//! The three clients have the same methods: each of one has its counterpart in the others, or a reason stands here.

use pi_rpc::{
    export::meta,
    protocol::{Dialect, RpcCommandKind},
};
use regex_lite::Regex;
use std::{collections::BTreeSet, fs, path::Path};

/// A method in the three languages; `Err`: why there is none.
struct Method {
    rust: Result<&'static str, &'static str>,
    python: Result<&'static str, &'static str>,
    typescript: Result<&'static str, &'static str>,
}

const fn same(rust: &'static str, python: &'static str, typescript: &'static str) -> Method {
    Method { rust: Ok(rust), python: Ok(python), typescript: Ok(typescript) }
}

/// The command has no text of its own in these clients: `call` with its fields.
const FIELDS_OF_PROMPT: &str = "`prompt` takes all fields";

/// Methods that are written by hand, and those that stand for a command under another name.
const METHODS: [Method; 23] = [
    same("spawn", "start", "spawn"),
    same("call", "call", "call"),
    same("prompt", "prompt", "prompt"),
    same("steer", "steer", "steer"),
    same("follow_up", "follow_up", "followUp"),
    same("abort", "abort", "abort"),
    same("wait_idle", "wait_idle", "waitForIdle"),
    same("session", "session", "session"),
    same("state", "state", "state"),
    same("id", "pid", "pid"),
    same("close", "close", "close"),
    Method { rust: Ok("set_host_tools"), python: Ok("lend_tools"), typescript: Ok("lendTools") },
    Method {
        rust: Ok("on_dialog"),
        python: Err("`on_dialog` of the constructor"),
        typescript: Ok("onDialog"),
    },
    Method {
        rust: Err("`call` with each page's cursor"),
        python: Ok("read_messages"),
        typescript: Ok("readMessages"),
    },
    Method { rust: Err("`spawn` returns the events"), python: Ok("events"), typescript: Ok("events") },
    Method { rust: Ok("prompt_with"), python: Err(FIELDS_OF_PROMPT), typescript: Err(FIELDS_OF_PROMPT) },
    Method { rust: Ok("send_prompt"), python: Ok("start_prompt"), typescript: Ok("sendPrompt") },
    Method {
        rust: Ok("with_timeout"),
        python: Err("`timeout` of each method"),
        typescript: Err("`timeoutMs` of each method"),
    },
    Method {
        rust: Ok("unchecked"),
        python: Err("`anyway` of `call`"),
        typescript: Err("`anyway` of each method"),
    },
    Method {
        rust: Ok("session_revisions"),
        python: Err("`subscribe` of `session`"),
        typescript: Err("`subscribe` of `session`"),
    },
    Method {
        rust: Ok("kill"),
        python: Err("`close` kills a server that does not end"),
        typescript: Err("`graceMs: 0` of `close`"),
    },
    Method { rust: Ok("connect"), python: Err("a `Host` as its command"), typescript: Ok("connect") },
    Method {
        rust: Err("`close` returns the exit"),
        python: Err("`close` returns the exit"),
        typescript: Ok("exited"),
    },
];

/// Further methods of one language, which are the same thing in another form.
const ALIASES: [(&str, &str); 4] = [
    (
        "request",
        "`call` for commands that the package does not know, which Rust and Python have no types for either",
    ),
    ("refusal", "`may` of `session`, of which this is the text"),
    ("closed", "whether a client without asyncio was closed"),
    ("start_abort_and_prompt", "`call` with `abort_and_prompt` in the others, as it is not waited for there"),
];

fn source(path: &str) -> String {
    fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(path))
        .unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// The names that the pattern finds.
fn names(text: &str, pattern: &str) -> BTreeSet<String> {
    let pattern = Regex::new(pattern).expect("a pattern");
    pattern.captures_iter(text).map(|found| found[1].to_owned()).collect()
}

fn rust() -> BTreeSet<String> {
    let text = source("crates/client/src/handle.rs");
    let client = text.split("\nimpl Client {").nth(1).and_then(|rest| rest.split("\n}\n").next());
    names(client.expect("the client"), r"\n    pub (?:async )?fn (\w+)")
}

fn typescript(dialect: Dialect) -> BTreeSet<String> {
    let base = source("sdk/typescript/src/client.ts");
    let base = base
        .split("export class Client")
        .nth(1)
        .and_then(|rest| rest.split("\n}\n").next())
        .expect("the client");
    let generated = source(&format!("sdk/typescript/src/generated/{dialect}.ts"));
    let generated = generated.split("Client extends").nth(1).expect("the client of the dialect");
    let method = r"\n  (?:static )?(?:async |get |readonly )?\*?(\w+)(?:<[^(\n]*>)?[(:]";
    let mut found = names(base, method);
    found.extend(names(generated, method));
    found.remove("constructor");
    found
}

fn python(dialect: Dialect, is_async: bool) -> BTreeSet<String> {
    let (file, base, class) = match is_async {
        true => ("aio", "class AsyncClientBase", "class AsyncClient("),
        false => ("sync", "class ClientBase", "class Client("),
    };
    let module = dialect.as_str().replace('-', "_");
    let sources = [
        (source(&format!("sdk/python/pi_rpc_client/{file}.py")), base),
        (source(&format!("sdk/python/pi_rpc_client/{module}/client.py")), class),
    ];
    let class_of = |(text, class): &(String, &str)| {
        let rest = text.split(class).nth(1).expect("the class").to_owned();
        rest.split("\nclass ").next().unwrap_or_default().to_owned()
    };
    sources.iter().flat_map(|it| names(&class_of(it), r"\n    (?:async )?def ([a-z]\w*)\(")).collect()
}

/// `get_state` as `getState`.
fn camel(name: &str) -> String {
    let mut words = name.split('_');
    let first = words.next().unwrap_or_default().to_owned();
    let upper = |word: &str| word[..1].to_uppercase() + &word[1..];
    words.fold(first, |name, word| name + &upper(word))
}

#[test]
fn clients_have_the_same_methods() {
    for dialect in Dialect::ALL {
        if !Path::new(env!("CARGO_MANIFEST_DIR"))
            .join(format!("sdk/typescript/src/generated/{dialect}.ts"))
            .exists()
        {
            continue;
        }
        let commands: Vec<String> =
            meta(dialect).commands.iter().map(|command| command.r#type.clone()).collect();
        let has = |command: &str| commands.iter().any(|it| it == command);
        // Methods that only dialects with these commands have.
        let left_out: Vec<&str> = [
            ("set_host_tools", ["lend_tools", "lendTools", "set_host_tools"].as_slice()),
            ("get_messages_page", &["read_messages", "readMessages"]),
        ]
        .into_iter()
        .filter(|(command, _)| !has(command))
        .flat_map(|(_, methods)| methods.iter().copied())
        .collect();
        for (language, found, of, name) in [
            ("Rust", rust(), (|it| it.rust) as fn(&Method) -> Result<&'static str, &'static str>, None),
            ("Python", python(dialect, false), |it| it.python, Some(str::to_owned as fn(&str) -> String)),
            ("Python with asyncio", python(dialect, true), |it| it.python, Some(str::to_owned)),
            ("TypeScript", typescript(dialect), |it| it.typescript, Some(camel)),
        ] {
            let written: Vec<&str> = METHODS.iter().filter_map(|it| of(it).ok()).collect();
            let missing = written.iter().filter(|it| !left_out.contains(it) && !found.contains(**it));
            let missing: Vec<&&str> = missing.collect();
            assert!(missing.is_empty(), "{dialect}: the client for {language} lacks {missing:?}");
            let by_command: BTreeSet<String> =
                name.map(|name| commands.iter().map(|it| name(it)).collect()).unwrap_or_default();
            let lacking: Vec<&String> = by_command.iter().filter(|it| !found.contains(*it)).collect();
            assert!(
                lacking.is_empty(),
                "{dialect}: the client for {language} lacks the commands {lacking:?}"
            );
            let is_listed = |it: &String| {
                written.contains(&it.as_str())
                    || by_command.contains(it)
                    || ALIASES.iter().any(|(alias, _)| alias == it)
            };
            let unlisted: Vec<&String> = found.iter().filter(|it| !is_listed(it)).collect();
            assert!(unlisted.is_empty(), "{dialect}: only the client for {language} has {unlisted:?}");
        }
        // Every command has a type, which `call` of Rust takes.
        assert!(commands.iter().all(|command| RpcCommandKind::parse(command).is_some()), "{dialect}");
    }
}
