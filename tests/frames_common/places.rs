//! Places in a frame.

use super::{Frames, ref_name};
use serde_json::Value;

/// A value of a def, somewhere in a frame.
pub struct Place<'v> {
    pub def: String,
    /// JSON pointer from the frame.
    pub pointer: String,
    pub value: &'v Value,
    /// Whether it lies in a union that has no tag, so that a mistake in it is one in each branch.
    pub untagged: bool,
}

impl Frames {
    /// Every value of a def in `frame`, which is a `root`; what holds others comes before them.
    pub fn places<'v>(&self, root: &str, frame: &'v Value) -> Vec<Place<'v>> {
        let mut places = Vec::new();
        self.visit_def(root, frame, String::new(), false, &mut places);
        places
    }

    fn visit_def<'v>(
        &self,
        def: &str,
        value: &'v Value,
        pointer: String,
        untagged: bool,
        into: &mut Vec<Place<'v>>,
    ) {
        let schema = &self.defs[def];
        into.push(Place { def: def.to_owned(), pointer: pointer.clone(), value, untagged });
        self.visit(schema, value, &pointer, untagged, into);
        for (key, property) in schema["properties"].as_object().into_iter().flatten() {
            if let Some(inner) = value.get(key) {
                self.visit(property, inner, &format!("{pointer}/{key}"), untagged, into);
            }
        }
    }

    fn visit<'v>(
        &self,
        schema: &Value,
        value: &'v Value,
        pointer: &str,
        untagged: bool,
        into: &mut Vec<Place<'v>>,
    ) {
        if let Some(name) = ref_name(schema) {
            return self.visit_def(name, value, pointer.to_owned(), untagged, into);
        }
        if let Some(branches) = schema["oneOf"].as_array() {
            let nullable = branches.iter().any(|branch| branch["type"] == "null");
            let untagged = untagged || !nullable && schema.get("discriminator").is_none();
            let branch = branches.iter().find(|branch| self.may_be(branch, value));
            return self.visit(branch.expect("a branch for a valid value"), value, pointer, untagged, into);
        }
        for (index, item) in value.as_array().into_iter().flatten().enumerate() {
            self.visit(&schema["items"], item, &format!("{pointer}/{index}"), untagged, into);
        }
    }
}
