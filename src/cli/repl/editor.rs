//! The line editor: history, completion, and the machine's state in the prompt.

use super::{SharedConversation, completion, printer::EditorGate};
use anstyle::{AnsiColor, Style};
use pi_rpc_files::private_files;
use rustyline::{
    ColorMode, CompletionType, Config, Context, Editor, ExternalPrinter, Helper, Result,
    completion::{Completer, Pair},
    error::ReadlineError,
    highlight::Highlighter,
    hint::Hinter,
    history::FileHistory,
    validate::{ValidationContext, ValidationResult, Validator},
};
use std::{borrow::Cow, env, path::PathBuf, sync::Arc};

/// Reads lines from a terminal.
pub struct LineEditor {
    editor: Editor<PromptHelper, FileHistory>,
    history: Option<PathBuf>,
}

/// Columns of the state in the prompt.
const STATE_WIDTH: usize = 20;
/// The most lines of the history.
const MAX_HISTORY: usize = 1000;
const STATE: Style = AnsiColor::Cyan.on_default();
const DIM: Style = Style::new().dimmed();

impl LineEditor {
    /// An editor for the terminal.
    ///
    /// # Errors
    ///
    /// The terminal cannot be used.
    pub fn open(conversation: SharedConversation, gate: Arc<EditorGate>, has_colours: bool) -> Result<Self> {
        let config = Config::builder()
            .max_history_size(MAX_HISTORY)?
            .history_ignore_space(true)
            .completion_type(CompletionType::List)
            .completion_show_all_if_ambiguous(true)
            // Without it the prompt would stay as it is; the helper leaves colours out itself.
            .color_mode(ColorMode::Forced)
            .build();
        let mut editor = Editor::with_config(config)?;
        editor.set_helper(Some(PromptHelper { conversation, gate, has_colours }));
        let history = history_file();
        if let Some(file) = &history {
            // There may be none yet.
            let _ = editor.load_history(file);
        }
        Ok(Self { editor, history })
    }

    /// What prints above the line that is typed.
    ///
    /// # Errors
    ///
    /// The terminal cannot move its cursor.
    pub fn printer(&mut self) -> Result<Box<dyn ExternalPrinter + Send>> {
        Ok(Box::new(self.editor.create_external_printer()?))
    }

    /// Reads a line, and keeps it in the history; `None` at the end of input.
    ///
    /// # Errors
    ///
    /// Those of the terminal.
    pub fn read_line(&mut self) -> Result<Option<String>> {
        let prompt = format!("{:STATE_WIDTH$}> ", "");
        match self.editor.readline(&prompt) {
            Ok(line) => {
                self.keep(&line);
                Ok(Some(line))
            }
            Err(ReadlineError::Interrupted) => Ok(Some(String::new())),
            Err(ReadlineError::Eof) => Ok(None),
            Err(error) => Err(error),
        }
    }

    fn keep(&mut self, line: &str) {
        let is_new = self.editor.add_history_entry(line).unwrap_or_default();
        if let Some(file) = self.history.as_ref().filter(|_| is_new) {
            let folder = file.parent().map_or(Ok(()), private_files::create_folder);
            // Without a file the history lasts as long as the program.
            let _ = folder.map(|()| self.editor.append_history(file));
        }
    }
}

/// The file of the history, which only its user may read: below `XDG_STATE_HOME`, else `~/.local/state`.
fn history_file() -> Option<PathBuf> {
    let state = env::var_os("XDG_STATE_HOME").filter(|folder| !folder.is_empty()).map(PathBuf::from);
    let state = state.or_else(|| Some(env::home_dir()?.join(".local/state")))?;
    Some(state.join("pi-rpc/repl_history"))
}

/// What the editor needs to know of the conversation.
struct PromptHelper {
    conversation: SharedConversation,
    gate: Arc<EditorGate>,
    has_colours: bool,
}

impl PromptHelper {
    fn styled(&self, style: Style, text: &str) -> String {
        if self.has_colours { format!("{style}{text}{style:#}") } else { text.to_owned() }
    }
}

impl Helper for PromptHelper {}

impl Highlighter for PromptHelper {
    /// The prompt with the current state, as wide as the one that was measured.
    fn highlight_prompt<'b, 's: 'b, 'p: 'b>(&'s self, prompt: &'p str, default: bool) -> Cow<'b, str> {
        if !default {
            return Cow::Borrowed(prompt);
        }
        let state = self.conversation.lock().state();
        let first = state.char_indices().rev().nth(STATE_WIDTH - 1).map_or(0, |(at, _)| at);
        self.gate.painted();
        Cow::Owned(self.styled(STATE, &format!("{:>STATE_WIDTH$}", &state[first..])) + "> ")
    }

    fn highlight_hint<'h>(&self, hint: &'h str) -> Cow<'h, str> {
        Cow::Owned(self.styled(DIM, hint))
    }
}

impl Completer for PromptHelper {
    type Candidate = Pair;

    fn complete(&self, line: &str, pos: usize, _: &Context<'_>) -> Result<(usize, Vec<Pair>)> {
        let conversation = self.conversation.lock();
        let typed = line.get(..pos).unwrap_or(line);
        let (begin, candidates) =
            completion::complete(typed, conversation.catalogue(), |name| conversation.refuses(name));
        let pairs = candidates.into_iter().map(|it| Pair { display: it.shown, replacement: it.text });
        Ok((begin, pairs.collect()))
    }
}

impl Hinter for PromptHelper {
    type Hint = String;

    fn hint(&self, line: &str, pos: usize, _: &Context<'_>) -> Option<String> {
        completion::hint(line, self.conversation.lock().catalogue()).filter(|_| pos == line.len())
    }
}

impl Validator for PromptHelper {
    fn validate(&self, _: &mut ValidationContext<'_>) -> Result<ValidationResult> {
        self.gate.left();
        Ok(ValidationResult::Valid(None))
    }
}
