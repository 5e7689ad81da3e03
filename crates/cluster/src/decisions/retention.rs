//! Which closed sessions are removed.

use crate::records::StoredRecord;

/// The sessions to remove: those that are closed beyond the newest `kept` ones, and those whose removal has begun.
pub fn surplus(records: Vec<StoredRecord>, kept: usize) -> Vec<StoredRecord> {
    let (mut removed, rest): (Vec<_>, Vec<_>) =
        records.into_iter().partition(|stored| stored.record.is_removed);
    let mut closed: Vec<_> =
        rest.into_iter().filter(|it| it.record.is_closed && it.record.owner.is_none()).collect();
    // Closing is the last write of a record.
    closed.sort_unstable_by_key(|stored| std::cmp::Reverse(stored.revision));
    removed.extend(closed.into_iter().skip(kept));
    removed
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session_record::SessionRecord;

    fn stored(session: &str, revision: u64, change: fn(&mut SessionRecord)) -> StoredRecord {
        let mut record = SessionRecord { is_closed: true, ..SessionRecord::default() };
        change(&mut record);
        StoredRecord { session: session.to_owned(), record, revision }
    }

    #[test]
    fn sessions_closed_longest_ago_go() {
        let records = vec![
            stored("first", 1, |_| ()),
            stored("open", 2, |record| record.is_closed = false),
            stored("third", 9, |_| ()),
            stored("ending", 3, |record| record.owner = Some("a".to_owned())),
            stored("second", 4, |_| ()),
            stored("begun", 5, |record| record.is_removed = true),
        ];
        let names = |kept| -> Vec<String> {
            surplus(records.clone(), kept).into_iter().map(|stored| stored.session).collect()
        };
        assert_eq!(names(1), ["begun", "second", "first"]);
        assert_eq!(names(9), ["begun"]);
    }
}
