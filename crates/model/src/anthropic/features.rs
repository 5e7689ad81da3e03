//! Features in which servers of this API differ.
//!
//! Source: pi 1.6.0 (`compat`).

use crate::compat::CompatObject;
use pi_rpc_protocol::Model;

/// The features of a server, from the model's `compat`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Features {
    /// `supportsEagerToolInputStreaming`: tools may ask for their arguments as they arise; other servers get a beta header.
    pub eager_tool_input: bool,
    /// `supportsCacheControlOnTools`: the last tool may end a cached part.
    pub marks_tools: bool,
    /// `supportsLongCacheRetention`: keeps the conversation for an hour on request.
    pub long_cache: bool,
    /// `allowEmptySignature`: takes thinking without a signature as thinking.
    pub empty_signature: bool,
    /// `supportsMidConvoEffort`: takes efforts in the messages of the conversation.
    pub effort_messages: bool,
    /// `supportsMidConvoSystemMessages`: takes changes of the instructions in the conversation.
    pub system_messages: bool,
    /// `supportsMidConvoToolChanges`: takes changes of the tools there.
    pub tool_changes: bool,
    /// `supportsMessageThreads`: keeps a conversation, so that a request has only what is new.
    pub threads: bool,
}

impl Features {
    /// Reads the features of `model`'s server.
    pub fn of(model: &Model) -> Self {
        let compat = CompatObject::of(model);
        Self {
            eager_tool_input: compat.flag("supportsEagerToolInputStreaming"),
            marks_tools: compat.flag("supportsCacheControlOnTools"),
            long_cache: compat.flag("supportsLongCacheRetention"),
            empty_signature: compat.flag("allowEmptySignature"),
            effort_messages: compat.flag("supportsMidConvoEffort"),
            system_messages: compat.flag("supportsMidConvoSystemMessages"),
            tool_changes: compat.flag("supportsMidConvoToolChanges"),
            threads: compat.flag("supportsMessageThreads"),
        }
    }
}
