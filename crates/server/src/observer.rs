//! What sees a session's inputs and outputs, beside those who perform them.

use pi_rpc_engine::{Input, Now, Output};
use serde::Deserialize;
use std::env;

/// Sees everything that passes between a session's engine and the world. Called in the loop of the session: it must not block.
pub trait Observer: Send {
    /// The frame that comes next carries the trace context of its client.
    fn on_trace_context(&mut self, context: &TraceContext);
    /// The engine is about to handle an input.
    fn on_input(&mut self, input: &Input, now: Now);
    /// The engine has made an output, which is performed next.
    fn on_output(&mut self, output: &Output, now: Now);
    /// The session has ended.
    fn on_end(&mut self, now: Now);
}

/// The span of a client, under which the client wants the spans of what it starts. In the words of W3C Trace Context.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TraceContext {
    /// Version, ids of the trace and of the span, flags.
    pub traceparent: String,
    /// What tracing systems add.
    pub tracestate: Option<String>,
}

/// The longest `tracestate` that is kept, in bytes. Source: W3C Trace Context.
const MAX_STATE: usize = 512;

/// Bytes of a `traceparent` of version `00`. Source: W3C Trace Context.
const PARENT_BYTES: usize = 55;

/// The member of a frame that carries more than the protocol has, as in ACP and MCP.
#[derive(Deserialize)]
struct Carrier {
    #[serde(rename = "_meta")]
    meta: Option<CarriedContext>,
}

#[derive(Deserialize)]
struct CarriedContext {
    traceparent: Option<String>,
    tracestate: Option<String>,
}

impl TraceContext {
    /// The context of these texts; `None`: `traceparent` is none, or names no span. A `tracestate` that is too long is left out.
    ///
    /// ```
    /// use pi_rpc_server::TraceContext;
    ///
    /// let parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
    /// assert_eq!(TraceContext::new(parent, None).unwrap().traceparent, parent);
    /// assert_eq!(TraceContext::new("00-0af7651916cd43dd8448eb211c80319c-0000000000000000-01", None), None);
    /// ```
    pub fn new(traceparent: &str, tracestate: Option<&str>) -> Option<Self> {
        let traceparent = traceparent.trim();
        let fields: Vec<&str> = traceparent.get(..PARENT_BYTES)?.split('-').collect();
        let [version, trace, span, flags] = fields[..] else { return None };
        let is_hex = |text: &str, length: usize| {
            text.len() == length && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
        };
        let is_id = |text: &str, length: usize| is_hex(text, length) && text.bytes().any(|byte| byte != b'0');
        // Later versions may add fields.
        let is_whole = traceparent.len() == PARENT_BYTES
            || version != "00" && traceparent.as_bytes().get(PARENT_BYTES) == Some(&b'-');
        let is_known = is_hex(version, 2) && version != "ff" && is_hex(flags, 2) && is_whole;
        (is_known && is_id(trace, 32) && is_id(span, 16)).then(|| Self {
            traceparent: traceparent[..PARENT_BYTES].to_owned(),
            tracestate: tracestate.filter(|state| state.len() <= MAX_STATE).map(str::to_owned),
        })
    }

    /// The context in the variables `TRACEPARENT` and `TRACESTATE` of this process.
    pub fn of_environment() -> Option<Self> {
        Self::new(&env::var("TRACEPARENT").ok()?, env::var("TRACESTATE").ok().as_deref())
    }

    /// The context that a line carries in its member `_meta`.
    pub fn of_line(line: &[u8]) -> Option<Self> {
        // Most lines carry none, and need not be read twice.
        memchr::memmem::find(line, MEMBER)?;
        let meta = serde_json::from_slice::<Carrier>(line).ok()?.meta?;
        Self::new(&meta.traceparent?, meta.tracestate.as_deref())
    }
}

/// The member with the context, as it is in a line.
const MEMBER: &[u8] = b"\"traceparent\"";

#[cfg(test)]
mod tests {
    //! Which texts name a span.

    use super::*;

    const PARENT: &str = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

    #[test]
    fn context_needs_ids_of_span() {
        let context = TraceContext { traceparent: PARENT.to_owned(), tracestate: Some("a=1".to_owned()) };
        assert_eq!(TraceContext::new(PARENT, Some("a=1")), Some(context));
        let later = TraceContext::new(&format!("cc{}-more", &PARENT[2..]), None).unwrap();
        assert_eq!(later.traceparent, format!("cc{}", &PARENT[2..]));
        assert_eq!(TraceContext::new(PARENT, Some(&"a".repeat(513))).unwrap().tracestate, None);
        for wrong in [
            "",
            "00",
            &format!("{PARENT}-more"),
            &format!("{PARENT}x"),
            &format!("ff{}", &PARENT[2..]),
            &PARENT.to_uppercase(),
            &PARENT.replace("b7ad6b7169203331", "0000000000000000"),
            &PARENT.replace("0af7651916cd43dd8448eb211c80319c", "00000000000000000000000000000000"),
            &"é".repeat(40),
        ] {
            assert_eq!(TraceContext::new(wrong, None), None, "{wrong}");
        }
    }

    #[test]
    fn context_of_line_is_in_meta() {
        let line = |meta: &str| format!(r#"{{"type":"prompt","message":"go","_meta":{meta}}}"#);
        let found = |line: &str| TraceContext::of_line(line.as_bytes());
        assert_eq!(
            found(&line(&format!(r#"{{"traceparent":"{PARENT}"}}"#))),
            TraceContext::new(PARENT, None)
        );
        let with_state = line(&format!(r#"{{"traceparent":"{PARENT}","tracestate":"a=1"}}"#));
        assert_eq!(found(&with_state), TraceContext::new(PARENT, Some("a=1")));
        for other in [line("null"), line("3"), line(r#"{"traceparent":3}"#), line("{}")] {
            assert_eq!(found(&other), None, "{other}");
        }
        let elsewhere =
            format!(r#"{{"type":"prompt","message":"\"traceparent\"","traceparent":"{PARENT}"}}"#);
        assert_eq!(found(&elsewhere), None);
    }
}
