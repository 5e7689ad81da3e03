//! Abilities of models, by their ids and names: one API serves the models of many vendors.

use pi_rpc_protocol::Model;

/// Abilities of a model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ModelTraits {
    /// Whether it is one of Anthropic's, which sign their thinking.
    pub is_claude: bool,
    /// Whether it decides by itself how long to think.
    pub is_adaptive: bool,
    /// Whether it takes the effort `xhigh`, and says what becomes of thinking that does not belong to the conversation.
    pub is_newest: bool,
    /// The word that it takes for thinking, if it is one of OpenAI's.
    pub openai: Option<OpenaiEffort>,
    /// Whether it caches the conversation up to a mark.
    pub caches: bool,
    /// Whether a call of one tool can be forced.
    pub takes_tool_choice: bool,
}

/// How a model of OpenAI's takes its effort.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OpenaiEffort {
    /// `reasoning_effort`.
    Plain,
    /// `reasoning.effort`.
    Nested,
}

/// Generations of Claude that take the effort `xhigh`. Source: pi source.
const NEWEST: [&str; 6] = ["opus-4-7", "opus-4-8", "opus-5", "sonnet-5", "haiku-5", "fable-5"];
/// Those before them that decide how long to think. Source: pi source.
const ADAPTIVE: [&str; 2] = ["opus-4-6", "sonnet-4-6"];
/// Generations of Claude that cache. Source: pi source; the vendor's page on prompt caching.
const CACHING: [&str; 7] =
    ["fable-5", "opus-5", "sonnet-5", "haiku-5", "-4-", "claude-3-7-sonnet", "claude-3-5-haiku"];

impl ModelTraits {
    /// The abilities of `model`; `caches_always`: the user says that other models than Claude cache.
    pub fn of(model: &Model, caches_always: bool) -> Self {
        let texts = [model.id.to_lowercase(), model.name.to_lowercase()];
        let spellings = texts.iter().flat_map(|text| [text.clone(), hyphenated(text)]);
        let spellings: Vec<String> = spellings.collect();
        let has = |part: &str| spellings.iter().any(|text| text.contains(part));
        let has_any = |parts: &[&str]| parts.iter().any(|part| has(part));
        let [id, name] = &texts;
        let is_claude = name.contains("claude")
            || ["anthropic.claude", "anthropic/claude"].iter().any(|it| id.contains(it));
        let is_newest = has_any(&NEWEST);
        let openai = match (has("gpt-oss"), has("gpt-")) {
            (true, _) => Some(OpenaiEffort::Plain),
            (false, true) => Some(OpenaiEffort::Nested),
            (false, false) => None,
        };
        Self {
            is_claude,
            is_adaptive: is_newest || has_any(&ADAPTIVE),
            is_newest,
            openai: openai.filter(|_| !is_claude),
            caches: if has("claude") { has_any(&CACHING) } else { caches_always },
            takes_tool_choice: is_claude || has("nova"),
        }
    }
}

/// The text with each run of separators as one hyphen.
fn hyphenated(text: &str) -> String {
    let mut words = text.split(|found: char| found.is_whitespace() || "_.:".contains(found)).peekable();
    let mut joined = words.next().unwrap_or_default().to_owned();
    while let Some(word) = words.next() {
        if word.is_empty() && words.peek().is_some() {
            continue;
        }
        joined.push('-');
        joined.push_str(word);
    }
    joined
}
