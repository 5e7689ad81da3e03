//! The tools that the description of a tool for scripts lists.

use super::declarations::{described, identifier};
use pi_rpc_model::types::ToolSpec;

/// The most tokens that listed tools take, where no setting says otherwise. Source: pi 1.6.0's `settings.md`.
pub const USUAL_BUDGET: u64 = 3000;

/// Characters of a token, by estimate. Source: pi 1.6.0's `settings.md`.
const CHARACTERS: u64 = 4;

/// How the tools that scripts can call are described to a model that has a tool for scripts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ScriptListing {
    /// Whether tools that scripts can call are only listed, and not declared to the model as well.
    pub replaces_declarations: bool,
    /// The most tokens of listed tools; scripts find the others.
    pub budget: u64,
}

impl Default for ScriptListing {
    fn default() -> Self {
        Self { replaces_declarations: false, budget: USUAL_BUDGET }
    }
}

/// Lists tools for the end of a description, each with what an extension says of its use; the cheapest first ones that the budget
/// is enough for, in their own order. `None`: there are none.
pub(crate) fn listed(tools: &[(&ToolSpec, &[String])], budget: u64) -> Option<String> {
    let section = |(spec, guidelines): &(&ToolSpec, &[String])| {
        let called = identifier(&spec.name);
        let name = if called == spec.name { String::new() } else { format!(" (`{}`)", spec.name) };
        let text =
            described(&spec.name, &spec.description, guidelines, &spec.parameters, spec.output.as_deref());
        format!("### `{called}`{name}\n{text}")
    };
    let sections: Vec<String> = tools.iter().map(section).collect();
    let cost = |text: &String| (text.encode_utf16().count() as u64).div_ceil(CHARACTERS);
    let mut cheapest: Vec<usize> = (0..sections.len()).collect();
    cheapest.sort_by_key(|at| cost(&sections[*at]));
    let mut left = budget;
    let fits = |at: &usize| match left.checked_sub(cost(&sections[*at])) {
        Some(rest) => {
            left = rest;
            true
        }
        None => false,
    };
    let shown: Vec<usize> = cheapest.into_iter().take_while(fits).collect();
    let all = sections.len();
    let count = shown.len();
    let shown: Vec<String> =
        sections.into_iter().enumerate().filter(|(at, _)| shown.contains(at)).map(|(_, text)| text).collect();
    let head = match all - count {
        0 if all == 0 => return None,
        0 => "Tools for scripts:".to_owned(),
        more => format!("Tools for scripts, without {more} that `searchTools` finds:"),
    };
    Some([vec![head], shown].concat().join("\n\n"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn spec(name: &str, description: &str) -> ToolSpec {
        let parameters = json!({ "type": "object", "properties": {}, "additionalProperties": false });
        ToolSpec {
            name: name.to_owned(),
            description: description.to_owned(),
            parameters: parameters.into(),
            exclusive: false,
            output: None,
        }
    }

    #[test]
    fn cheapest_tools_are_listed_in_their_order() {
        let (long, a, b) = (spec("long", &"words ".repeat(40)), spec("a-b", "A."), spec("b", "B."));
        let rule = ["Ask first.".to_owned()];
        let tools: [(&ToolSpec, &[String]); 3] = [(&long, &[]), (&b, &rule), (&a, &[])];
        let declared = |name: &str| {
            format!(
                "codemode tool declaration:\n```ts\ndeclare const tools: {{ {name}(args: {{}}): Promise<string>; }};\n```"
            )
        };
        let of_b = format!("### `b`\nB.\n- Ask first.\n\n{}", declared("b"));
        let of_a = format!("### `a_b` (`a-b`)\nA.\n\n{}", declared("a_b"));
        let head = "Tools for scripts, without 1 that `searchTools` finds:";
        assert_eq!(listed(&tools, 80), Some(format!("{head}\n\n{of_b}\n\n{of_a}")));
        assert_eq!(
            listed(&tools, 0).as_deref(),
            Some("Tools for scripts, without 3 that `searchTools` finds:")
        );
        assert!(listed(&tools, USUAL_BUDGET).unwrap().starts_with("Tools for scripts:\n\n### `long`"));
        assert_eq!(listed(&[], USUAL_BUDGET), None);
    }
}
