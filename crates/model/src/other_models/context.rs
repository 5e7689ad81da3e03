//! The shapes of what scripts give to these models.

use serde_json::Value;

/// The shape of a classifier's context, for errors.
const CLASSIFIER: &str = "{ state: {…}, images?: [{ type: \"image\", data, mimeType }], questions: { ID: { type: \"choice\", instructions, \
                          criteria: { LABEL: meaning } } | { type: \"score\", instructions, criteria: [lowest, …, highest] } | \
                          { type: \"bool\", instructions, criteria: { true: meaning, false: meaning } } } }";

/// The shape of a context for images, for errors.
const IMAGES: &str = "{ input: [{ type: \"text\", text }, { type: \"image\", data, mimeType }, …] }";

/// Checks the context of a classifier.
pub fn check_classifier(context: &Value) -> Result<(), String> {
    let wrong = |problem: String| format!("models.classify(): {problem}; expected {CLASSIFIER}");
    if !context.get("state").is_some_and(Value::is_object) {
        return Err(wrong("state: expected an object".to_owned()));
    }
    match context.get("images") {
        None => {}
        Some(Value::Array(images)) if images.iter().all(is_image) => {}
        Some(_) => return Err(wrong("images: expected image blocks".to_owned())),
    }
    let questions = context.get("questions").and_then(Value::as_object).filter(|it| !it.is_empty());
    let questions = questions.ok_or_else(|| wrong("questions: expected questions by id".to_owned()))?;
    for (id, question) in questions {
        let wrong = |problem: &str| wrong(format!("questions.{id}{problem}"));
        if !question.get("instructions").is_some_and(Value::is_string) {
            return Err(wrong(".instructions: expected a string"));
        }
        let criteria = question.get("criteria");
        let meaning = |label: &str| criteria.and_then(|it| it.get(label)).is_some_and(Value::is_string);
        let labels = criteria.and_then(Value::as_object).filter(|it| !it.is_empty());
        let levels = criteria.and_then(Value::as_array).filter(|it| !it.is_empty());
        match question.get("type").and_then(Value::as_str) {
            Some("choice") if labels.is_some_and(|it| it.values().all(Value::is_string)) => {}
            Some("choice") => return Err(wrong(".criteria: expected the meaning of each label")),
            Some("score") if levels.is_some_and(|it| it.iter().all(Value::is_string)) => {}
            Some("score") => return Err(wrong(".criteria: expected the levels as strings, lowest first")),
            Some("bool") if meaning("true") && meaning("false") => {}
            Some("bool") => return Err(wrong(".criteria: expected the meanings of true and false")),
            _ => return Err(wrong(".type: expected choice, score or bool")),
        }
    }
    Ok(())
}

/// Checks the context of a model for images.
pub fn check_images(context: &Value) -> Result<(), String> {
    let is_text = |block: &Value| {
        block.get("type").is_some_and(|it| it == "text") && block.get("text").is_some_and(Value::is_string)
    };
    let input = context.get("input").and_then(Value::as_array).filter(|input| !input.is_empty());
    match input {
        Some(input) if input.iter().all(|block| is_text(block) || is_image(block)) => Ok(()),
        _ => {
            Err(format!("models.generateImages(): input: expected text and image blocks; expected {IMAGES}"))
        }
    }
}

fn is_image(block: &Value) -> bool {
    block.get("type").is_some_and(|it| it == "image") && super::image_parts(block).is_some()
}
