//! Conversations of the simulator, and the trees of their spans as text.

use pi_rpc_engine::{Input, Now, Output};
use pi_rpc_protocol::Dialect;
use pi_rpc_server::TraceContext;
use pi_rpc_test_kit::{Checked, Scenario, rules::Watcher};
use pi_rpc_traces::{
    Attribute, AttributeValue, Parent, SessionTracer, SpanEnd, SpanEvent, SpanKind, SpanStart, TracerOptions,
};
use std::{cell::RefCell, collections::BTreeMap, rc::Rc, time::Duration};

/// When conversations begin.
pub const BEGAN: Duration = Duration::from_millis(1_764_000_000_000);

/// A span of a client.
pub const PARENT: &str = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

/// The context of [`PARENT`].
pub fn parent() -> TraceContext {
    TraceContext::new(PARENT, None).unwrap()
}

/// Passes a conversation to a tracer.
struct TracedEngine {
    tracer: Rc<RefCell<SessionTracer>>,
    now: Now,
}

impl Watcher for TracedEngine {
    fn input(&mut self, input: &Input, now: Now) -> Checked {
        self.now = now;
        self.tracer.borrow_mut().on_input(input, now);
        Ok(())
    }

    fn output(&mut self, output: &Output) -> Checked {
        self.tracer.borrow_mut().on_output(output, self.now);
        Ok(())
    }
}

/// The tree of a conversation, which may end with outstanding work.
pub fn tree(scenario: Scenario, dialect: Dialect) -> String {
    tree_with(scenario, dialect, TracerOptions::default())
}

/// The tree that is made with these options.
pub fn tree_with(scenario: Scenario, dialect: Dialect, options: TracerOptions) -> String {
    let tracer = Rc::new(RefCell::new(SessionTracer::new(options)));
    let (watched, start) = (tracer.clone(), Now { monotonic: Duration::ZERO, wall: 0 });
    let scenario = scenario
        .watched(move || Box::new(TracedEngine { tracer: watched.clone(), now: start }) as Box<dyn Watcher>);
    let played = scenario.finish(dialect);
    let end = played.steps.last().map_or(0, |step| step.at);
    let wall = u64::try_from(BEGAN.as_millis()).unwrap() + end;
    tracer.borrow_mut().on_end(Now { monotonic: Duration::from_millis(end), wall });
    let events = tracer.borrow_mut().take_events();
    show(&events)
}

/// The lines of a tree without attributes.
pub fn outline(tree: &str) -> String {
    let is_attribute = |word: &str| word.contains('=');
    let lines = tree.lines().filter(|line| line.trim_start().starts_with(char::is_alphabetic));
    let cut = lines.map(|line| {
        let end = line.split(' ').scan(0, |at, word| {
            let from = *at;
            *at += word.len() + 1;
            Some((from, word))
        });
        let end = end.into_iter().find(|(_, word)| is_attribute(word)).map_or(line.len(), |(from, _)| from);
        format!("{}\n", line[..end].trim_end())
    });
    cut.collect()
}

/// A line for each span, below its parent: when it begins and ends, its name, kind, failure and attributes.
pub fn show(events: &[SpanEvent]) -> String {
    let (mut starts, mut ends): (BTreeMap<u64, &SpanStart>, BTreeMap<u64, &SpanEnd>) = Default::default();
    let mut order = Vec::new();
    for event in events {
        match event {
            SpanEvent::Started(start) => {
                if let Parent::Span(parent) = start.parent {
                    assert!(starts.contains_key(&parent) && !ends.contains_key(&parent), "{start:?}");
                }
                assert!(starts.insert(start.number, start).is_none(), "{start:?}");
                order.push(start.number);
            }
            SpanEvent::Ended(end) => {
                assert!(starts.contains_key(&end.number), "{end:?}");
                assert!(ends.insert(end.number, end).is_none(), "{end:?}");
            }
        }
    }
    let mut text = String::new();
    for root in order.iter().filter(|number| !matches!(starts[number].parent, Parent::Span(_))) {
        line(*root, 0, &order, &starts, &ends, &mut text);
    }
    text
}

fn line(
    number: u64,
    depth: usize,
    order: &[u64],
    starts: &BTreeMap<u64, &SpanStart>,
    ends: &BTreeMap<u64, &SpanEnd>,
    text: &mut String,
) {
    let (start, end) = (starts[&number], ends.get(&number).expect("every span ends"));
    let millis = |at: Duration| at.checked_sub(BEGAN).expect("after the beginning").as_millis();
    let kind = match start.kind {
        SpanKind::Internal => "",
        SpanKind::Client => " client",
    };
    let client = match &start.parent {
        Parent::Client(context) => format!(" below {}", context.traceparent),
        Parent::None | Parent::Span(_) => String::new(),
    };
    let failure = end.failure.as_ref().map(|failure| match &failure.text {
        Some(text) => format!(" failed {} ({text})", failure.class),
        None => format!(" failed {}", failure.class),
    });
    *text += &format!(
        "{}{} {}-{}{kind}{client}{}{}\n",
        "  ".repeat(depth),
        start.name,
        millis(start.at),
        millis(end.at),
        failure.unwrap_or_default(),
        start.attributes.iter().chain(&end.attributes).map(attribute).collect::<String>(),
    );
    for child in order.iter().filter(|child| starts[child].parent == Parent::Span(number)) {
        line(*child, depth + 1, order, starts, ends, text);
    }
}

fn attribute((name, value): &Attribute) -> String {
    let value = match value {
        // Ids are random.
        AttributeValue::Text(_) if *name == "gen_ai.conversation.id" => "…".to_owned(),
        AttributeValue::Text(text) => text.clone(),
        AttributeValue::Texts(texts) => texts.join(","),
        AttributeValue::Count(count) => count.to_string(),
        AttributeValue::Seconds(seconds) => format!("{seconds}s"),
        AttributeValue::Flag(is_so) => is_so.to_string(),
    };
    format!(" {}={value}", name.trim_start_matches("gen_ai."))
}
