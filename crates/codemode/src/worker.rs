//! The process in which a script runs.
//!
//! It has nothing but its stdin and stdout: the environment is empty, and limits of the kernel keep it from opening files or
//! connections and from starting processes, even if a fault of the engine let a script run code of its own. It runs one script,
//! reads only while the script waits for an answer, and ends with it.

use crate::{
    limits::{MAX_COMPUTING, MAX_OUTPUT, MAX_OUTPUT_ITEMS, NAME, ROLE},
    messages::{Answer, CallTarget, OutputItem, Report, Start},
};
use rquickjs::{
    CatchResultExt as _, CaughtError, Context, Ctx, Function, Object, Runtime, Value, context::EvalOptions,
};
use rustix::process::{Resource, Rlimit, setrlimit};
use serde_json::json;
use std::{
    cell::{Cell, RefCell},
    collections::BTreeMap,
    ffi::OsStr,
    io::{BufRead, Write},
    process::ExitCode,
    rc::Rc,
};

/// Memory of a script, in bytes. Source: pi 1.6 documentation.
const MAX_MEMORY: usize = 256 * 1024 * 1024;

/// The stack of a script, in bytes.
const MAX_STACK: usize = 512 * 1024;

/// The address space of the process, in bytes: the memory, and the program itself.
const MAX_ADDRESSES: u64 = 2 * 1024 * 1024 * 1024;

/// Characters of a stored value, and of all together. Source: pi 1.6 documentation.
const MAX_STORED: usize = 256 * 1024;
const MAX_STORED_TOGETHER: usize = 1024 * 1024;

/// Characters of JSON that a call has as arguments.
const MAX_ARGUMENTS: usize = 8 * 1024 * 1024;

/// Whether this process was started to run a script.
pub fn is_worker(arguments: &[impl AsRef<OsStr>]) -> bool {
    arguments.first().is_some_and(|name| name.as_ref() == NAME)
        && arguments.get(1).is_some_and(|role| role.as_ref() == ROLE)
}

/// Runs the script that comes on stdin.
pub fn work() -> ExitCode {
    // Above the three that are open.
    let limits = [
        (Resource::Nofile, 3),
        (Resource::Nproc, 0),
        (Resource::Fsize, 0),
        (Resource::Core, 0),
        (Resource::Cpu, MAX_COMPUTING),
        (Resource::As, MAX_ADDRESSES),
    ];
    for (resource, most) in limits {
        let limit = Rlimit { current: Some(most), maximum: Some(most) };
        // A system without it has the limits of the engine alone.
        let _ = setrlimit(resource, limit);
    }
    let (stdin, stdout) = (std::io::stdin().lock(), std::io::stdout().lock());
    match run(stdin, stdout) {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::FAILURE,
    }
}

/// Runs one script; an error is one of the pipes or of the engine.
pub(crate) fn run(mut input: impl BufRead, output: impl Write + 'static) -> Result<(), String> {
    let mut line = String::new();
    input.read_line(&mut line).map_err(|error| error.to_string())?;
    let start: Start = serde_json::from_str(&line).map_err(|error| error.to_string())?;
    let (output, is_over) = (Rc::new(RefCell::new(output)), Rc::new(Cell::new(false)));
    let outcome = evaluate(&start, &mut input, &output, &is_over);
    if let (Err(error), false) = (&outcome, is_over.get()) {
        let done = Report::Done { error: Some(error.clone()), value: None, writes: BTreeMap::new() };
        write(&output, &done)?;
    }
    outcome
}

/// Runs the script until it is over.
fn evaluate<W: Write + 'static>(
    start: &Start,
    input: &mut impl BufRead,
    output: &Rc<RefCell<W>>,
    is_over: &Rc<Cell<bool>>,
) -> Result<(), String> {
    let text = |error: rquickjs::Error| error.to_string();
    let runtime = Runtime::new().map_err(text)?;
    runtime.set_memory_limit(MAX_MEMORY);
    runtime.set_max_stack_size(MAX_STACK);
    let context = Context::full(&runtime).map_err(text)?;
    context.with(|ctx| {
        let script = open(&ctx, start, output, is_over).catch(&ctx).map_err(|error| shown(&error))?;
        let call = |name: &str, arguments: (Option<&str>, bool, Option<&str>)| -> Result<(), String> {
            let function: Function<'_> = script.get(name).map_err(text)?;
            function.call(arguments).catch(&ctx).map_err(|error| shown(&error))
        };
        loop {
            while ctx.execute_pending_job() {}
            call("rest", (None, false, None))?;
            if is_over.get() {
                return Ok(());
            }
            let mut line = String::new();
            if input.read_line(&mut line).map_err(|error| error.to_string())? == 0 {
                return Err("nobody waits for the script any more".to_owned());
            }
            let Answer { id, value, error } =
                serde_json::from_str(&line).map_err(|error| error.to_string())?;
            let is_good = error.is_none();
            call("settle", (Some(&id.to_string()), is_good, error.or(value).as_deref()))?;
        }
    })
}

