//! Names of tools, as models call them. Source: pi 1.6.0 source.

use sha2::{Digest as _, Sha256};
use std::collections::BTreeSet;

/// The longest name that providers take.
const LONGEST: usize = 64;

/// Digits of the hash that tells names apart.
const HASH_DIGITS: usize = 8;

/// The names of a server's tools: `mcp__SERVER__TOOL`, with a hash where that is too long, taken, or the same for two of them.
pub(crate) fn tool_names(server: &str, tools: &[&str], taken: &BTreeSet<String>) -> Vec<String> {
    let plain: Vec<String> = tools.iter().map(|tool| plain_name(server, tool)).collect();
    let mut counts = std::collections::BTreeMap::<&str, usize>::new();
    plain.iter().for_each(|name| *counts.entry(name).or_default() += 1);
    let named = tools.iter().zip(&plain).map(|(tool, name)| {
        let is_free = name.len() <= LONGEST && !taken.contains(name) && counts.get(name.as_str()) == Some(&1);
        if is_free { name.clone() } else { hashed_name(server, tool, name) }
    });
    named.collect()
}

/// The namespace of a server's tools.
pub(crate) fn namespace(server: &str) -> String {
    format!("mcp__{}", server.replace('-', "_"))
}

/// What the names of a server's tools begin with.
pub fn tool_prefix(server: &str) -> String {
    plain_name(server, "")
}

fn plain_name(server: &str, tool: &str) -> String {
    let letters = |c: char| if c.is_ascii_alphanumeric() || c == '_' { c } else { '_' };
    format!("mcp__{server}__{tool}").chars().map(letters).collect()
}

fn hashed_name(server: &str, tool: &str, plain: &str) -> String {
    let digest = Sha256::digest(format!("{server}\0{tool}"));
    let hash: String =
        digest.iter().flat_map(|byte| [byte >> 4, byte & 15]).take(HASH_DIGITS).map(digit).collect();
    let kept = plain.len().min(LONGEST - HASH_DIGITS - 1);
    format!("{}_{hash}", &plain[..kept])
}

fn digit(value: u8) -> char {
    char::from_digit(value.into(), 16).unwrap_or('0')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colliding_and_long_names_get_hashes() {
        let names = |tools: &[&str]| tool_names("s-1", tools, &BTreeSet::new());
        assert_eq!(names(&["echo", "a b"]), ["mcp__s_1__echo", "mcp__s_1__a_b"]);
        let [one, other] = &names(&["a-b", "a_b"])[..] else { panic!() };
        assert!(one != other && one.starts_with("mcp__s_1__a_b_") && one.len() == 22, "{one} {other}");
        let long = names(&["x".repeat(80).as_str(), "ü"]);
        assert_eq!((long[0].len(), long[1].as_str()), (64, "mcp__s_1___"));
        let taken = BTreeSet::from(["mcp__s_1__echo".to_owned()]);
        assert_ne!(tool_names("s-1", &["echo"], &taken), ["mcp__s_1__echo"]);
    }

    #[test]
    fn hash_is_that_of_pi() {
        // sha256("t\0a-b")
        let [name, _] = &tool_names("t", &["a-b", "a_b"], &BTreeSet::new())[..] else { panic!() };
        let digest = Sha256::digest("t\0a-b");
        assert_eq!(
            *name,
            format!("mcp__t__a_b_{:02x}{:02x}{:02x}{:02x}", digest[0], digest[1], digest[2], digest[3])
        );
    }
}
