//! Comparison of the known state of a session with the responses of its server.

use pi_rpc::{
    client::{Client, Error, SessionState},
    protocol::{GetMessagesCommand, GetStateCommand, SessionMember as Member},
};
use serde_json::{Value, json};
use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex},
};
use tokio::sync::Notify;

/// Counts of compared values by member, without empty lists.
pub type Compared = BTreeMap<&'static str, u64>;

/// Asks the server whenever it is woken, as soon as the answers before are there. What a response tells is compared where
/// no frame came between that may have changed it.
pub struct Comparison {
    wake: Arc<Notify>,
    outcome: Arc<Mutex<Outcome>>,
}

#[derive(Default)]
struct Outcome {
    wrong: Vec<String>,
    compared: Compared,
}

impl Comparison {
    /// Starts the comparison.
    pub fn begin(client: Client) -> Self {
        let (wake, outcome) = (Arc::new(Notify::new()), Arc::<Mutex<Outcome>>::default());
        let (woken, to) = (Arc::clone(&wake), Arc::clone(&outcome));
        tokio::spawn(async move {
            loop {
                woken.notified().await;
                // A server that has ended says nothing more.
                if tokio::try_join!(compare_state(&client, &to), compare_messages(&client, &to)).is_err() {
                    return;
                }
            }
        });
        Self { wake, outcome }
    }

    /// Notifier that every frame must wake.
    pub fn wake(&self) -> Arc<Notify> {
        Arc::clone(&self.wake)
    }

    /// Ends the comparison. The error names the values that differ.
    pub fn end(&self, client: &Client) -> Result<Compared, String> {
        let Outcome { mut wrong, compared } = std::mem::take(&mut *self.outcome.lock().unwrap());
        // Responses to the conversation's own commands are compared, too.
        for member in Member::ALL {
            let different = client.session(|session| session.agreement(member).different);
            if different > 0 && !wrong.iter().any(|line| line.starts_with(member.as_str())) {
                wrong.push(format!("{member}: told otherwise {different} times"));
            }
        }
        if wrong.is_empty() { Ok(compared) } else { Err(wrong.join("\n")) }
    }
}

/// A value that was known before the server was asked.
struct Known {
    revision: u64,
    same: u64,
    different: u64,
    value: Value,
}

fn known(session: &SessionState, member: Member) -> Known {
    let value = match member {
        Member::Messages => json!(session.messages()),
        Member::Entries => json!(session.entries()),
        Member::Usage => json!(session.usage()),
        _ => json!(session.get(member)),
    };
    let agreement = session.agreement(member);
    let (same, different) = (agreement.same, agreement.different);
    Known { revision: session.revision_of(member), same, different, value }
}

async fn compare_messages(client: &Client, to: &Mutex<Outcome>) -> Result<(), Error> {
    let before = client.session(|session| known(session, Member::Messages));
    client.call(GetMessagesCommand::default()).await?;
    client.session(|session| note(session, Member::Messages, &before, to));
    Ok(())
}

async fn compare_state(client: &Client, to: &Mutex<Outcome>) -> Result<(), Error> {
    let values = |session: &SessionState| Member::ALL.map(|member| known(session, member));
    let (before, revision, was_on) =
        client.session(|session| (values(session), session.revision(), flags(session)));
    let told = client.call(GetStateCommand::default()).await?;
    client.session(|session| {
        for (member, before) in Member::ALL.into_iter().zip(&before) {
            if member != Member::Messages {
                note(session, member, before, to);
            }
        }
        let mut to = to.lock().unwrap();
        let is_same = |member| session.revision_of(member) == before[member as usize].revision;
        if let (Some(steering), Some(follow_up)) = (session.steering(), session.follow_up())
            && is_same(Member::Steering)
            && is_same(Member::FollowUp)
        {
            let waiting = (steering.len() + follow_up.len()) as u64;
            let count = told.pending_message_count.or(told.queued_message_count);
            *to.compared.entry("waiting").or_default() += u64::from(waiting > 0);
            if count.is_some_and(|count| count != waiting) {
                to.wrong.push(format!("messages that wait: known {waiting}, told {count:?}"));
            }
        }
        // What a server prepares or goes on with by itself, frames do not tell.
        let told = [told.is_streaming, told.is_compacting];
        for ((name, on), told) in ["isStreaming", "isCompacting"].into_iter().zip(was_on).zip(told) {
            if on == Some(true) && session.revision() == revision {
                *to.compared.entry(name).or_default() += 1;
                if !told {
                    to.wrong.push(format!("{name}: known true, told false"));
                }
            }
        }
    });
    Ok(())
}

fn flags(session: &SessionState) -> [Option<bool>; 2] {
    [session.is_streaming(), session.is_compacting()]
}

/// Compares a response with the value that was known before.
fn note(session: &SessionState, member: Member, before: &Known, to: &Mutex<Outcome>) {
    let now = known(session, member);
    let mut to = to.lock().unwrap();
    if now.different > before.different {
        let [known, told] = [&before.value, &now.value].map(short);
        to.wrong.push(format!("{member}: known {known}, told {told}"));
    }
    let is_something = !before.value.is_null() && before.value != json!([]);
    if now.same > before.same && now.revision == before.revision && is_something {
        *to.compared.entry(member.as_str()).or_default() += 1;
    }
}

/// The end of a value: lists differ there.
fn short(value: &Value) -> String {
    let text = value.to_string();
    let from = text.char_indices().rev().nth(300).map_or(0, |(from, _)| from);
    text.get(from..).unwrap_or_default().to_owned()
}
