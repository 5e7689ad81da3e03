//! Timestamps of session files.

use jiff::Timestamp;

/// Formats milliseconds since the Unix epoch as ISO 8601 in UTC; a time out of range becomes the epoch.
pub fn iso(ms: u64) -> String {
    let ms = i64::try_from(ms).unwrap_or_default();
    format!("{:.3}", Timestamp::from_millisecond(ms).unwrap_or_default())
}

/// Formats the day of a time in UTC: `2026-01-05`.
pub fn day(ms: u64) -> String {
    iso(ms).chars().take_while(|c| *c != 'T').collect()
}

/// Parses a timestamp to milliseconds since the Unix epoch; 0: unreadable, or before the epoch.
pub fn millis(text: &str) -> u64 {
    text.parse::<Timestamp>().map_or(0, |time| time.as_millisecond().max(0).unsigned_abs())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_reads_back_to_the_millisecond() {
        for (ms, text) in [
            (0, "1970-01-01T00:00:00.000Z"),
            (1_767_607_200_007, "2026-01-05T10:00:00.007Z"),
            (1_767_607_200_120, "2026-01-05T10:00:00.120Z"),
        ] {
            assert_eq!((iso(ms).as_str(), millis(text)), (text, ms));
        }
        assert_eq!(iso(u64::MAX), iso(0));
        assert_eq!(
            [day(1_767_607_200_007), day(253_402_300_800_000), day(0)],
            ["2026-01-05", "1970-01-01", "1970-01-01"]
        );
        assert_eq!([millis("yesterday"), millis(""), millis("1969-12-31T23:59:59.000Z")], [0, 0, 0]);
    }
}
