//! An extension that uses every UI request, for trying out a host and as a start for an
//! extension of your own. An extension is a program that reads and writes JSON Lines.
//!
//! ```sh
//! cargo build --example ui_check
//! pi-rpc serve -e target/debug/examples/ui_check
//! ```
//!
//! | What | Does |
//! |---|---|
//! | `/dlg KIND [MILLISECONDS]` | opens a `select`, `confirm`, `input` or `editor` dialog, and shows the response |
//! | `/fire` | sends every notice |
//! | `/boom` | fails |
//! | `/usermsg` | sends a user message |
//! | `/bye` | shuts the server down |
//! | the tool `asker` | asks the user before it answers |
//! | a bash command with the word `forbidden` | is blocked |

use pi_rpc::protocol::{
    AgentToolResult, ConfirmRequest, EditorRequest, ExtensionCommand, ExtensionCommandCall, ExtensionDone,
    ExtensionFailed, ExtensionHook, ExtensionRegister, ExtensionSendUserMessage, ExtensionShutdown,
    ExtensionTool, ExtensionToolCall, ExtensionToolResult, ExtensionUICall, FromExtension, HookEvent,
    HookName, HookResult, InputRequest, JsonObject, MessageContent, NotifyRequest, NotifyType,
    RpcExtensionUIRequest, RpcExtensionUIResponse, SelectRequest, SetEditorTextRequest, SetStatusRequest,
    SetTitleRequest, SetWidgetRequest, TextContent, ToExtension, UserContent, WidgetPlacement,
};
use serde_json::{Value, json};
use std::{
    collections::BTreeMap,
    io::{self, BufRead as _, Write as _},
};

fn main() -> io::Result<()> {
    let mut check = Check::default();
    for line in io::stdin().lock().lines() {
        match serde_json::from_str(&line?) {
            Ok(frame) => check.hears(frame)?,
            // Later versions may have more frames. The last lines of stderr are reported if the process fails.
            Err(error) => eprintln!("not understood: {error}"),
        }
    }
    Ok(())
}

/// The extension: it answers frames as they come and waits for none, so several requests can be open at once.
#[derive(Default)]
struct Check {
    /// Open dialogs, by id.
    dialogs: BTreeMap<String, Asker>,
    asked: u64,
}

/// Purpose of a dialog.
enum Asker {
    /// The command with this id, which shows the response.
    Command { id: String, kind: String },
    /// The call of the tool with this id.
    Tool { id: String },
}

impl Check {
    fn hears(&mut self, frame: ToExtension) -> io::Result<()> {
        match frame {
            ToExtension::Hello(_) => says(adds()),
            ToExtension::Command(call) => self.command(call),
            ToExtension::ToolCall(call) => self.tool(call),
            ToExtension::Hook(hook) => says(guard(hook)),
            ToExtension::UiAnswer(answer) => self.answered(&answer.response),
            // Only a cancel remains: the dialog of that call is then answered by the server, which ends the call.
            _ => Ok(()),
        }
    }

    fn command(&mut self, call: ExtensionCommandCall) -> io::Result<()> {
        let ExtensionCommandCall { id, name, arguments, .. } = call;
        match name.as_str() {
            "dlg" => return self.dialog(id, &arguments),
            "fire" => notices(&id)?,
            "usermsg" => says(ExtensionSendUserMessage {
                id: None,
                origin: Some(id.clone()),
                content: MessageContent::Text("from the extension".to_owned()),
                deliver_as: None,
            })?,
            "bye" => says(ExtensionShutdown { id: None, origin: Some(id.clone()) })?,
            _ => return says(ExtensionFailed { id, error: format!("{name} happened") }),
        }
        says(ExtensionDone { id, result: None })
    }

    fn dialog(&mut self, id: String, arguments: &str) -> io::Result<()> {
        let mut words = arguments.split_whitespace();
        let kind = words.next().unwrap_or_default().to_owned();
        let timeout = words.next().and_then(|word| word.parse().ok());
        let (own, asker) = (self.own_id(), Asker::Command { id: id.clone(), kind: kind.clone() });
        let request: RpcExtensionUIRequest = match kind.as_str() {
            "select" => {
                let options = ["alpha", "beta"].map(str::to_owned).to_vec();
                SelectRequest {
                    id: own,
                    title: "Pick one".to_owned(),
                    options,
                    option_details: None,
                    timeout,
                }
                .into()
            }
            "confirm" => {
                let (title, message) = ("Sure?".to_owned(), "Really do it?".to_owned());
                ConfirmRequest { id: own, title, message, timeout }.into()
            }
            "input" => {
                let (title, placeholder) = ("Name?".to_owned(), Some("type here".to_owned()));
                InputRequest { id: own, title, placeholder, timeout }.into()
            }
            "editor" => {
                let (title, prefill) = ("Edit".to_owned(), Some("line1\nline2".to_owned()));
                EditorRequest { id: own, title, prefill, prompt_style: None }.into()
            }
            _ => return says(ExtensionFailed { id, error: format!("There is no dialog {kind:?}") }),
        };
        self.asks(&id, request, asker)
    }

    fn tool(&mut self, call: ExtensionToolCall) -> io::Result<()> {
        let message = call.arguments.get("q").and_then(Value::as_str).unwrap_or_default().to_owned();
        let (id, title) = (self.own_id(), "Tool asks".to_owned());
        let request = ConfirmRequest { id, title, message, timeout: None }.into();
        let asker = Asker::Tool { id: call.id.clone() };
        self.asks(&call.id, request, asker)
    }

