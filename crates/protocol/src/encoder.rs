//! Encoder of emissions. A partial message is never serialised again: its bytes are kept, the escaped delta is
//! appended, and the snapshots of the dialect are spliced together from them.

use super::{
    AgentMessage, AgentSessionEvent, AssistantContent, AssistantMessage, AssistantMessageEvent, BlockKind,
    Cost, Dialect, DialectMessageUpdate, Emission, MessageUpdateEvent, Outbound, Step, StopReason,
    TextDeltaUpdate, TextEndUpdate, TextStartUpdate, ThinkingDeltaUpdate, ThinkingEndUpdate,
    ThinkingStartUpdate, ToolcallDeltaUpdate, ToolcallEndUpdate, ToolcallStartUpdate, Update, Usage,
    encoded_partial::{EncodedPartial, MARK, bytes, find, write, write_inner},
};
use std::io::IoSlice;

/// Encodes the emissions of one server, in order. In dialects with snapshots, keeps the bytes of the partial
/// message.
#[derive(Clone, Debug)]
pub struct Encoder {
    /// Template with marks in place of snapshots; `None`: updates have only the delta.
    mark: Option<Mark>,
    partial: Option<EncodedPartial>,
    /// Tokens and cost of the partial message.
    usage: Option<Usage>,
}

#[derive(Clone, Debug)]
struct Mark {
    message: AssistantMessage,
    bytes: Vec<u8>,
    /// Frame of the last delta, reused for the next one of the same block.
    delta: Option<Frame>,
    /// Id of the message, in dialects that have one.
    message_id: Option<String>,
}

/// Encoded frame of an update, without its snapshots; that of a delta without its text, too.
#[derive(Clone, Debug)]
struct Frame {
    index: usize,
    block: BlockKind,
    /// Bytes, each with the part that follows them.
    parts: Vec<(Vec<u8>, Part)>,
}

#[derive(Clone, Copy, Debug)]
enum Part {
    /// The text of the delta.
    Text,
    /// The snapshot.
    Message,
    /// The end of the frame.
    End,
}

impl Encoder {
    /// An encoder for a server of `dialect`.
    pub fn new(dialect: Dialect) -> Self {
        let mark = match dialect.record().message_update {
            DialectMessageUpdate::Snapshot => {
                let message = empty_message();
                Some(Mark { bytes: bytes(&message), message, delta: None, message_id: None })
            }
            DialectMessageUpdate::Delta => None,
        };
        Self { mark, partial: None, usage: None }
    }

    /// Appends a whole frame and its line feed to `out`. Independent of earlier emissions.
    pub fn encode_frame(frame: &Outbound, out: &mut Vec<u8>) {
        write(frame, out);
        out.push(b'\n');
    }

    /// Appends the emission and its line feed to `out`.
    ///
    /// An update without a partial message is dropped; the machine reports it.
    pub fn encode(&mut self, emission: &Emission, out: &mut Vec<u8>) {
        self.encode_below(usize::MAX, emission, out, &mut Vec::new());
    }

    /// Like [`encode`](Self::encode), without copying a long snapshot: `holes` gets its places in `out`, and
    /// [`filled`](Self::filled) inserts it there. The result must be written before the next emission is encoded.
    pub fn encode_around(&mut self, emission: &Emission, out: &mut Vec<u8>, holes: &mut Vec<usize>) {
        self.encode_below(COPIED, emission, out, holes);
    }

    /// `bytes` with the snapshot inserted at `holes`.
    pub fn filled<'a>(&'a self, bytes: &'a [u8], holes: &[usize]) -> Vec<IoSlice<'a>> {
        let mut slices = Vec::new();
        let mut from = 0;
        for &hole in holes {
            slices.push(&bytes[from..hole]);
            slices.extend(self.partial.iter().flat_map(EncodedPartial::parts));
            from = hole;
        }
        slices.push(&bytes[from..]);
        slices.into_iter().filter(|slice| !slice.is_empty()).map(IoSlice::new).collect()
    }

    fn encode_below(
        &mut self,
        copied: usize,
        emission: &Emission,
        out: &mut Vec<u8>,
        holes: &mut Vec<usize>,
    ) {
        match emission {
            Emission::Frame(frame) => {
                self.follow(emission);
                return Self::encode_frame(frame, out);
            }
            Emission::Line { line, .. } => return out.extend_from_slice(line),
            Emission::Update(update) => match &mut self.mark {
                None => {
                    let Some(usage) = &mut self.usage else { return };
                    if let Some(rest) = &update.rest {
                        *usage = rest.usage.clone();
                    }
                    let assistant_message_event = event(update, None);
                    let usage = Some(usage.clone());
                    let message_id = None;
                    write(
                        &MessageUpdateEvent { usage, assistant_message_event, message: None, message_id },
                        out,
                    );
                }
                Some(mark) => {
                    let Some(partial) = &mut self.partial else { return };
                    partial.apply(update);
                    let copies = partial.size() < copied;
                    let once;
                    let (frame, text) = match &update.step {
                        Step::Delta(text) => (mark.delta(update), text.as_str()),
                        _ => {
                            once = mark.frame(update);
                            (&once, "")
                        }
                    };
                    for (bytes, part) in &frame.parts {
                        out.extend_from_slice(bytes);
                        match part {
                            Part::Text => write_inner(text, out),
                            Part::Message if copies => {
                                partial.parts().for_each(|it| out.extend_from_slice(it))
                            }
                            Part::Message => holes.push(out.len()),
                            Part::End => {}
                        }
                    }
                }
            },
        }
        out.push(b'\n');
    }

