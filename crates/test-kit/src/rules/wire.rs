//! Model of the encoded lines: every line is a frame of the dialect, snapshots equal the sum of their deltas, and a
//! reader of coalesced deltas has the same result.

use crate::{Checked, ensure};
use pi_rpc_protocol::{
    AgentMessage, AgentSessionEvent, AssistantMessage, BlockKind, Dialect, DialectMessageUpdate, Emission,
    Encoder, Outbound, Step, StopReason, Update, parse_arguments, parse_partial, read,
};
use serde_json::Value;

/// Two readers of the output of a server: of all lines, and of lines with coalesced deltas.
pub struct Wire {
    dialect: Dialect,
    plain: Reader,
    joined: Reader,
    /// Last delta, which may still be coalesced.
    held: Option<Emission>,
    /// Whether all deltas are coalesced, or every other one.
    all: bool,
    count: usize,
}

struct Reader {
    encoder: Encoder,
    /// Whether whole frames are skipped, as the other reader reads them.
    updates_only: bool,
    /// Kind of each block of the partial message, the sum of its deltas, and whether it has ended.
    blocks: Vec<(BlockKind, String, bool)>,
    snapshot: Value,
}

impl Wire {
    pub fn new(dialect: Dialect, all: bool) -> Self {
        let reader = |updates_only| Reader {
            encoder: Encoder::new(dialect),
            updates_only,
            blocks: Vec::new(),
            snapshot: Value::Null,
        };
        let (plain, joined) = (reader(false), reader(true));
        Self { dialect, plain, joined, held: None, all, count: 0 }
    }

    pub fn said(&mut self, said: &Emission) -> Checked {
        self.plain.read(said, self.dialect)?;
        self.count += 1;
        let mut next = Some(said.clone());
        if self.all || self.count.is_multiple_of(2) {
            next = match (&mut self.held, next) {
                (Some(held), Some(next)) => held.join(next),
                (None, next) => next,
                (_, None) => None,
            };
        }
        let Some(next) = next else { return Ok(()) };
        if let Some(before) = self.held.replace(next) {
            self.joined.read(&before, self.dialect)?;
        }
        if let Some(message) = finished(said) {
            // The end of a message is never coalesced, so the other reader catches up here.
            if let Some(end) = self.held.take() {
                self.joined.read(&end, self.dialect)?;
            }
            ensure!(self.plain.snapshot == self.joined.snapshot, "joined deltas grew to another message");
            self.plain.over(message)?;
            self.joined.over(message)?;
        }
        Ok(())
    }
}

impl Reader {
    fn read(&mut self, said: &Emission, dialect: Dialect) -> Checked {
        let mut line = Vec::new();
        self.encoder.encode(said, &mut line);
        if self.updates_only && matches!(said, Emission::Frame(_)) {
            return Ok(());
        }
        ensure!(line.pop() == Some(b'\n') && !line.contains(&b'\n'), "one frame, one line");
        read::<Outbound>(&line, dialect)
            .map_err(|error| format!("no frame: {error}: {}", String::from_utf8_lossy(&line)))?;
        let Emission::Update(update) = said else { return Ok(()) };
        let mut frame: Value = serde_json::from_slice(&line).map_err(|error| error.to_string())?;
        if dialect.record().message_update == DialectMessageUpdate::Delta {
            let bare =
                frame.get("message").is_none() && frame["assistantMessageEvent"].get("partial").is_none();
            ensure!(bare && frame["usage"].is_object(), "an update tells what was added, and the usage");
            self.grow(update);
            return Ok(());
        }
        let partial = frame["assistantMessageEvent"]["partial"].take();
        self.snapshot = frame["message"].take();
        ensure!(partial == self.snapshot, "`partial` and `message` differ");
        self.grow(update);
        self.compare(&self.snapshot["content"])
    }

    fn grow(&mut self, update: &Update) {
        match &update.step {
            Step::Start(_) => self.blocks.push((update.block, String::new(), false)),
            Step::Delta(delta) => self.blocks[update.index].1.push_str(delta),
            Step::End(_) => self.blocks[update.index].2 = true,
        }
    }

    /// Checks that the snapshot equals the sum of the deltas so far.
    fn compare(&self, content: &Value) -> Checked {
        let blocks = content.as_array().map(Vec::as_slice).unwrap_or_default();
        ensure!(blocks.len() == self.blocks.len(), "{} blocks, not {}", blocks.len(), self.blocks.len());
        for (shown, (kind, text, ended)) in blocks.iter().zip(&self.blocks) {
            let same = match kind {
                BlockKind::Text => shown["text"] == **text,
                BlockKind::Thinking if shown["type"] == "redactedThinking" || shown["redacted"] == true => {
                    text.is_empty()
                }
                BlockKind::Thinking => shown["thinking"] == **text,
                BlockKind::Toolcall if *ended => {
                    shown["arguments"] == Value::Object(parse_arguments(text).unwrap_or_default())
                }
                BlockKind::Toolcall => shown["arguments"] == Value::Object(parse_partial(text)),
            };
            ensure!(same, "the deltas are {text:?}, the snapshot has {shown}");
        }
        Ok(())
    }

    /// Checks that the complete message equals what was read.
    fn over(&mut self, message: &AssistantMessage) -> Checked {
        let mut content = serde_json::to_value(&message.content).map_err(|error| error.to_string())?;
        // Not every dialect has it.
        for blocks in [Some(&mut content), self.snapshot.get_mut("content")].into_iter().flatten() {
            for block in blocks.as_array_mut().into_iter().flatten().filter_map(Value::as_object_mut) {
                block.shift_remove("argumentsError");
            }
        }
        let failed = matches!(message.stop_reason, StopReason::Error | StopReason::Aborted);
        ensure!(
            failed || self.snapshot.is_null() || self.snapshot["content"] == content,
            "the message ended with other content than its last snapshot"
        );
        self.compare(&content)?;
        self.blocks.clear();
        self.snapshot = Value::Null;
        Ok(())
    }
}

fn finished(said: &Emission) -> Option<&AssistantMessage> {
    let Emission::Frame(Outbound::AgentSessionEvent(AgentSessionEvent::MessageEnd(end))) = said else {
        return None;
    };
    match &end.message {
        AgentMessage::Assistant(message) => Some(message),
        _ => None,
    }
}
