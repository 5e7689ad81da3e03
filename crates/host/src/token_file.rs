//! The file with the tokens that are let in.

use super::{limits::TokenLimits, principal::Principal};
use serde::Deserialize;
use serde_json::Value;

/// A token that is let in.
#[derive(Clone, Debug, PartialEq)]
pub struct KnownToken {
    /// SHA-256 of the token.
    pub hash: [u8; 32],
    /// The name of its principal.
    pub name: String,
    /// What its holder may do.
    pub limits: TokenLimits,
}

/// The JSON form.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct TokenFile {
    tokens: Vec<WrittenToken>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenToken {
    sha256: String,
    name: String,
    #[serde(default)]
    limits: TokenLimits,
}

const HASH_EXPECTED: &str = "expected the SHA-256 of a token, 64 hexadecimal digits";

/// Parses a file of tokens: an object, or a hash on each line, which has no limits (`#` begins a comment).
///
/// # Errors
///
/// The text is neither, a name or a limit is wrong.
pub fn parse(text: &str) -> Result<Vec<KnownToken>, String> {
    match text.trim_start().starts_with('{') {
        true => parse_object(text),
        false => parse_lines(text),
    }
}

fn parse_lines(text: &str) -> Result<Vec<KnownToken>, String> {
    let mut tokens = Vec::new();
    for (number, line) in (1..).zip(text.lines()) {
        let digits = line.split('#').next().unwrap_or_default().trim();
        if digits.is_empty() {
            continue;
        }
        let hash = from_hex(digits).ok_or_else(|| format!("line {number}: {HASH_EXPECTED}"))?;
        tokens.push(KnownToken { hash, name: name_of(&hash), limits: TokenLimits::of_line() });
    }
    Ok(tokens)
}

fn parse_object(text: &str) -> Result<Vec<KnownToken>, String> {
    let mut deserializer = serde_json::Deserializer::from_str(text);
    let file: TokenFile = serde_path_to_error::deserialize(&mut deserializer)
        .map_err(|error| format!("`{}`: {}", error.path(), error.inner()))?;
    deserializer.end().map_err(|error| error.to_string())?;
    let written: Value = serde_json::from_str(text).map_err(|error| error.to_string())?;
    for (at, token) in written["tokens"].as_array().into_iter().flatten().enumerate() {
        TokenLimits::refuse_nulls(&token["limits"]).map_err(|error| format!("`tokens[{at}]`: {error}"))?;
    }
    let known = file.tokens.into_iter().enumerate().map(|(at, WrittenToken { sha256, name, limits })| {
        let wrong = |reason: String| format!("`tokens[{at}]`: {reason}");
        Principal::check_name(&name).map_err(wrong)?;
        let hash = from_hex(&sha256).ok_or_else(|| wrong(format!("sha256: {HASH_EXPECTED}")))?;
        limits.validate().map_err(wrong)?;
        Ok(KnownToken { hash, name, limits })
    });
    known.collect()
}

/// The beginning of the name of a token without one.
const UNNAMED: &str = "token-";

/// The name of a token without one: all of its hash, so that no other token has the same.
pub fn name_of(hash: &[u8; 32]) -> String {
    let digits: String = hash.iter().map(|byte| format!("{byte:02x}")).collect();
    format!("{UNNAMED}{digits}")
}

/// Whether a name is that of a token without one.
pub fn is_name_of_hash(name: &str) -> bool {
    name.strip_prefix(UNNAMED).is_some_and(|digits| from_hex(digits).is_some())
}

fn from_hex(text: &str) -> Option<[u8; 32]> {
    let mut bytes = [0; 32];
    let digits: Vec<u8> =
        text.chars().map(|digit| digit.to_digit(16).map(|it| it as u8)).collect::<Option<_>>()?;
    if digits.len() != 64 {
        return None;
    }
    for (byte, pair) in bytes.iter_mut().zip(digits.chunks(2)) {
        *byte = pair[0] << 4 | pair[1];
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// SHA-256 of `secret`.
    const HASH: &str = "2bb80d537b1da3e38bd30361aa855686bde0eacd7162fef6a25fe97bf527a25b";

    #[test]
    fn lines_have_no_limits() {
        let known = parse(&format!("# ours\n{HASH} # mine\n")).unwrap();
        let token = KnownToken {
            hash: from_hex(HASH).unwrap(),
            name: format!("token-{HASH}"),
            limits: TokenLimits::of_line(),
        };
        assert_eq!(known, [token]);
    }

    #[test]
    fn objects_have_names_and_limits() {
        let text = format!(
            r#"{{"tokens":[{{"sha256":"{HASH}","name":"ci","limits":{{"sessions":2,"tools":["read"]}}}}]}}"#
        );
        let known = parse(&text).unwrap();
        let limits =
            TokenLimits { sessions: Some(2), tools: Some(vec!["read".to_owned()]), ..TokenLimits::default() };
        assert_eq!(known, [KnownToken { hash: from_hex(HASH).unwrap(), name: "ci".to_owned(), limits }]);
    }

    #[test]
    fn faults_name_their_place() {
        let object = |token: &str| parse(&format!(r#"{{"tokens":[{token}]}}"#)).unwrap_err();
        assert_eq!(parse("\nsecret").unwrap_err(), format!("line 2: {HASH_EXPECTED}"));
        let short = object(r#"{"sha256":"ab","name":"a"}"#);
        assert_eq!(short, format!("`tokens[0]`: sha256: {HASH_EXPECTED}"));
        for (name, reason) in [
            ("local", "\"local\" is that of clients without a token; expected another one"),
            ("a\\n", "expected a name without control characters, got \"a\\n\""),
            ("a ", "expected a name without blanks at its ends, got \"a \""),
        ] {
            let refused = object(&format!(r#"{{"sha256":"{HASH}","name":"{name}"}}"#));
            assert_eq!(refused, format!("`tokens[0]`: name: {reason}"));
        }
        let relative = object(&format!(r#"{{"sha256":"{HASH}","name":"a","limits":{{"roots":["x"]}}}}"#));
        assert_eq!(relative, "`tokens[0]`: roots: expected absolute paths, got \"x\"");
        let null = object(&format!(r#"{{"sha256":"{HASH}","name":"a","limits":{{"tools":null}}}}"#));
        let text = "limits.tools: expected a limit, got null; leave it out where there is none";
        assert_eq!(null, format!("`tokens[0]`: {text}"));
        let unknown = object(&format!(r#"{{"sha256":"{HASH}","name":"a","limits":{{"root":["/"]}}}}"#));
        assert!(unknown.starts_with("`tokens[0].limits.root`: unknown field `root`"), "{unknown}");
    }
}