/// Makes the world of the script and starts it.
fn open<'js, W: Write + 'static>(
    ctx: &Ctx<'js>,
    start: &Start,
    output: &Rc<RefCell<W>>,
    is_over: &Rc<Cell<bool>>,
) -> rquickjs::Result<Object<'js>> {
    let (output, is_over) = (output.clone(), is_over.clone());
    let bridge = move |kind: String, a: Option<String>, b: Option<String>, c: Option<String>| {
        let Some(report) = report(&kind, a, b, c) else { return };
        if matches!(report, Report::Done { .. }) {
            is_over.set(true);
        }
        // Without a reader the process ends with the next line that it would read.
        let _ = write(&output, &report);
    };
    let limits = json!({
        "arguments": MAX_ARGUMENTS, "stored": MAX_STORED, "storedTogether": MAX_STORED_TOGETHER,
        "output": MAX_OUTPUT, "outputItems": MAX_OUTPUT_ITEMS,
    });
    let prelude: Function<'js> = evaluated(ctx, include_str!("prelude.js"), "prelude.js")?;
    let limits: Value<'js> = ctx.json_parse(limits.to_string())?;
    let start_text = serde_json::to_string(start).unwrap_or_default();
    let script: Object<'js> = prelude.call((Function::new(ctx.clone(), bridge)?, start_text, limits))?;
    let source = format!("(async () => {{ {}\n}})", start.code);
    let body: Value<'js> = match evaluated(ctx, &source, "codemode.js") {
        Ok(body) => body,
        Err(rquickjs::Error::Exception) => ctx.catch(),
        Err(error) => return Err(error),
    };
    let run: Function<'js> = script.get("run")?;
    run.call::<_, ()>((body,))?;
    Ok(script)
}

fn evaluated<'js, T: rquickjs::FromJs<'js>>(ctx: &Ctx<'js>, source: &str, name: &str) -> rquickjs::Result<T> {
    let mut options = EvalOptions::default();
    options.strict = false;
    options.filename = Some(name.to_owned());
    ctx.eval_with_options(source, options)
}

/// What the script does, from the texts of the bridge.
fn report(kind: &str, a: Option<String>, b: Option<String>, c: Option<String>) -> Option<Report> {
    let text = a.clone().unwrap_or_default();
    Some(match kind {
        "call" => {
            let (target, name) = b.as_deref()?.split_once(' ')?;
            let target = if target == "tool" { CallTarget::Tool } else { CallTarget::Function };
            Report::Call { id: text.parse().ok()?, target, name: name.to_owned(), arguments: c }
        }
        "text" => Report::Output { item: OutputItem::Text { text } },
        "console" => Report::Output { item: OutputItem::Console { text } },
        "image" => {
            Report::Output { item: OutputItem::Image { data: text, mime_type: b.unwrap_or_default() } }
        }
        "done" => Report::Done {
            error: a,
            value: b,
            writes: c.and_then(|text| serde_json::from_str(&text).ok()).unwrap_or_default(),
        },
        _ => return None,
    })
}

fn write<W: Write>(output: &Rc<RefCell<W>>, report: &Report) -> Result<(), String> {
    let mut line = serde_json::to_vec(report).map_err(|error| error.to_string())?;
    line.push(b'\n');
    let mut output = output.borrow_mut();
    output.write_all(&line).and_then(|()| output.flush()).map_err(|error| error.to_string())
}

