//! Files of users: `models.json`, `settings.json`, prompt templates and skills. Any file is read, or
//! left out with a reason; comments and empty settings have no effect; and a template expands to its text with the
//! arguments inserted.

use pi_rpc::{
    config::{
        Settings,
        models_file::{ModelsFileError, Providers, read},
    },
    prompt::{Skill, Template},
    protocol::CommandLocation,
};
use serde_json::Value;
use std::path::Path;

/// The first byte selects the file; its text follows.
pub fn check(data: &[u8]) {
    let Some((kind, data)) = data.split_first() else { return };
    let Ok(text) = str::from_utf8(data) else { return };
    match kind % 4 {
        0 => models(text),
        1 => settings(text),
        2 => template(text),
        _ => skill(text),
    }
}

fn models(text: &str) {
    let path = Path::new("/models.json");
    let once = read(text, path);
    if let Err(error) = &once {
        assert!(!error.to_string().is_empty());
    }
    // Comments do not change JSON.
    let Ok(value) = serde_json::from_str::<Value>(text) else { return };
    assert!(!matches!(once, Err(ModelsFileError::Syntax { .. })), "JSON is read: {once:?}");
    let plain = read(&value.to_string(), path);
    let pretty = serde_json::to_string_pretty(&value).expect("JSON");
    let commented = format!("// \"a comment\n{pretty} /* , ] */");
    assert_eq!(told(read(&commented, path)), told(plain));
}

fn told(read: Result<Providers, ModelsFileError>) -> String {
    format!("{read:?}")
}

fn settings(text: &str) {
    let path = Path::new("/settings.json");
    let (settings, warnings) = Settings::read(text, path);
    if serde_json::from_str::<Value>(text).is_err() {
        assert_eq!((&settings, warnings.len()), (&Settings::default(), 1), "no JSON, and that is said");
    }
    // Of these two only the user's own count.
    let of_project = Settings { default_project_trust: None, pass_keys: Vec::new(), ..settings.clone() };
    assert_eq!(settings.clone().over(Settings::default()), of_project, "over nothing");
    assert_eq!(Settings::default().over(settings.clone()), settings, "below nothing");
}

/// The arguments follow the last NUL.
fn template(text: &str) {
    let (text, arguments) = text.rsplit_once('\0').unwrap_or((text, "one 'two three' \"\" four"));
    let path = Path::new("/w/review.md");
    let Ok(template) = Template::read(path, text, CommandLocation::Project) else { return };
    assert_eq!(template.name, "review");
    let expanded = template.expand(arguments);
    if !template.body.contains('$') {
        assert_eq!(expanded, template.body);
    }
    let places = template.body.matches('$').count();
    assert!(
        expanded.len() <= template.body.len() + places * arguments.len(),
        "no argument is put in twice for a place"
    );
}

fn skill(text: &str) {
    let path = Path::new("/w/tidy/SKILL.md");
    let Ok((skill, _)) = Skill::read(path, text, CommandLocation::User) else { return };
    assert!(!skill.name.is_empty() && !skill.description.trim().is_empty());
    assert!(skill.expand(text, "now").ends_with("now"));
}
