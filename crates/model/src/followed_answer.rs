//! An answer as its events tell it, so that the next request can be compared with what the vendor holds.

use super::{
    convert::ChatBlock,
    types::{BlockStart, StreamEvent},
};
use pi_rpc_protocol::JsonObject;

/// Bytes up to which an answer is held, as the session holds it, too. Behind a longer one the next request is sent whole.
const HELD_BYTES: usize = 1024 * 1024;

/// What has come of an answer.
#[derive(Clone, Debug, Default)]
pub struct FollowedAnswer {
    /// The provider's id of the answer.
    pub id: Option<String>,
    /// The provider's name of the model that answers.
    pub model: Option<String>,
    blocks: Vec<Block>,
    /// Bytes of the texts of the blocks.
    bytes: usize,
}

#[derive(Clone, Debug)]
struct Block {
    start: BlockStart,
    text: String,
    signature: Option<String>,
    arguments: JsonObject,
}

impl FollowedAnswer {
    /// Takes an event into account.
    pub fn follow(&mut self, event: &StreamEvent) {
        match event {
            StreamEvent::ResponseId(id) => self.id = Some(id.clone()),
            StreamEvent::Model(model) => self.model = Some(model.clone()),
            StreamEvent::Start { block, .. } => self.blocks.push(Block {
                start: block.clone(),
                text: String::new(),
                signature: None,
                arguments: JsonObject::new(),
            }),
            StreamEvent::Delta { index, delta } => {
                self.bytes = self.bytes.saturating_add(delta.len());
                if self.is_too_long() {
                    self.blocks = Vec::new();
                } else if let Some(block) = self.blocks.get_mut(*index) {
                    block.text.push_str(delta);
                }
            }
            StreamEvent::End { index, signature: Some(signature) }
            | StreamEvent::Signature { index, signature } => {
                if let Some(block) = self.blocks.get_mut(*index) {
                    block.signature = Some(signature.clone());
                }
            }
            _ => {}
        }
    }

    const fn is_too_long(&self) -> bool {
        self.bytes > HELD_BYTES
    }

    /// The blocks as a later request has them; `None`: it may have them in another form, or they are too long to be held.
    pub fn blocks(&mut self) -> Option<Vec<ChatBlock<'_>>> {
        if self.is_too_long() {
            return None;
        }
        for block in &mut self.blocks {
            if matches!(block.start, BlockStart::ToolCall { .. }) && !block.text.trim().is_empty() {
                block.arguments = serde_json::from_str(&block.text).ok()?;
            }
        }
        Some(self.blocks.iter().filter_map(Block::as_sent).collect())
    }
}

impl Block {
    /// The block as the same model gets it back; `None`: it is left out.
    fn as_sent(&self) -> Option<ChatBlock<'_>> {
        let signature = self.signature.as_deref().filter(|signature| !signature.is_empty());
        Some(match &self.start {
            BlockStart::Text => ChatBlock::Text { text: &self.text, signature },
            BlockStart::Thinking if signature.is_none() && self.text.trim().is_empty() => return None,
            BlockStart::Thinking => ChatBlock::Thinking { text: &self.text, signature },
            BlockStart::Redacted { data } => ChatBlock::Redacted { data },
            BlockStart::ToolCall { id, name } => {
                ChatBlock::Call { id: id.into(), name, arguments: &self.arguments, signature }
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_are_those_of_next_request() {
        let mut answer = FollowedAnswer::default();
        let call = BlockStart::ToolCall { id: "c".to_owned(), name: "ls".to_owned() };
        for (index, (block, delta, signature)) in [
            (BlockStart::Thinking, "", None),
            (BlockStart::Text, "So.", Some("s")),
            (call, "{\"a\":1}", None),
        ]
        .into_iter()
        .enumerate()
        {
            answer.follow(&StreamEvent::Start { index, block });
            answer.follow(&StreamEvent::Delta { index, delta: delta.to_owned() });
            answer.follow(&StreamEvent::End { index, signature: signature.map(str::to_owned) });
        }
        let arguments = serde_json::from_str("{\"a\":1}").expect("an object");
        let blocks = answer.clone().blocks().map(|blocks| format!("{blocks:?}"));
        let expected = vec![
            ChatBlock::Text { text: "So.", signature: Some("s") },
            ChatBlock::Call { id: "c".into(), name: "ls", arguments: &arguments, signature: None },
        ];
        assert_eq!(blocks, Some(format!("{expected:?}")));
        answer.follow(&StreamEvent::Delta { index: 2, delta: "}".to_owned() });
        assert_eq!(answer.blocks(), None);
    }

    #[test]
    fn long_answer_is_not_held() {
        let mut answer = FollowedAnswer::default();
        answer.follow(&StreamEvent::Start { index: 0, block: BlockStart::Text });
        answer.follow(&StreamEvent::Delta { index: 0, delta: "x".repeat(HELD_BYTES) });
        assert_eq!(answer.blocks().map(|blocks| blocks.len()), Some(1));
        answer.follow(&StreamEvent::Delta { index: 0, delta: "x".to_owned() });
        assert!(answer.blocks.is_empty());
        assert_eq!(answer.blocks(), None);
    }
}
