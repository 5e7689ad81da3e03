//! OpenAI's Decisions API.

use super::{
    OtherModel, OtherRequest,
    classifier_answer::{Predicate, ReadAnswer},
    data_url, images, questions,
};
use pi_rpc_protocol::{JsonObject, Usage};
use serde_json::{Value, json};

/// How many images a request may have.
const MAX_IMAGES: usize = 128;

/// Answers to yes or no.
const PREDICATE: Predicate = Predicate { kind: "predicate", member: "probability", noun: "a predicate" };

/// Makes the request.
pub fn request(model: &OtherModel, context: &Value) -> Result<OtherRequest, String> {
    let images = images(context);
    if images.len() > MAX_IMAGES {
        return Err(format!("{} accepts at most {MAX_IMAGES} images, got {}", model.label(), images.len()));
    }
    let state = context.get("state").map(Value::to_string).unwrap_or_default();
    let input = match images.is_empty() {
        true => Value::from(state),
        false => {
            let text = json!({ "type": "input_text", "text": state });
            let images = images
                .into_iter()
                .map(|image| json!({ "type": "input_image", "image_url": data_url(image) }));
            json!([{ "role": "user", "content": std::iter::once(text).chain(images).collect::<Vec<_>>() }])
        }
    };
    let questions: Vec<Value> =
        questions(context).map(|(id, question)| wire_question(id, question)).collect();
    let body = json!({ "model": model.id, "input": input, "questions": questions });
    Ok(OtherRequest { url: model.url("decisions"), headers: Vec::new(), body })
}

fn wire_question(id: &str, question: &Value) -> Value {
    let (instructions, criteria) = (&question["instructions"], &question["criteria"]);
    match question["type"].as_str() {
        Some("choice") => {
            let choices =
                criteria.as_object().into_iter().flatten().map(|(value, meaning)| match meaning.as_str() {
                    None | Some("") => json!({ "value": value }),
                    Some(meaning) => json!({ "value": value, "description": meaning }),
                });
            let choices: Vec<Value> = choices.collect();
            json!({ "type": "choice", "name": id, "instructions": instructions, "choices": choices })
        }
        Some("score") => {
            let levels = criteria.as_array().into_iter().flatten().map(|label| json!({ "label": label }));
            let levels: Vec<Value> = levels.collect();
            json!({ "type": "score", "name": id, "instructions": instructions, "levels": levels })
        }
        // This kind has no criteria.
        _ => {
            let meanings = [("True", &criteria["true"]), ("False", &criteria["false"])];
            let meanings = meanings.iter().filter_map(|(value, meaning)| Some((value, meaning.as_str()?)));
            let meanings = meanings.filter(|(_, meaning)| !meaning.is_empty());
            let meanings: Vec<String> =
                meanings.map(|(value, meaning)| format!("{value} means: {meaning}")).collect();
            let instructions = instructions.as_str().unwrap_or_default();
            let text = match meanings.is_empty() {
                true => instructions.to_owned(),
                false => format!("{instructions}\n\n{}", meanings.join("\n")),
            };
            json!({ "type": "predicate", "name": id, "instructions": text })
        }
    }
}

/// Reads the answer.
pub fn answer(model: &OtherModel, context: &Value, body: &Value) -> (Option<Usage>, Result<Value, String>) {
    // What cannot be read was billed as well.
    (model.classifier_usage(body.get("usage")), answers(model, context, body))
}

fn answers(model: &OtherModel, context: &Value, body: &Value) -> Result<Value, String> {
    let given = body["answers"].as_array().ok_or_else(|| model.wrong("an unexpected response"))?;
    let mut answers = JsonObject::new();
    for (id, question) in questions(context) {
        let missing = |kind: &str| format!("{} did not return {kind} answer for {id}", model.label());
        let answer = given.iter().rfind(|answer| answer["name"] == **id).ok_or_else(|| missing("an"))?;
        if answer["type"] == "refusal" {
            return Err(format!("{} refused to answer {id}", model.label()));
        }
        let listed = answer["probabilities"].as_array().into_iter().flatten();
        let listed =
            listed.map(|it| Some((it["value"].as_str()?.to_owned(), it.get("probability")?.clone())));
        let read = ReadAnswer { model, id, answer, probabilities: listed.collect(), predicate: &PREDICATE };
        let read = read.read_for(question)?;
        answers.insert(id.clone(), read);
    }
    Ok(answers.into())
}