    /// Tracks the start and the end of assistant messages in a frame that was encoded elsewhere.
    pub fn follow(&mut self, emission: &Emission) {
        match emission {
            Emission::Frame(Outbound::AgentSessionEvent(AgentSessionEvent::MessageStart(start))) => {
                if let AgentMessage::Assistant(message) = &start.message {
                    self.partial = self.mark.is_some().then(|| EncodedPartial::new(message));
                    self.usage = Some(message.usage.clone());
                    if let Some(mark) = &mut self.mark {
                        (mark.delta, mark.message_id) = (None, start.message_id.clone());
                    }
                }
            }
            Emission::Frame(Outbound::AgentSessionEvent(AgentSessionEvent::MessageEnd(_))) => {
                self.partial = None;
                self.usage = None;
            }
            _ => {}
        }
    }
}

/// Size in bytes below which a snapshot is copied, as separate writes cost more than the copy.
const COPIED: usize = 16 * 1024;

impl Mark {
    /// Frame of a delta of the block of `update`.
    fn delta(&mut self, update: &Update) -> &Frame {
        let known = self.delta.take().filter(|it| (it.index, it.block) == (update.index, update.block));
        let marked = || Update { step: Step::Delta(MARK.to_owned()), rest: None, ..*update };
        let delta = known.unwrap_or_else(|| self.frame(&marked()));
        self.delta.insert(delta)
    }

    fn frame(&self, update: &Update) -> Frame {
        let frame = bytes(&MessageUpdateEvent {
            usage: None,
            assistant_message_event: event(update, Some(self.message.clone())),
            message: Some(self.message.clone()),
            message_id: self.message_id.clone(),
        });
        let is_delta = matches!(update.step, Step::Delta(_));
        let mut parts = Vec::new();
        let mut rest = &frame[..];
        loop {
            let message = find(rest, &self.bytes).map(|at| (at, self.bytes.len(), Part::Message));
            let text =
                find(rest, MARK.as_bytes()).filter(|_| is_delta).map(|at| (at, MARK.len(), Part::Text));
            let next = [message, text].into_iter().flatten().min_by_key(|(at, ..)| *at);
            let (at, length, part) = next.unwrap_or((rest.len(), 0, Part::End));
            parts.push((rest[..at].to_vec(), part));
            rest = &rest[at + length..];
            if next.is_none() {
                return Frame { index: update.index, block: update.block, parts };
            }
        }
    }
}

/// Event of the update, with `partial` as its snapshot. Without a snapshot, the event has the data that it would
/// contain.
fn event(update: &Update, partial: Option<AssistantMessage>) -> AssistantMessageEvent {
    let content_index = update.index as u64;
    match (&update.step, update.block) {
        (Step::Start(_), BlockKind::Text) => TextStartUpdate { content_index, partial }.into(),
        (Step::Start(_), BlockKind::Thinking) => ThinkingStartUpdate { content_index, partial }.into(),
        (Step::Start(block), BlockKind::Toolcall) => {
            let call = match block {
                AssistantContent::ToolCall(call) if partial.is_none() => Some(call),
                _ => None,
            };
            let (id, tool_name) = (call.map(|call| call.id.clone()), call.map(|call| call.name.clone()));
            ToolcallStartUpdate { content_index, id, tool_name, partial }.into()
        }
        (Step::Delta(delta), BlockKind::Text) => {
            TextDeltaUpdate { content_index, delta: delta.clone(), partial }.into()
        }
        (Step::Delta(delta), BlockKind::Thinking) => {
            ThinkingDeltaUpdate { content_index, delta: delta.clone(), partial }.into()
        }
        (Step::Delta(delta), BlockKind::Toolcall) => {
            ToolcallDeltaUpdate { content_index, delta: delta.clone(), partial }.into()
        }
        (Step::End(AssistantContent::Text(it)), _) => {
            TextEndUpdate { content_index, content: it.text.clone(), partial }.into()
        }
        (Step::End(AssistantContent::Thinking(it)), _) => {
            ThinkingEndUpdate { content_index, content: it.thinking.clone(), partial }.into()
        }
        (Step::End(AssistantContent::RedactedThinking(_)), _) => {
            ThinkingEndUpdate { content_index, content: String::new(), partial }.into()
        }
        (Step::End(AssistantContent::ToolCall(call)), _) => {
            ToolcallEndUpdate { content_index, tool_call: call.clone(), partial }.into()
        }
    }
}

fn empty_message() -> AssistantMessage {
    let zero = || serde_json::Number::from(0);
    let cost = Cost {
        input: zero(),
        output: zero(),
        cache_read: zero(),
        cache_write: zero(),
        total: zero(),
        total_from_provider: None,
    };
    AssistantMessage {
        content: Vec::new(),
        api: MARK.to_owned(),
        provider: MARK.to_owned(),
        model: MARK.to_owned(),
        usage: Usage {
            input: 0,
            output: 0,
            cache_read: 0,
            cache_write: 0,
            total_tokens: 0,
            premium_requests: None,
            cost,
            cache_write1h: None,
            reasoning: None,
        },
        stop_reason: StopReason::Stop,
        timestamp: 0,
        response_id: None,
        provider_payload: None,
        error_message: None,
        error_status: None,
        error_id: None,
        completed_at: None,
        context_snapshot: None,
        retry_recovery: None,
        duration: None,
        ttft: None,
        response_model: None,
        raw_stop_reason: None,
        provider_thinking_level: None,
        diagnostics: None,
        deferred: None,
        end_turn: None,
        duration_ms: None,
        thinking_level: None,
    }
}
