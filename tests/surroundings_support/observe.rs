//! What is observed: requests of the model, frames and files, without what differs from run to run.

use pi_rpc::mock::ReceivedRequest;
use regex::Regex;
use serde_json::{Map, Value, json};
use std::{fs, path::Path};

/// What a case has caused.
pub struct Traces<'a> {
    pub root: &'a Path,
    pub requests: Vec<ReceivedRequest>,
    pub frames: Vec<Value>,
    pub response: Value,
    /// Exit status, stdout and stderr of a process that has ended.
    pub end: Option<(Option<i32>, String, String)>,
}

impl Traces<'_> {
    /// The value of everything that is to be seen, by its name; of one thing alone, the value itself.
    pub fn see(&self, names: &[String]) -> Value {
        let mut seen = names.iter().map(|name| (name.clone(), self.clean(self.value(name))));
        match names {
            [_] => seen.next().map(|(_, value)| value).unwrap_or_default(),
            _ => Value::Object(seen.collect::<Map<_, _>>()),
        }
    }

    fn value(&self, name: &str) -> Value {
        let body = self.requests.last().map_or(&Value::Null, |request| &request.body);
        let (kind, rest) = name.split_once(':').unwrap_or((name, ""));
        match kind {
            "sent" => last_text(body),
            "marks" => marks(&texts(&body["system"])),
            "tools" => {
                let tools = body["tools"].as_array().into_iter().flatten();
                tools.map(|tool| tool["name"].clone()).collect()
            }
            "says" => json!(texts(&body["system"]).contains(rest)),
            "body" => body.pointer(rest).cloned().unwrap_or_default(),
            "header" => {
                let last = self.requests.last();
                last.and_then(|request| request.header(rest)).map_or(Value::Null, |value| value.into())
            }
            "requests" => json!(self.requests.len()),
            "success" => self.response["success"].clone(),
            "error" => self.response["error"].clone(),
            "data" => self.response["data"].pointer(rest).cloned().unwrap_or_default(),
            "names" | "all-names" => {
                // The `name` of each item of a list, sorted, without the built-in extensions of pi.
                let is_built_in = |name: &str| kind == "names" && ["llama", "mcp"].contains(&name);
                let list = self.response["data"].pointer(rest).and_then(Value::as_array);
                let mut names: Vec<&str> = list
                    .into_iter()
                    .flatten()
                    .filter_map(|item| item["name"].as_str().or(item["id"].as_str()))
                    .collect();
                names.retain(|name| !is_built_in(name));
                names.sort_unstable();
                json!(names)
            }
            "result" => self.result(),
            "sorted" => {
                // The same, with its lines in order: that of pi's helpers changes from run to run.
                let mut result = self.result();
                let mut lines: Vec<&str> = result["text"].as_str().unwrap_or_default().lines().collect();
                lines.sort_unstable();
                result["text"] = json!(lines.join("\n"));
                result
            }
            "frame" => {
                // TYPE/pointer of the last frame of this type.
                let (ty, pointer) = rest.split_once('/').unwrap_or((rest, ""));
                let pointer = if pointer.is_empty() { String::new() } else { format!("/{pointer}") };
                let found = self.frames.iter().rev().find(|frame| frame["type"] == ty);
                found.and_then(|frame| frame.pointer(&pointer)).cloned().unwrap_or_default()
            }
            "count" => json!(self.frames.iter().filter(|frame| frame["type"] == rest).count()),
            "notices" => {
                let notices = self.frames.iter().filter(|frame| frame["method"] == "notify");
                notices.map(|frame| frame["message"].clone()).collect()
            }
            "file" => match fs::read(self.root.join(rest)) {
                Ok(bytes) => json!(String::from_utf8_lossy(&bytes)),
                Err(_) => Value::Null,
            },
            "status" => self.end.as_ref().map_or(Value::Null, |(status, ..)| json!(status)),
            "stdout" => self.end.as_ref().map_or(Value::Null, |(_, stdout, _)| json!(stdout)),
            "lines" => self.end.as_ref().map_or(Value::Null, |(_, stdout, _)| json!(stdout.lines().count())),
            // The types of the frames on stdout.
            "types" => self.end.as_ref().map_or(Value::Null, |(_, stdout, _)| {
                let frames = stdout.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
                json!(frames.map(|frame| frame["type"].clone()).collect::<Vec<_>>())
            }),
            "stderr-count" => {
                self.end.as_ref().map_or(Value::Null, |(.., stderr)| json!(stderr.matches(rest).count()))
            }
            "stderr" => self.end.as_ref().map_or(Value::Null, |(.., stderr)| json!(stderr.contains(rest))),
            other => panic!("{other:?}: nothing like that is observed"),
        }
    }

    /// The result of the last tool call.
    fn result(&self) -> Value {
        let Some(end) = self.frames.iter().rev().find(|frame| frame["type"] == "tool_execution_end") else {
            return Value::Null;
        };
        let content = end["result"]["content"].as_array();
        let text: Vec<&str> =
            content.into_iter().flatten().filter_map(|block| block["text"].as_str()).collect();
        let images = content.into_iter().flatten().filter(|block| block["type"] == "image").count();
        let mut result = json!({ "text": text.join("\n"), "isError": end["isError"] });
        if images > 0 {
            result["images"] = json!(images);
        }
        let details = &end["result"]["details"];
        if details.as_object().is_some_and(|details| !details.is_empty()) {
            result["details"] = details.clone();
        }
        result
    }

    /// Replaces what differs from run to run.
    fn clean(&self, value: Value) -> Value {
        match value {
            Value::String(text) => Value::String(self.clean_text(&text)),
            Value::Array(list) => list.into_iter().map(|item| self.clean(item)).collect(),
            Value::Object(members) => {
                members.into_iter().map(|(name, value)| (name, self.clean(value))).collect()
            }
            other => other,
        }
    }

    fn clean_text(&self, text: &str) -> String {
        let text = text.replace(&self.root.display().to_string(), "~");
        let patterns = [
            (r"pi-bash-[0-9a-zA-Z-]+\.log", "pi-bash-….log"),
            (r"\d{4}-\d\d-\d\dT[\d:.-]+Z", "TIME"),
            (r"--tmp-\.tmp\w+-project--", "--PROJECT--"),
            (r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}", "UUID"),
            (r"127\.0\.0\.1:\d+", "VENDOR"),
        ];
        let text = patterns.iter().fold(text, |text, (pattern, with)| {
            Regex::new(pattern).expect(pattern).replace_all(&text, *with).into_owned()
        });
        // The beginning and the end of a long text stand for it.
        let count = text.chars().count();
        if count <= 600 {
            return text;
        }
        let part = |from: usize, length: usize| text.chars().skip(from).take(length).collect::<String>();
        format!("{}… {count} characters …{}", part(0, 200), part(count - 200, 200))
    }
}

/// All text of a value: itself, or of the blocks in a list.
fn texts(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Array(list) => {
            list.iter().filter_map(|block| block["text"].as_str()).collect::<Vec<_>>().join("\n")
        }
        _ => String::new(),
    }
}

/// The text of the last message.
fn last_text(body: &Value) -> Value {
    let last = body["messages"].as_array().and_then(|messages| messages.last());
    last.map_or(Value::Null, |message| json!(texts(&message["content"])))
}

/// The words that begin with `MARK-`, in order: cases write them into files that the model may get.
fn marks(text: &str) -> Value {
    let mark = Regex::new(r"MARK-[A-Za-z0-9-]+").expect("a pattern");
    mark.find_iter(text).map(|found| json!(found.as_str())).collect()
}
