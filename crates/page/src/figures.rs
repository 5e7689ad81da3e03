//! Formats numbers, prices and times.

use maud::{Markup, html};

use pi_rpc_session::time::iso;

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

/// Renders a time in UTC, to the second.
pub(super) fn time(milliseconds: u64) -> Markup {
    let at = iso(milliseconds);
    let (date, time) = at.split_once('T').unwrap_or_default();
    let time = time.split('.').next().unwrap_or_default();
    html! { time datetime=(at) { (date) " " (time) } }
}

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
        assert_eq!(
            time(1_767_607_200_500).into_string(),
            "<time datetime=\"2026-01-05T10:00:00.500Z\">2026-01-05 10:00:00</time>"
        );
    }
}
