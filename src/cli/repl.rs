//! `pi-rpc repl`: a conversation with a server, typed at a terminal or read from a pipe.

mod catalogue;
mod completion;
mod conversation;
mod editor;
mod frame_text;
mod input;
mod printer;
mod server;

use super::{HARNESS, USAGE, print, refuse};
use conversation::Conversation;
use editor::LineEditor;
use frame_text::{bad, remark};
use input::{LocalCommand, TypedLine, parse};
use pi_rpc_processes::line_reader::read_line;
use pi_rpc_protocol::{DialectVersion, FRAME_LIMIT};
use printer::{EditorGate, Printer};
use server::{ServerInput, ServerTask};
use std::{
    env,
    ffi::OsString,
    io::{self, IsTerminal as _},
    process::ExitCode,
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
    thread,
    time::Duration,
};
use tokio::{
    process::Command,
    sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel},
};

/// Help of `pi-rpc repl`.
const HELP: &str = "\
Type commands to a server, and see its frames, its state and what the judge finds

Usage: pi-rpc repl [--dialect <D>] -- SERVER CMD
       pi-rpc repl URL [OPTIONS]
       pi-rpc repl [OPTIONS]

  SERVER CMD                   A server and its arguments
  URL [OPTIONS]                A session of a host, as for pi-rpc attach
  OPTIONS                      Options of pi-rpc serve, which is the server then
      --dialect <D>            Judge by this dialect (default: the one that the frames show; with OPTIONS that of serve)
  -h, --help                   Print this text

A line is COMMAND NAME=VALUE ..., or COMMAND TEXT where the command has a text, or a frame as JSON. What is wrong by the schema, or \
what the server would refuse in its state, is not sent but explained; with ! in front it is sent. ? lists the commands, Tab \
completes commands, members and values, Ctrl-D closes the server's input and waits for its end. The history is kept in \
~/.local/state/pi-rpc/repl_history, but for lines that begin with a blank. NO_COLOR turns colours off.

From a pipe, each line waits for the responses to those before it, and the end of input for the end of the run. Exits with the status \
of the server.

Examples:
  pi-rpc repl -- pi --mode rpc
  pi-rpc repl unix:/run/user/1000/pi-rpc.sock
  pi-rpc repl --dialect pi-1 --no-session --model scripted/demo";

/// How long the end of a piped input waits for a run to begin.
const RUN_BEGINS_WITHIN: Duration = Duration::from_secs(2);

/// The conversation, shared by the thread that reads lines and the one with the server.
#[derive(Clone)]
struct SharedConversation(Arc<(Mutex<Conversation>, Condvar)>);

impl SharedConversation {
    fn lock(&self) -> MutexGuard<'_, Conversation> {
        self.0.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn notify(&self) {
        self.0.1.notify_all();
    }

    /// Waits until this holds, or the server has ended.
    fn wait_until(&self, holds: impl Fn(&Conversation) -> bool) {
        let waits = |it: &mut Conversation| it.status().is_none() && !holds(it);
        drop(self.0.1.wait_while(self.lock(), waits));
    }
}

/// The server of a command line.
struct ServerCommand {
    argv: Vec<OsString>,
    dialect: Option<DialectVersion>,
}

/// Runs the words behind `repl`.
pub fn run(words: &[OsString]) -> ExitCode {
    let own = words.iter().take_while(|word| *word != "--");
    if own.clone().any(|word| word == "--help" || word == "-h") {
        return print(HELP);
    }
    let server = match ServerCommand::parse(words) {
        Ok(server) => server,
        Err(text) => return refuse(&text, USAGE),
    };
    match converse(&server) {
        Ok(status) => ExitCode::from(u8::try_from(status).unwrap_or(1)),
        Err(text) => refuse(&text, HARNESS),
    }
}

