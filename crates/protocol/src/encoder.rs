//! What is said, to bytes. A partial message is never serialised again: its bytes are kept, the escaped delta is
//! appended, and the snapshot that the dialect wants is spliced together.

use super::{
    AgentMessage, AgentSessionEvent, AssistantContent, AssistantMessage, AssistantMessageEvent, BlockKind,
    Cost, Dialect, DialectMessageUpdate, Emission, MessageUpdateEvent, Outbound, Step, StopReason,
    TextDeltaUpdate, TextEndUpdate, TextStartUpdate, ThinkingDeltaUpdate, ThinkingEndUpdate,
    ThinkingStartUpdate, ToolcallDeltaUpdate, ToolcallEndUpdate, ToolcallStartUpdate, Update, Usage,
    encoded_partial::{EncodedPartial, MARK, bytes, find, write, write_inner},
};
use std::io::IoSlice;

/// Encodes what one server says, in order. Where updates repeat the whole message, it keeps a copy of the one that is
/// partial.
#[derive(Debug)]
pub struct Encoder {
    /// An empty message, whose bytes mark where the snapshots go; `None`: updates carry only what was added.
    mark: Option<Mark>,
    partial: Option<EncodedPartial>,
    /// Tokens and cost of the message that is partial.
    usage: Option<Usage>,
}

#[derive(Debug)]
struct Mark {
    message: AssistantMessage,
    bytes: Vec<u8>,
    /// How the last delta's frame looked: most are followed by one of the same block.
    delta: Option<Frame>,
}

/// The frame of an update without the message that it repeats; of a delta, without what it says, too.
#[derive(Debug)]
struct Frame {
    index: usize,
    block: BlockKind,
    /// Bytes, and what follows them.
    parts: Vec<(Vec<u8>, Part)>,
}

#[derive(Clone, Copy, Debug)]
enum Part {
    /// The text of the delta.
    Text,
    /// The message so far.
    Message,
    /// Nothing more.
    End,
}

impl Encoder {
    /// An encoder for a server of `dialect`.
    pub fn new(dialect: Dialect) -> Self {
        let mark = match dialect.record().message_update {
            DialectMessageUpdate::Snapshot => {
                let message = empty_message();
                Some(Mark { bytes: bytes(&message), message, delta: None })
            }
            DialectMessageUpdate::Delta => None,
        };
        Self { mark, partial: None, usage: None }
    }

    /// Appends a whole frame and its line feed to `out`. Needs no memory of what was said before.
    pub fn encode_frame(frame: &Outbound, out: &mut Vec<u8>) {
        write(frame, out);
        out.push(b'\n');
    }

    /// Appends what is said and its line feed to `out`.
    ///
    /// An update without an open message is left out; the machine reports it.
    pub fn encode(&mut self, emission: &Emission, out: &mut Vec<u8>) {
        self.encode_below(usize::MAX, emission, out, &mut Vec::new());
    }

    /// The same, but a long message that grows is not copied: `holes` are the places in `out` where it belongs, and
    /// [`filled`](Self::filled) puts it there. Nothing more may be encoded before that is written.
    pub fn encode_around(&mut self, emission: &Emission, out: &mut Vec<u8>, holes: &mut Vec<usize>) {
        self.encode_below(COPIED, emission, out, holes);
    }

    /// `bytes` with the message so far in its `holes`.
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
                    write(&MessageUpdateEvent { usage, assistant_message_event, message: None }, out);
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

    /// Sees a frame that was encoded elsewhere: the edges of an assistant message matter here.
    pub fn follow(&mut self, emission: &Emission) {
        match emission {
            Emission::Frame(Outbound::AgentSessionEvent(AgentSessionEvent::MessageStart(start))) => {
                if let AgentMessage::Assistant(message) = &start.message {
                    self.partial = self.mark.is_some().then(|| EncodedPartial::new(message));
                    self.usage = Some(message.usage.clone());
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

/// Bytes of a message that are copied rather than written from where they are: for less it does not pay.
const COPIED: usize = 16 * 1024;

impl Mark {
    /// The frame of a delta of that block.
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

/// The update as the wire has it, with `partial` for the message so far. Without one it says what that would show.
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
