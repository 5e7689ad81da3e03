//! Matches a list of messages from the server with the messages that were emitted.

use super::message_record::MessageKey;

/// A message that a list should contain.
#[derive(Clone, Copy, Debug)]
pub struct ExpectedMessage {
    /// The key of the message.
    pub key: MessageKey,
    /// Whether the message must be there; else it may be.
    pub is_needed: bool,
}

/// The ends of a list that are open.
#[derive(Clone, Copy, Debug, Default)]
pub struct Bounds {
    /// Whether there may be others before the first.
    pub is_open_before: bool,
    /// Whether there may be others after the last.
    pub is_open_behind: bool,
}

/// A fault of a list. Places are indices of the server's list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ListFault {
    /// The message at this place was emitted with other content.
    Altered(usize),
    /// The message at this place is repeated.
    Repeated(usize),
    /// The message at this place was never emitted.
    NeverEmitted(usize),
    /// The message at this place is out of order.
    Misplaced(usize),
    /// A message of this role is missing before this place.
    Missing(MessageKey, usize),
}

/// For each listed message its place among the expected ones; `None` if it is not one of them.
pub type Pairs = Vec<Option<usize>>;

/// Pairs the listed messages with the expected ones, in order.
pub fn pair_up(
    expected: &[ExpectedMessage],
    listed: &[MessageKey],
    bounds: Bounds,
) -> Result<Pairs, ListFault> {
    let start = match bounds.is_open_before {
        true => open_start(expected, listed)?,
        false => 0,
    };
    let mut pairs: Pairs = vec![None; start];
    let mut next = 0;
    for (place, key) in listed.iter().enumerate().skip(start) {
        // Expected messages that may be missing are skipped.
        let needed =
            expected[next..].iter().position(|it| it.is_needed).map_or(expected.len(), |it| next + it);
        let found = (next..expected.len().min(needed + 1)).find(|at| expected[*at].key.is(key));
        if found.is_none() {
            let over = needed == expected.len();
            if key.is_core() && !(over && bounds.is_open_behind && !is_before(expected, next, key)) {
                return Err(fault(expected, listed, next, needed, place));
            }
            // It may be a message without events, but not one that was emitted with other content.
            if !key.is_core() && expected.get(needed).is_some_and(|it| it.key.is_altered(key)) {
                return Err(ListFault::Altered(place));
            }
        }
        pairs.push(found);
        next = found.map_or(next, |found| found + 1);
    }
    match expected[next..].iter().find(|it| it.is_needed) {
        Some(missing) => Err(ListFault::Missing(missing.key, listed.len())),
        None => Ok(pairs),
    }
}

/// The place of the first known message in a list whose beginning is open.
fn open_start(expected: &[ExpectedMessage], listed: &[MessageKey]) -> Result<usize, ListFault> {
    let Some(first) = expected.iter().find(|it| it.is_needed) else { return Ok(listed.len()) };
    let at = listed.iter().position(|key| first.key.is(key));
    if let Some(at) = at {
        // Messages that may be missing can precede it.
        let before = expected.iter().take_while(|it| !it.is_needed);
        let first = before.filter_map(|it| listed[..at].iter().position(|key| it.key.is(key))).min();
        return Ok(first.unwrap_or(at));
    }
    Err(match listed.iter().position(|key| first.key.is_altered(key)) {
        Some(place) => ListFault::Altered(place),
        None => ListFault::Missing(first.key, listed.len()),
    })
}

/// The fault of the message at `place`, which is not one of the next.
fn fault(
    expected: &[ExpectedMessage],
    listed: &[MessageKey],
    next: usize,
    needed: usize,
    place: usize,
) -> ListFault {
    let key = &listed[place];
    let ahead = &expected[next..expected.len().min(needed + 1)];
    if ahead.iter().any(|it| it.key.is_altered(key)) {
        return ListFault::Altered(place);
    }
    if is_before(expected, next, key) {
        return ListFault::Repeated(place);
    }
    if let Some(missing) = expected.get(needed)
        && expected[needed..].iter().any(|it| it.key.is(key))
    {
        return match listed[place..].iter().any(|key| missing.key.is(key)) {
            true => ListFault::Misplaced(place),
            false => ListFault::Missing(missing.key, place),
        };
    }
    match expected.iter().any(|it| it.key.is_altered(key)) {
        true => ListFault::Altered(place),
        false => ListFault::NeverEmitted(place),
    }
}