impl ServerCommand {
    fn parse(words: &[OsString]) -> Result<Self, String> {
        let at = words.iter().position(|word| word == "--");
        let own = &words[..at.unwrap_or(words.len())];
        let mut dialect = env::var("PI_RPC_DIALECT").ok().filter(|name| !name.is_empty());
        let mut others = Vec::new();
        let mut rest = own.iter();
        while let Some(word) = rest.next() {
            match word.to_str().map(|word| (word, word.strip_prefix("--dialect="))) {
                Some(("--dialect", _)) => {
                    let value = rest.next().ok_or("--dialect: expected the name of a dialect")?;
                    dialect = Some(value.to_string_lossy().into_owned());
                }
                Some((_, Some(value))) => dialect = Some(value.to_owned()),
                _ => others.push(word.clone()),
            }
        }
        let told = dialect
            .as_deref()
            .map(|name| DialectVersion::parse(name).ok_or_else(|| super::unknown_version(name)));
        let told = told.transpose()?;
        if let Some(at) = at {
            let argv = words[at + 1..].to_vec();
            if let Some(word) = others.first() {
                return Err(format!("{}: expected only --dialect before --", word.to_string_lossy()));
            }
            return match argv.is_empty() {
                true => Err("expected a server and its arguments behind --".to_owned()),
                false => Ok(Self { argv, dialect: told }),
            };
        }
        let program = env::current_exe().map_err(|error| format!("this program cannot be found: {error}"))?;
        let is_url = |word: &OsString| {
            let text = word.to_string_lossy();
            ["unix:", "ws://", "wss://"].iter().any(|scheme| text.starts_with(scheme))
        };
        let is_attached = others.iter().any(is_url);
        let mode = if is_attached { "attach" } else { "serve" };
        let mut argv = vec![program.into_os_string(), mode.into()];
        argv.extend(dialect.into_iter().flat_map(|dialect| ["--dialect".into(), dialect.into()]));
        argv.extend(others);
        let told = if is_attached { told } else { told.or(Some(super::options::DEFAULT_DIALECT.into())) };
        Ok(Self { argv, dialect: told })
    }
}

/// Starts the server and reads lines until their end or the server's. Returns the server's status.
fn converse(server: &ServerCommand) -> Result<i32, String> {
    let argv: Vec<String> = server.argv.iter().map(|word| word.to_string_lossy().into_owned()).collect();
    let conversation = Conversation::begin(server.dialect, &argv);
    let conversation = SharedConversation(Arc::new((Mutex::new(conversation), Condvar::new())));
    let has_colours =
        io::stdout().is_terminal() && env::var_os("NO_COLOR").is_none_or(|value| value.is_empty());
    let gate = Arc::new(EditorGate::default());
    let mut editor = match io::stdin().is_terminal() && io::stdout().is_terminal() {
        true => LineEditor::open(conversation.clone(), gate.clone(), has_colours).ok(),
        false => None,
    };
    // A terminal that cannot move its cursor is read like a pipe.
    let above = editor.as_mut().and_then(|editor| editor.printer().ok());
    let editor = editor.filter(|_| above.is_some());
    let (printer, printing) = Printer::start(above.map(|above| (above, gate.clone())), has_colours);
    if editor.is_some() {
        printer.print(greeting(server, &argv));
    }
    let (inputs, received) = unbounded_channel();
    let serving = start(server, conversation.clone(), printer.clone(), received)
        .map_err(|error| format!("cannot start {}: {error}", argv[0]))?;
    let lines = Lines { conversation: conversation.clone(), printer, inputs };
    let read = match editor {
        Some(editor) => lines.read_from_editor(editor),
        None => lines.read_from_pipe(),
    };
    gate.close();
    let ended = serving.join();
    let _ = printing.join();
    read.map_err(|error| format!("the terminal: {error}"))?;
    ended.map_err(|_| "the thread of the server has failed".to_owned())?;
    Ok(conversation.lock().status().unwrap_or(1))
}

fn greeting(server: &ServerCommand, argv: &[String]) -> [String; 2] {
    let dialect =
        server.dialect.map_or_else(|| "the dialect that its frames show".to_owned(), |told| told.to_string());
    [
        remark(&format!("{}, judged by {dialect}", argv.join(" "))),
        remark("a command and its members, or JSON; Tab completes, ? lists the commands, Ctrl-D ends"),
    ]
}

