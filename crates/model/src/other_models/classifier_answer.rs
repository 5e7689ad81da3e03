//! An answer of a classifier to one question, in the form that scripts get.

use super::OtherModel;
use pi_rpc_protocol::JsonObject;
use serde_json::{Value, json};

/// How an API answers questions of yes or no.
pub struct Predicate {
    /// The `type` of the answer.
    pub kind: &'static str,
    /// The member with the probability.
    pub member: &'static str,
    /// What errors call it.
    pub noun: &'static str,
}

/// An answer that is to be read.
pub struct ReadAnswer<'a> {
    /// The model that has given it.
    pub model: &'a OtherModel,
    /// The id of the question.
    pub id: &'a str,
    /// The answer as the API gives it.
    pub answer: &'a Value,
    /// The probability of each label of a choice, if the answer lists them.
    pub probabilities: Option<JsonObject>,
    /// How the API answers questions of yes or no.
    pub predicate: &'a Predicate,
}

impl ReadAnswer<'_> {
    /// The answer, if it is of the type that was asked for and whole.
    pub fn read_for(self, question: &Value) -> Result<Value, String> {
        let Self { model, id, answer, probabilities, predicate } = self;
        let missing = |kind: &str| format!("{} did not return {kind} answer for {id}", model.label());
        let number = |key: &str| model.number(answer.get(key), &format!("{key} for {id}"));
        let is = |kind: &str| answer["type"] == kind;
        match question["type"].as_str() {
            Some("choice") => {
                let choice = answer["choice"].as_str().filter(|_| is("choice"));
                let choice = choice.ok_or_else(|| missing("a choice"))?;
                let listed = probabilities.filter(|listed| listed.values().all(Value::is_number));
                let listed = listed.ok_or_else(|| model.wrong(&format!("invalid probabilities for {id}")))?;
                let confidence = number("confidence")?;
                Ok(
                    json!({ "type": "choice", "choice": choice, "probabilities": listed, "confidence": confidence }),
                )
            }
            Some("score") if is("score") => {
                Ok(json!({ "type": "score", "score": number("score")?, "confidence": number("confidence")? }))
            }
            Some("score") => Err(missing("a score")),
            _ if is(predicate.kind) => {
                Ok(json!({ "type": "bool", "probability": number(predicate.member)? }))
            }
            _ => Err(missing(predicate.noun)),
        }
    }
}
