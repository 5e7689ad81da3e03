//! Names and values of the semantic conventions for generative AI, and our own where these have none.
//!
//! Source: OpenTelemetry, semantic conventions for generative AI, version 0.1.0.

use pi_rpc_model::types::{Finish, TokenCounts};
use pi_rpc_protocol::StopReason;

use crate::span::Attribute;

pub const OPERATION: &str = "gen_ai.operation.name";
pub const PROVIDER: &str = "gen_ai.provider.name";
pub const CONVERSATION: &str = "gen_ai.conversation.id";
pub const REQUEST_MODEL: &str = "gen_ai.request.model";
pub const REQUEST_STREAM: &str = "gen_ai.request.stream";
pub const REASONING_LEVEL: &str = "gen_ai.request.reasoning.level";
pub const RESPONSE_ID: &str = "gen_ai.response.id";
pub const RESPONSE_MODEL: &str = "gen_ai.response.model";
pub const FINISH_REASONS: &str = "gen_ai.response.finish_reasons";
pub const FIRST_CHUNK: &str = "gen_ai.response.time_to_first_chunk";
pub const INPUT_TOKENS: &str = "gen_ai.usage.input_tokens";
pub const OUTPUT_TOKENS: &str = "gen_ai.usage.output_tokens";
pub const CACHE_READ_TOKENS: &str = "gen_ai.usage.cache_read.input_tokens";
pub const CACHE_WRITE_TOKENS: &str = "gen_ai.usage.cache_write.input_tokens";
pub const REASONING_TOKENS: &str = "gen_ai.usage.reasoning.output_tokens";
pub const TOOL_NAME: &str = "gen_ai.tool.name";
pub const TOOL_CALL: &str = "gen_ai.tool.call.id";
pub const SERVER_ADDRESS: &str = "server.address";
pub const SERVER_PORT: &str = "server.port";

pub const SYSTEM_INSTRUCTIONS: &str = "gen_ai.system_instructions";
pub const INPUT_MESSAGES: &str = "gen_ai.input.messages";
pub const OUTPUT_MESSAGES: &str = "gen_ai.output.messages";
pub const TOOL_ARGUMENTS: &str = "gen_ai.tool.call.arguments";
pub const TOOL_RESULT: &str = "gen_ai.tool.call.result";

/// The place of a turn in its run, from 1.
pub const TURN: &str = "pi_rpc.turn";
/// What a model was requested for, if not for the next message of a conversation.
pub const PURPOSE: &str = "pi_rpc.purpose";
/// The extension of a hook.
pub const EXTENSION: &str = "pi_rpc.extension";

/// The class of failures that have no other.
pub const OTHER_FAILURE: &str = "_OTHER";
/// The class of work that the client, or the end of the session, has cut short.
pub const ABORTED: &str = "aborted";

/// The convention's name of a provider; one that it does not name is as in the configuration.
pub fn provider_name(provider: &str) -> &str {
    match provider {
        "amazon-bedrock" => "aws.bedrock",
        "azure" | "azure-openai-responses" => "azure.ai.openai",
        "google" => "gcp.gemini",
        "google-vertex" => "gcp.vertex_ai",
        "kimi-coding" | "moonshotai" | "moonshotai-cn" => "moonshot_ai",
        "mistral" => "mistral_ai",
        "openai-codex" => "openai",
        "xai" => "x_ai",
        other => other,
    }
}

/// The convention's name of the reason why an answer has ended.
pub const fn finish_reason(finish: Finish) -> &'static str {
    match finish {
        Finish::Stop => "stop",
        Finish::Length => "length",
        Finish::ToolUse => "tool_call",
    }
}

/// The convention's name of the reason why the last answer of a run has ended.
pub const fn stop_reason(reason: StopReason) -> &'static str {
    match reason {
        StopReason::Stop => finish_reason(Finish::Stop),
        StopReason::Length => finish_reason(Finish::Length),
        StopReason::ToolUse => finish_reason(Finish::ToolUse),
        StopReason::Error => "error",
        StopReason::Aborted => ABORTED,
        StopReason::Pending | StopReason::Deferred => reason.as_str(),
    }
}

/// The tokens of an answer, if the provider has told any. By the convention, those of a cache are a part of the input.
pub fn usage(tokens: &TokenCounts) -> Vec<Attribute> {
    let TokenCounts { input, output, cache_read, cache_write, reasoning, .. } = *tokens;
    let all_input = input.saturating_add(cache_read).saturating_add(cache_write);
    if (all_input, output) == (0, 0) {
        return Vec::new();
    }
    let mut attributes = vec![(INPUT_TOKENS, all_input.into()), (OUTPUT_TOKENS, output.into())];
    let parts = [
        (CACHE_READ_TOKENS, cache_read),
        (CACHE_WRITE_TOKENS, cache_write),
        (REASONING_TOKENS, reasoning.unwrap_or_default()),
    ];
    attributes
        .extend(parts.into_iter().filter(|(_, count)| *count > 0).map(|(name, count)| (name, count.into())));
    attributes
}

/// The class of a failed request: the HTTP status that the text of the failure begins with, if it does.
pub fn failure_class(text: &str) -> String {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let is_status = digits == 3 && matches!(text.as_bytes()[0], b'4' | b'5');
    if is_status { text[..3].to_owned() } else { OTHER_FAILURE.to_owned() }
}

/// Host and port of an address, without a login.
pub fn server(address: &str) -> Vec<Attribute> {
    let Some((scheme, rest)) = address.split_once("://") else { return Vec::new() };
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    let host = authority.rsplit('@').next().unwrap_or_default();
    let port = host.rsplit_once(':').filter(|(_, port)| !port.ends_with(']'));
    let (host, port) = match port.and_then(|(host, port)| Some((host, port.parse::<u64>().ok()?))) {
        Some((host, port)) => (host, port),
        None => (host, if scheme == "http" { 80 } else { 443 }),
    };
    match host.is_empty() {
        true => Vec::new(),
        false => vec![(SERVER_ADDRESS, host.trim_matches(['[', ']']).into()), (SERVER_PORT, port.into())],
    }
}

#[cfg(test)]
mod tests {
    //! What is read out of texts.

    use super::*;

    #[test]
    fn failure_class_is_http_status() {
        let texts = ["429 {\"error\":{}}", "500", "4290 x", "200 x", "", "connection refused", "12"];
        let classes = ["429", "500", "_OTHER", "_OTHER", "_OTHER", "_OTHER", "_OTHER"];
        assert_eq!(texts.map(failure_class), classes);
    }

    #[test]
    fn server_has_no_login() {
        let shown = |address: &str| {
            let attributes = server(address).into_iter().map(|(name, value)| format!("{name}={value:?}"));
            attributes.collect::<Vec<_>>().join(" ")
        };
        let expected =
            |host: &str, port: u64| format!("server.address=Text({host:?}) server.port=Count({port})");
        assert_eq!(shown("https://api.example.com/v1"), expected("api.example.com", 443));
        assert_eq!(shown("http://me:secret@localhost:8080/v1?key=x"), expected("localhost", 8080));
        assert_eq!(shown("http://[::1]:9"), expected("::1", 9));
        assert_eq!(shown("http://[::1]"), expected("::1", 80));
        assert_eq!(shown(""), "");
    }
}