fn is_before(expected: &[ExpectedMessage], next: usize, key: &MessageKey) -> bool {
    expected[..next].iter().any(|it| it.key.is(key))
}

impl ListFault {
    /// The expectation in words; `list` is the JSON pointer to the list in the frame.
    pub fn expected(&self, list: &str) -> String {
        match self {
            Self::Altered(place) => format!("the message at {list}/{place} as its `message_end` said it"),
            Self::Repeated(place) => format!("each message once, not that at {list}/{place} again"),
            Self::NeverEmitted(place) => {
                format!("only messages that were said, which that at {list}/{place} was not")
            }
            Self::Misplaced(place) => {
                format!("the messages in the order in which they were said, not that at {list}/{place} here")
            }
            Self::Missing(key, place) => {
                format!("the {} message that was said before what stands at {list}/{place}", key.role)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pi_rpc_protocol::AgentMessageKind as Role;
    use std::num::NonZeroU64;

    fn key(number: u64) -> MessageKey {
        MessageKey { role: Role::User, name: number / 10, digest: NonZeroU64::new(number) }
    }

    fn needed(numbers: &[u64]) -> Vec<ExpectedMessage> {
        numbers.iter().map(|number| ExpectedMessage { key: key(*number), is_needed: true }).collect()
    }

    fn found(expected: &[ExpectedMessage], listed: &[u64], bounds: Bounds) -> Result<Pairs, ListFault> {
        pair_up(expected, &listed.iter().copied().map(key).collect::<Vec<_>>(), bounds)
    }

    const CLOSED: Bounds = Bounds { is_open_before: false, is_open_behind: false };
    const BEFORE: Bounds = Bounds { is_open_before: true, is_open_behind: false };
    const BEHIND: Bounds = Bounds { is_open_before: false, is_open_behind: true };

    #[test]
    fn known_list_has_one_order() {
        let expected = needed(&[10, 20, 30]);
        assert_eq!(found(&expected, &[10, 20, 30], CLOSED), Ok(vec![Some(0), Some(1), Some(2)]));
        assert_eq!(found(&expected, &[10, 21, 30], CLOSED), Err(ListFault::Altered(1)));
        assert_eq!(found(&expected, &[10, 30], CLOSED), Err(ListFault::Missing(key(20), 1)));
        assert_eq!(found(&expected, &[10, 20], CLOSED), Err(ListFault::Missing(key(30), 2)));
        assert_eq!(found(&expected, &[20, 10, 30], CLOSED), Err(ListFault::Misplaced(0)));
        assert_eq!(found(&expected, &[10, 20, 20, 30], CLOSED), Err(ListFault::Repeated(2)));
        assert_eq!(found(&expected, &[10, 20, 30, 30], CLOSED), Err(ListFault::Repeated(3)));
        assert_eq!(found(&expected, &[10, 40, 20, 30], CLOSED), Err(ListFault::NeverEmitted(1)));
        assert_eq!(found(&expected, &[10, 20, 30, 40], CLOSED), Err(ListFault::NeverEmitted(3)));
    }

    #[test]
    fn open_ends_allow_others_there() {
        let expected = needed(&[10, 20]);
        assert_eq!(found(&expected, &[40, 10, 20], BEFORE), Ok(vec![None, Some(0), Some(1)]));
        assert_eq!(found(&expected, &[40, 20], BEFORE), Err(ListFault::Missing(key(10), 2)));
        assert_eq!(found(&expected, &[40, 11, 20], BEFORE), Err(ListFault::Altered(1)));
        assert_eq!(found(&expected, &[10, 20, 40], BEHIND), Ok(vec![Some(0), Some(1), None]));
        assert_eq!(found(&expected, &[10, 20, 10], BEHIND), Err(ListFault::Repeated(2)));
        assert_eq!(found(&[], &[10, 20], BEFORE), Ok(vec![None, None]));
    }

    #[test]
    fn optional_item_may_be_absent() {
        let mut expected = needed(&[10, 20, 30]);
        expected[1].is_needed = false;
        assert_eq!(found(&expected, &[10, 30], CLOSED), Ok(vec![Some(0), Some(2)]));
        assert_eq!(found(&expected, &[10, 20, 30], CLOSED), Ok(vec![Some(0), Some(1), Some(2)]));
        assert_eq!(found(&expected, &[10, 21, 30], CLOSED), Err(ListFault::Altered(1)));
    }
}
