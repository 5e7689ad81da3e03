//! Changes of an `mcp.json`: the rest of the file stays as it is. Source: pi 1.6.0 source.

use super::mcp_entry::read_entry;
use pi_rpc_files::{
    private_files,
    regular_files::{self, CONFIGURATION},
};
use pi_rpc_protocol::JsonObject;
use serde::Serialize as _;
use serde_json::{Value, ser::PrettyFormatter};
use std::{
    io::{self, ErrorKind, Write as _},
    path::Path,
};

/// Adds a server, or replaces the one of this name; says which.
///
/// # Errors
///
/// The entry is wrong, or the file cannot be read, understood or written.
pub fn add(path: &Path, name: &str, entry: JsonObject) -> Result<bool, String> {
    let entry = Value::Object(entry);
    read_entry(name, &entry, path, false)?;
    change(path, |servers| servers.insert(name.to_owned(), entry).is_some())
}

/// Removes a server; says whether there was one.
///
/// # Errors
///
/// The file cannot be read, understood or written.
pub fn remove(path: &Path, name: &str) -> Result<bool, String> {
    match path.symlink_metadata() {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(false),
        _ => change(path, |servers| servers.shift_remove(name).is_some()),
    }
}

fn change(path: &Path, edit: impl FnOnce(&mut JsonObject) -> bool) -> Result<bool, String> {
    let failed = |error: io::Error| format!("Could not update {}: {error}", path.display());
    let text = match regular_files::read_to_string(path, CONFIGURATION) {
        Ok(text) => text,
        Err(error) if error.kind() == ErrorKind::NotFound => "{}".to_owned(),
        Err(error) => return Err(failed(error)),
    };
    let text = text.trim_start_matches('\u{feff}');
    let expected = || format!("{}: expected an object with an \"mcpServers\" object", path.display());
    let mut file: Value = serde_json::from_str(text)
        .map_err(|error| format!("Could not update {}: {error}", path.display()))?;
    let members = file.as_object_mut().ok_or_else(expected)?;
    let servers = members.entry("mcpServers").or_insert_with(|| Value::Object(JsonObject::new()));
    let before = servers.clone();
    let done = edit(servers.as_object_mut().ok_or_else(expected)?);
    if *servers != before {
        write(path, &file, indentation(text)).map_err(failed)?;
    }
    Ok(done)
}

/// The blanks before the first member of the file.
fn indentation(text: &str) -> &str {
    let mut lines = text.lines().map(|line| &line[..line.len() - line.trim_start_matches([' ', '\t']).len()]);
    lines.find(|blanks| !blanks.is_empty()).unwrap_or("  ")
}

/// Replaces the file as a whole, with the mode that it had; links to it stay.
fn write(path: &Path, file: &Value, indentation: &str) -> io::Result<()> {
    let mut text = Vec::new();
    let formatter = PrettyFormatter::with_indent(indentation.as_bytes());
    file.serialize(&mut serde_json::Serializer::with_formatter(&mut text, formatter))?;
    text.push(b'\n');
    let target = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let folder = target.parent().unwrap_or(Path::new("."));
    private_files::create_folder(folder)?;
    let mut made = tempfile::Builder::new().prefix(".mcp").suffix(".json").tempfile_in(folder)?;
    made.write_all(&text)?;
    if let Ok(found) = target.metadata() {
        made.as_file().set_permissions(found.permissions())?;
    }
    made.as_file().sync_all()?;
    made.persist(&target).map_err(|failed| failed.error)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;
    use std::fs;

    fn entry(value: Value) -> JsonObject {
        value.as_object().unwrap().clone()
    }

    #[test]
    fn changes_keep_the_rest_of_the_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("agent/mcp.json");
        assert_eq!(add(&path, "a", entry(json!({ "command": "x" }))), Ok(false));
        let made = "{\n  \"mcpServers\": {\n    \"a\": {\n      \"command\": \"x\"\n    }\n  }\n}\n";
        assert_eq!(fs::read_to_string(&path).unwrap(), made);
        fs::write(&path, "{\n\t\"other\": 1.50,\n\t\"mcpServers\": {\"b\": {\"command\": \"y\"}}\n}")
            .unwrap();
        assert_eq!(add(&path, "b", entry(json!({ "url": "https://h/" }))), Ok(true));
        assert_eq!((remove(&path, "none"), remove(&path, "b")), (Ok(false), Ok(true)));
        assert_eq!(fs::read_to_string(&path).unwrap(), "{\n\t\"other\": 1.5,\n\t\"mcpServers\": {}\n}\n");
    }

    #[test]
    fn wrong_entries_and_files_change_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("mcp.json");
        let wrong = add(&path, "a b", entry(json!({ "command": "x" }))).unwrap_err();
        assert_eq!(wrong, "invalid server name \"a b\" (use letters, digits, \"_\" and \"-\")");
        assert_eq!(remove(&path, "a"), Ok(false));
        assert!(!path.exists());
        for text in ["[]", "{\"mcpServers\": 1}", "{"] {
            fs::write(&path, text).unwrap();
            add(&path, "a", entry(json!({ "command": "x" }))).unwrap_err();
            assert_eq!(fs::read_to_string(&path).unwrap(), text);
        }
    }
}
