//! Formats numbers, prices and times.

use maud::{Markup, html};

use pi_rpc_session::time::{day, iso};

/// Formats a count with its thousands apart.
pub(super) fn count(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() * 4 / 3);
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// Formats a count with its noun in singular or plural.
pub(super) fn count_of(number: u64, one: &str, many: &str) -> String {
    format!("{} {}", count(number), if number == 1 { one } else { many })
}

/// Formats token counts by kind, without those that are 0.
pub(super) fn token_counts(input: u64, cache_read: u64, cache_write: u64, output: u64) -> String {
    let parts = [(input, "in"), (cache_read, "from cache"), (cache_write, "to cache"), (output, "out")];
    let shown = parts.iter().filter(|(tokens, _)| *tokens > 0);
    shown.map(|(tokens, what)| format!("{} {what}", count(*tokens))).collect::<Vec<_>>().join(" · ")
}

/// Formats US dollars: two decimals from a dollar on, four below, so that small answers do not all cost nothing.
pub(super) fn dollars(amount: f64) -> String {
    if amount.abs() >= 1.0 { format!("${amount:.2}") } else { format!("${amount:.4}") }
}

/// Renders the time of a day in UTC, to the second. The day stands above, see [`day_heading`].
pub(super) fn time(milliseconds: u64) -> Markup {
    let at = iso(milliseconds);
    let (_, time) = at.split_once('T').unwrap_or_default();
    let time = time.split('.').next().unwrap_or_default();
    html! { time datetime=(at) { (time) " UTC" } }
}

/// Renders a day and a time in UTC, to the minute.
pub(super) fn day_and_time(milliseconds: u64) -> Markup {
    let at = iso(milliseconds);
    let time = at.split_once('T').map_or("", |(_, time)| time.get(..5).unwrap_or_default());
    html! { time datetime=(at) { (long_day(milliseconds)) ", " (time) " UTC" } }
}

/// Renders the day that the entries below are of.
pub(super) fn day_heading(milliseconds: u64) -> Markup {
    html! { p.day { time datetime=(day(milliseconds)) { (long_day(milliseconds)) } } }
}

/// Formats a day in UTC: `Monday, 5 January 2026`.
fn long_day(milliseconds: u64) -> String {
    let date = day(milliseconds);
    let mut parts = date.split('-').filter_map(|part| part.parse::<usize>().ok());
    let (Some(year), Some(month), Some(day)) = (parts.next(), parts.next(), parts.next()) else {
        return date;
    };
    let (Some(month), Ok(days)) = (MONTHS.get(month - 1), usize::try_from(milliseconds / DAY_MS)) else {
        return date;
    };
    // The first day of all was a Thursday.
    format!("{}, {day} {month} {year}", WEEKDAYS[(days + 3) % WEEKDAYS.len()])
}

/// The milliseconds of a day.
const DAY_MS: u64 = 86_400_000;
const WEEKDAYS: [&str; 7] = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"];
const MONTHS: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_have_separators_and_units() {
        assert_eq!([count(0), count(999), count(1000), count(1234567)], ["0", "999", "1,000", "1,234,567"]);
        assert_eq!([dollars(0.0), dollars(0.01234), dollars(12.345)], ["$0.0000", "$0.0123", "$12.35"]);
        assert_eq!([count_of(1, "call", "calls"), count_of(2, "call", "calls")], ["1 call", "2 calls"]);
    }

    #[test]
    fn a_time_is_in_utc() {
        let at = 1_767_607_200_500;
        assert_eq!(
            [time(at), day_and_time(at), day_heading(at)].map(Markup::into_string),
            [
                "<time datetime=\"2026-01-05T10:00:00.500Z\">10:00:00 UTC</time>",
                "<time datetime=\"2026-01-05T10:00:00.500Z\">Monday, 5 January 2026, 10:00 UTC</time>",
                "<p class=\"day\"><time datetime=\"2026-01-05\">Monday, 5 January 2026</time></p>",
            ]
        );
    }

    #[test]
    fn day_has_its_weekday() {
        let of = |iso: &str| long_day(pi_rpc_session::time::millis(iso));
        assert_eq!(of("1970-01-01T00:00:00Z"), "Thursday, 1 January 1970");
        assert_eq!(of("2024-02-29T23:59:59Z"), "Thursday, 29 February 2024");
        assert_eq!(of("2026-11-30T00:00:00Z"), "Monday, 30 November 2026");
    }
}
