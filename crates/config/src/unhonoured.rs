//! Settings of pi that this program does not honour.

use pi_rpc_protocol::JsonObject;
use serde::Deserialize;
use serde_json::Value;
use std::{collections::BTreeMap, sync::LazyLock};

/// Members of pi's `settings.json` that are not read, with their reasons.
const TABLE: &str = include_str!("../../../data/settings-of-pi.json");

/// What it means that a member is not read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Effect {
    /// It is about pi's screen.
    Screen,
    /// There is nothing that it could change.
    None,
    /// What it asks for is not done.
    Missing,
}

/// A member of pi's settings that is not read.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct UnhonouredSetting {
    /// What it means that it is not read.
    pub effect: Effect,
    /// Values that ask for what is done anyway.
    #[serde(default)]
    pub same: Vec<Value>,
    /// The reason, or what to do.
    #[serde(default)]
    pub text: String,
}

static SETTINGS: LazyLock<BTreeMap<String, UnhonouredSetting>> = LazyLock::new(|| {
    let mut table: JsonObject = serde_json::from_str(TABLE).unwrap_or_default();
    table.shift_remove("$comment");
    serde_json::from_value(Value::Object(table)).unwrap_or_default()
});

/// All of them, by their path.
pub fn unhonoured_settings() -> &'static BTreeMap<String, UnhonouredSetting> {
    &SETTINGS
}

/// Those that `settings` has, with their path.
pub fn unhonoured_in(settings: &JsonObject) -> Vec<(&'static str, &'static UnhonouredSetting)> {
    let value_at = |path: &str| {
        let mut keys = path.split('.');
        let first = settings.get(keys.next()?)?;
        keys.try_fold(first, |value, key| value.get(key)).filter(|value| !value.is_null())
    };
    let named = SETTINGS
        .iter()
        .filter(|(path, setting)| value_at(path).is_some_and(|value| !setting.same.contains(value)));
    named.map(|(path, setting)| (path.as_str(), setting)).collect()
}

/// A line about those that ask for something which is not done; `None`: there are none.
pub fn missing_text(settings: &JsonObject) -> Option<String> {
    let found = unhonoured_in(settings).into_iter().filter(|(_, setting)| setting.effect == Effect::Missing);
    let texts: Vec<String> = found.map(|(path, setting)| format!("{path} ({})", setting.text)).collect();
    (!texts.is_empty()).then(|| format!("settings that are not honoured: {}", texts.join("; ")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn missing_settings_are_named_with_reason() {
        let read = |value: Value| serde_json::from_value::<JsonObject>(value).expect("an object");
        let settings = read(
            json!({ "theme": "dark", "selfUpdateCommand": "brew", "transport": "sse", "defaultModel": "m" }),
        );
        let found: Vec<_> =
            unhonoured_in(&settings).into_iter().map(|(path, setting)| (path, setting.effect)).collect();
        assert_eq!(found, [("selfUpdateCommand", Effect::Missing), ("theme", Effect::Screen)]);
        let text = missing_text(&settings).expect("a text");
        assert!(text.starts_with("settings that are not honoured: selfUpdateCommand ("), "{text}");
        assert_eq!(missing_text(&read(json!({ "transport": "sse" }))), None);
    }
}
