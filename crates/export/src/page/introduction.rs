//! The introduction of the page: the protocol in ten lines, and a whole conversation.

use super::{example::Examples, inline::term, schema_index::SchemaIndex};
use crate::json::{gist, pretty};
use maud::{Markup, html};
use pi_rpc_protocol::Dialect;

/// The protocol in ten lines.
const LINES: [&str; 10] = [
    "A host starts the server as a child process. It writes commands to its stdin and reads responses and events from its stdout; stderr is for people.",
    "A frame is one JSON object in UTF-8 on a line of its own. Only a line feed ends a line: U+2028 in a string does not.",
    "`type` says what a frame is. A host passes over types and fields that it does not know; a server refuses a command that it does not know and goes on.",
    "A command may carry an `id`; its response repeats it and names the `command`. `success` is true, perhaps with `data`, or false with a text in `error`. There are no error codes.",
    "Events have no `id`. They report what happens, when it happens, and come between responses.",
    "`prompt` starts a run. It goes from `agent_start` to `agent_end` and is made of turns: new input, one message of the model, the tools that it calls. In pi 1, `agent_settled` says when nothing follows by itself any more.",
    "A message is streamed: `message_start`, any number of `message_update`, `message_end`. Then each tool call runs from `tool_execution_start` to `tool_execution_end`.",
    "While a run is open, `steer` and `follow_up` queue a message; `prompt` needs `streamingBehavior` to choose between the two; `abort` ends the run.",
    "`extension_ui_request` may ask the user something. A host answers with `extension_ui_response` and the same `id`, or the agent waits: until the `timeout` of the dialog, and without one for ever.",
    "Closing stdin shuts the server down: it finishes or drops its work, depending on the dialect, and exits with status 0.",
];

/// The section: the lines, then the conversation in each base dialect.
pub(super) fn introduction(index: &SchemaIndex, examples: &Examples) -> Markup {
    html! {
        section aria-labelledby="protocol" {
            h2 id="protocol" { "The protocol in ten lines" }
            ol.lines { @for line in LINES { li { (linked_line(index, line)) } } }
            h3 id="conversation" { "A whole conversation" }
            p {
                "From the start of the server to the end of the run. Each line opens to the whole frame; only this summary replaces members by "
                code { "…" } "."
            }
            @for (at, base) in index.bases.iter().enumerate() {
                details.talk open[at == 0] {
                    summary { "In the dialect " span.mark { (base.as_str()) } }
                    (conversation(index, examples, *base))
                }
            }
        }
    }
}

/// A line, with names of commands linked to the commands.
fn linked_line(index: &SchemaIndex, line: &str) -> Markup {
    html! {
        @for (at, part) in line.split('`').enumerate() {
            @match index.command(part).filter(|_| at % 2 == 1) {
                Some(place) => a href={ "#" (place) } { code { (part) } },
                None if at % 2 == 1 => (term(index, part)),
                None => (part),
            }
        }
    }
}

fn conversation(index: &SchemaIndex, examples: &Examples, base: Dialect) -> Markup {
    html! {
        ol.frames {
            @for (def, frame) in examples.conversation(index.exported(base)) {
                @let from_host = index.def(&def).get("x-in").is_some();
                li.host[from_host] {
                    details {
                        summary {
                            span.who { @if from_host { "host" } @else { "server" } } " "
                            code { (gist(&frame)) }
                        }
                        p { "This is " a href={ "#" (index.anchor(&def)) } { (def) } "." }
                        pre { code { (pretty(&frame)) } }
                    }
                }
            }
        }
        p.soft { "All other conversations follow the chart of the " a href="#chart" { "states" } ", starting with " (term(index, "agent_start")) "." }
    }
}