/// An error of the engine, as of the script.
fn shown(error: &CaughtError<'_>) -> String {
    match error {
        CaughtError::Exception(error) => {
            let name: String = error.as_object().get("name").unwrap_or_else(|_| "Error".to_owned());
            format!("{name}: {}", error.message().unwrap_or_default())
        }
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Cursor;

    /// Everything that is written, also after the writer is gone.
    #[derive(Clone, Default)]
    struct Written(Rc<RefCell<Vec<u8>>>);

    impl Write for Written {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0.borrow_mut().write(bytes)
        }

        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }

    /// What a script does that gets these answers, a line each.
    fn does(code: &str, answers: &[serde_json::Value]) -> Vec<serde_json::Value> {
        let tool =
            |name: &str| json!({ "name": name, "identifier": name.replace('-', "_"), "description": "" });
        let start = json!({
            "code": code, "tools": [tool("read"), tool("my-tool")], "functions": ["searchTools"], "store": { "k": "5" },
        });
        let lines = [&[start], answers].concat().iter().map(|line| format!("{line}\n")).collect::<String>();
        let written = Written::default();
        let _ = run(Cursor::new(lines.into_bytes()), written.clone());
        let written = String::from_utf8(written.0.take()).unwrap();
        written.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    /// The error with which a script ends.
    fn error(code: &str) -> String {
        does(code, &[]).pop().unwrap()["error"].as_str().unwrap_or_default().to_owned()
    }

    #[test]
    fn calls_are_answered_in_any_order() {
        let code =
            "const both = await Promise.all([tools.read({ path: 'a' }), tools.my_tool()]); return both;";
        let done = does(code, &[json!({ "id": 2, "value": "[2]" }), json!({ "id": 1, "value": "\"one\"" })]);
        let call = |id: u8, name: &str| json!({ "type": "call", "id": id, "target": "tool", "name": name });
        let mut first = call(1, "read");
        first["arguments"] = "{\"path\":\"a\"}".into();
        let end = json!({ "type": "done", "value": "[\"one\",[2]]" });
        assert_eq!(done, [first, call(2, "my-tool"), end]);
    }

    #[test]
    fn failed_call_is_an_error() {
        let code = "try { await tools['my-tool']({}) } catch (e) { text(String(e)) } await tools.read({})";
        let failed = |id: u8| json!({ "id": id, "error": "ENOENT: no file" });
        let done = does(code, &[failed(1), failed(2)]);
        assert_eq!(done[1]["item"], json!({ "kind": "text", "text": "Error: ENOENT: no file" }));
        let error = done[3]["error"].as_str().unwrap();
        assert!(error.starts_with("Error: ENOENT: no file"), "{error}");
    }

    #[test]
    fn output_has_its_kinds() {
        let code = "text({ a: 1 }); text(undefined); console.warn('x', 1, { b: [] }); image('data:;base64,iVBORw0KGgo='); exit(); text(2)";
        let done = does(code, &[]);
        let items: Vec<_> = done[..4].iter().map(|line| line["item"].clone()).collect();
        let expected = [
            json!({ "kind": "text", "text": "{\"a\":1}" }),
            json!({ "kind": "text", "text": "undefined" }),
            json!({ "kind": "console", "text": "x 1 {\"b\":[]}" }),
            json!({ "kind": "image", "data": "iVBORw0KGgo=", "mime_type": "image/png" }),
        ];
        assert_eq!((items.as_slice(), &done[4..]), (&expected[..], &[json!({ "type": "done" })][..]));
    }

    #[test]
    fn stored_values_are_read_and_written() {
        let code =
            "store('a', load('k') + 1); store('k', undefined); return [load('a'), load('k') === undefined]";
        let end = json!({ "type": "done", "value": "[6,true]", "writes": { "a": "6", "k": null } });
        assert_eq!(does(code, &[]), [end]);
        assert!(
            error("store('x', 'y'.repeat(300000))").contains("has 300002 characters of JSON, at most 262144")
        );
    }

    #[test]
    fn failures_name_place_and_cause() {
        for (code, expected) in [
            ("throw new Error('bad')", "Error: bad\n    at <anonymous> (codemode.js:1:"),
            ("throw { a: 1 }", "{\"a\":1}"),
            ("return 1 +", "SyntaxError: "),
            ("await new Promise(() => {})", "Error: The script waits for a promise that nothing can settle"),
            ("tools.raed({})", "TypeError: tools.raed does not exist."),
            ("tools.mytool({})", "TypeError: tools.mytool does not exist. Is it tools.my_tool?"),
            ("models.classify()", "TypeError: models.classify does not exist. Classifiers"),
            ("await import('fs')", "ReferenceError"),
            ("setTimeout(() => {}, 1)", "ReferenceError: "),
            ("const a = []; for (;;) a.push('x'.repeat(1e6) + a.length)", "InternalError: out of memory"),
            ("const f = () => f(); f()", "RangeError: Maximum call stack size exceeded"),
            ("image('https://x')", "TypeError: image(): expected a data: URL"),
            ("return 1n", "TypeError: "),
        ] {
            let error = error(code);
            assert!(error.starts_with(expected), "{code}: {error}");
        }
    }

    #[test]
    fn script_sees_nothing_of_the_system() {
        let code = "return ['process', 'require', 'fetch', 'std', 'os', 'bridge', 'start', 'pending', 'performance'] \
                    .filter((name) => { try { return (0, eval)('typeof ' + name) !== 'undefined' } catch { return false } })";
        assert_eq!(does(code, &[]), [json!({ "type": "done", "value": "[\"performance\"]" })]);
    }
}
