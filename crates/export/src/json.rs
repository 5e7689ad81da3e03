//! JSON for people.

use serde_json::Value;

/// Longest line of an example in a page, in characters.
const EXAMPLE: usize = 60;

/// Lays JSON out in lines of at most `width` characters, as the files in `schema/` are: a part that fits into a line
/// stays on one, longer ones are indented by two spaces. A single text that is longer keeps its line.
pub fn laid_out(value: &Value, width: usize) -> String {
    let mut text = String::new();
    write(value, width, 0, 0, &mut text);
    text
}

/// Lays out an example for a page.
pub(crate) fn pretty(value: &Value) -> String {
    laid_out(value, EXAMPLE)
}

/// Writes a value; `before`: characters before it on its line.
fn write(value: &Value, width: usize, depth: usize, before: usize, text: &mut String) {
    let line = on_one_line(value);
    if before + line.chars().count() <= width {
        text.push_str(&line);
        return;
    }
    match value {
        Value::Object(map) => {
            let members = map.iter().map(|(key, value)| (format!("{}: ", Value::from(key.as_str())), value));
            lines(['{', '}'], members, width, depth, text);
        }
        Value::Array(list) => {
            lines(['[', ']'], list.iter().map(|value| (String::new(), value)), width, depth, text)
        }
        _ => text.push_str(&line),
    }
}

fn lines<'a>(
    [open, close]: [char; 2],
    members: impl Iterator<Item = (String, &'a Value)>,
    width: usize,
    depth: usize,
    text: &mut String,
) {
    let indent = "  ".repeat(depth);
    text.push(open);
    for (at, (key, value)) in members.enumerate() {
        text.push_str(if at > 0 { ",\n  " } else { "\n  " });
        text.push_str(&indent);
        text.push_str(&key);
        write(value, width, depth + 1, 2 * (depth + 1) + key.chars().count(), text);
    }
    text.push('\n');
    text.push_str(&indent);
    text.push(close);
}

fn on_one_line(value: &Value) -> String {
    match value {
        Value::Object(map) if map.is_empty() => "{}".to_owned(),
        Value::Object(map) => {
            let members = map
                .iter()
                .map(|(key, value)| format!("{}: {}", Value::from(key.as_str()), on_one_line(value)));
            format!("{{ {} }}", members.collect::<Vec<_>>().join(", "))
        }
        Value::Array(list) => format!("[{}]", list.iter().map(on_one_line).collect::<Vec<_>>().join(", ")),
        scalar => scalar.to_string(),
    }
}

/// Summarizes a frame on one line, with `…` for the content of inner objects and lists.
pub(crate) fn gist(frame: &Value) -> String {
    let short = |value: &Value| match value {
        Value::Object(map) if map.len() > 2 => {
            let tag = ["type", "role"].into_iter().find_map(|key| Some((key, map.get(key)?)));
            tag.map_or_else(|| "{…}".to_owned(), |(key, value)| format!("{{\"{key}\":{value},…}}"))
        }
        Value::Array(list) if !list.is_empty() => "[…]".to_owned(),
        value => value.to_string(),
    };
    let members = frame.as_object().into_iter().flatten();
    let members = members.map(|(key, value)| format!("{}:{}", Value::from(key.as_str()), short(value)));
    format!("{{{}}}", members.collect::<Vec<_>>().join(","))
}

#[cfg(test)]
mod tests {
    use super::{gist, pretty};
    use serde_json::json;

    #[test]
    fn short_values_stay_on_one_line() {
        assert_eq!(pretty(&json!({ "a": [1, 2], "b": {} })), r#"{ "a": [1, 2], "b": {} }"#);
        let long = "x".repeat(70);
        let expected = format!("{{\n  \"a\": [1, 2],\n  \"b\": [\n    \"{long}\"\n  ]\n}}");
        assert_eq!(pretty(&json!({ "a": [1, 2], "b": [long] })), expected);
    }

    #[test]
    fn gist_shows_tags_of_inner_objects() {
        let frame = json!({ "type": "t", "m": { "role": "user", "x": 1, "y": 2 }, "l": [1], "e": [], "o": { "x": 1 } });
        assert_eq!(gist(&frame), r#"{"type":"t","m":{"role":"user",…},"l":[…],"e":[],"o":{"x":1}}"#);
    }
}