    fn asks(&mut self, origin: &str, request: RpcExtensionUIRequest, asker: Asker) -> io::Result<()> {
        self.dialogs.insert(request.id().to_owned(), asker);
        says(ExtensionUICall { origin: Some(origin.to_owned()), request })
    }

    fn answered(&mut self, answer: &RpcExtensionUIResponse) -> io::Result<()> {
        match self.dialogs.remove(answer.id()) {
            Some(Asker::Command { id, kind }) => {
                let value = match answer {
                    RpcExtensionUIResponse::UIValueResponse(it) => json!(it.value).to_string(),
                    RpcExtensionUIResponse::UIConfirmedResponse(it) => it.confirmed.to_string(),
                    RpcExtensionUIResponse::UICancelledResponse(_) if kind == "confirm" => "false".to_owned(),
                    RpcExtensionUIResponse::UICancelledResponse(_) => "undefined".to_owned(),
                };
                notice(&id, notify(&format!("{kind}={value}"), Some(NotifyType::Info)))?;
                says(ExtensionDone { id, result: None })
            }
            Some(Asker::Tool { id }) => {
                let agreed =
                    matches!(answer, RpcExtensionUIResponse::UIConfirmedResponse(it) if it.confirmed);
                let text = TextContent { text: format!("user said {agreed}"), text_signature: None };
                let result = AgentToolResult {
                    content: vec![UserContent::Text(text)],
                    details: Some(json!({ "ok": agreed })),
                    is_warning: None,
                    structured_content: None,
                    is_error: None,
                    usage: None,
                    terminate: None,
                };
                says(ExtensionToolResult { id, result, is_error: None })
            }
            None => Ok(()),
        }
    }

    fn own_id(&mut self) -> String {
        self.asked += 1;
        self.asked.to_string()
    }
}

/// The `register` frame, which answers `hello`.
fn adds() -> ExtensionRegister {
    let command = |(name, description): (&str, &str)| ExtensionCommand {
        name: name.to_owned(),
        description: Some(description.to_owned()),
        path: None,
    };
    let commands = [
        ("dlg", "Opens a dialog: select, confirm, input or editor"),
        ("fire", "Everything that wants no answer"),
        ("boom", "Fails"),
        ("usermsg", "Says something for the user"),
        ("bye", "Asks the server to end"),
    ];
    let question = json!({ "q": { "type": "string", "description": "What to ask" } });
    let tool = ExtensionTool {
        name: "asker".to_owned(),
        label: Some("Asker".to_owned()),
        description: "Asks the user.".to_owned(),
        parameters: JsonObject::from_iter([
            ("type".to_owned(), json!("object")),
            ("properties".to_owned(), question),
            ("required".to_owned(), json!(["q"])),
        ]),
        path: None,
        prompt_snippet: None,
        prompt_guidelines: None,
        sequential: None,
        inactive: None,
        exposure: None,
        output_schema: None,
        runs_scripts: None,
    };
    ExtensionRegister {
        commands: Some(commands.map(command).to_vec()),
        tools: Some(vec![tool]),
        hooks: Some(vec![HookName::ToolCall]),
        ..ExtensionRegister::default()
    }
}

/// Whether a tool may run.
fn guard(hook: ExtensionHook) -> ExtensionDone {
    let blocks = match &hook.hook {
        HookEvent::ToolCall(call) => {
            let command = call.input.get("command").and_then(Value::as_str);
            call.tool_name == "bash" && command.is_some_and(|command| command.contains("forbidden"))
        }
        _ => false,
    };
    let result = blocks.then(|| HookResult {
        block: Some(true),
        reason: Some("blocked by ui_check".to_owned()),
        ..HookResult::default()
    });
    ExtensionDone { id: hook.id, result }
}

/// Sends every notice for the request `origin`. The ids of notices are not used.
fn notices(origin: &str) -> io::Result<()> {
    let status = |text: Option<&str>| SetStatusRequest {
        id: String::new(),
        status_key: "k".to_owned(),
        status_text: text.map(str::to_owned),
    };
    let widget = |lines: Option<&[&str]>, widget_placement| SetWidgetRequest {
        id: String::new(),
        widget_key: "wid".to_owned(),
        widget_lines: lines.map(|lines| lines.iter().map(|line| (*line).to_owned()).collect()),
        widget_placement,
    };
    notice(origin, notify("plain", None))?;
    notice(origin, notify("w", Some(NotifyType::Warning)))?;
    notice(origin, notify("e", Some(NotifyType::Error)))?;
    notice(origin, status(Some("busy")))?;
    notice(origin, status(None))?;
    notice(origin, widget(Some(&["l1", "l2"]), None))?;
    notice(origin, widget(Some(&["b"]), Some(WidgetPlacement::BelowEditor)))?;
    notice(origin, widget(None, None))?;
    notice(origin, SetTitleRequest { id: String::new(), title: "the title".to_owned() })?;
    notice(origin, SetEditorTextRequest { id: String::new(), text: "draft".to_owned() })
}

fn notify(message: &str, notify_type: Option<NotifyType>) -> NotifyRequest {
    NotifyRequest { id: String::new(), message: message.to_owned(), notify_type }
}

fn notice(origin: &str, request: impl Into<RpcExtensionUIRequest>) -> io::Result<()> {
    says(ExtensionUICall { origin: Some(origin.to_owned()), request: request.into() })
}

/// Writes a frame as a line.
fn says(frame: impl Into<FromExtension>) -> io::Result<()> {
    let mut output = io::stdout().lock();
    serde_json::to_writer(&mut output, &frame.into())?;
    output.write_all(b"\n")?;
    output.flush()
}