/// Starts the server on a thread of its own.
fn start(
    server: &ServerCommand,
    conversation: SharedConversation,
    printer: Printer,
    inputs: UnboundedReceiver<ServerInput>,
) -> io::Result<thread::JoinHandle<()>> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let mut command = Command::new(&server.argv[0]);
    command.args(&server.argv[1..]);
    let task = {
        let _entered = runtime.enter();
        ServerTask::start(command, conversation, printer)?
    };
    Ok(thread::spawn(move || runtime.block_on(task.run(inputs))))
}

/// What reads lines, wherever they come from.
struct Lines {
    conversation: SharedConversation,
    printer: Printer,
    inputs: UnboundedSender<ServerInput>,
}

impl Lines {
    fn read_from_editor(self, mut editor: LineEditor) -> rustyline::Result<()> {
        while let Some(line) = editor.read_line()? {
            if self.conversation.lock().status().is_some() {
                break;
            }
            self.take(&line);
        }
        Ok(())
    }

    fn read_from_pipe(self) -> rustyline::Result<()> {
        let mut stdin = io::stdin().lock();
        while let Some(line) = read_line(&mut stdin, FRAME_LIMIT)? {
            match line {
                Ok(line) => self.take(line.strip_suffix('\r').unwrap_or(&line)),
                Err(error) => self.printer.print([bad(&format!("stdin: {error}"))]),
            }
            self.conversation.wait_until(Conversation::has_responses);
        }
        // A prompt that was accepted may begin a run, or none.
        let (lock, changed) = &*self.conversation.0;
        let conversation = lock.lock().unwrap_or_else(PoisonError::into_inner);
        let is_open = |it: &mut Conversation| it.status().is_none() && it.is_idle().is_none();
        drop(changed.wait_timeout_while(conversation, RUN_BEGINS_WITHIN, is_open));
        self.conversation.wait_until(|it| it.is_idle() != Some(false));
        Ok(())
    }

    fn take(&self, line: &str) {
        let mut conversation = self.conversation.lock();
        let typed = match parse(line, conversation.catalogue()) {
            Ok(typed) => typed,
            Err(text) => return self.say(conversation, [bad(&text)]),
        };
        let (line, is_forced) = match typed {
            TypedLine::Empty => return,
            TypedLine::Command { frame, is_forced } => (conversation.command_line(frame), is_forced),
            TypedLine::Raw { line, is_forced } => (line, is_forced),
            TypedLine::Local(LocalCommand::Help(name)) => {
                let text = conversation.help(name.as_deref());
                return self.say(conversation, text);
            }
            TypedLine::Local(LocalCommand::State) => {
                let text = conversation.session_text();
                return self.say(conversation, text);
            }
            TypedLine::Local(LocalCommand::ShowAll(all)) => return conversation.show_all(all),
            TypedLine::Local(LocalCommand::End) => return self.send(ServerInput::End),
            TypedLine::Local(LocalCommand::Answer(answer)) => match conversation.dialog_line(answer) {
                Ok(line) => (line, true),
                Err(text) => return self.say(conversation, [bad(&text)]),
            },
        };
        match conversation.refusal(&line).filter(|_| !is_forced) {
            Some(reason) => {
                let text = format!("not sent: {reason}; ! in front sends it all the same");
                self.say(conversation, [bad(&text)]);
            }
            None => {
                conversation.expect_response(line.as_bytes());
                drop(conversation);
                self.send(ServerInput::Line(line));
            }
        }
    }

    /// Prints lines once the conversation is free: the printer may wait for it.
    fn say(&self, conversation: MutexGuard<'_, Conversation>, lines: impl IntoIterator<Item = String>) {
        drop(conversation);
        self.printer.print(lines);
    }

    fn send(&self, input: ServerInput) {
        // The server may have ended.
        let _ = self.inputs.send(input);
    }
}
