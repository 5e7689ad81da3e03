//! OpenAPI and AsyncAPI documents: valid for the parsers of those who make them, and no frame is refused by the OpenAPI one.

use crate::{
    corpus::{families, samples},
    toolchain_support::{packages, run},
};
use jsonschema::Validator;
use pi_rpc::{
    export::{Part, asyncapi, openapi},
    protocol::Dialect,
};
use serde_json::{Value, json};
use std::{fs, path::Path, process::Command};

#[test]
fn documents_are_valid_for_their_parsers() {
    let Some(home) = packages("generators/documents") else { return };
    // Imports are resolved from where the file is.
    let script = home.join("validate.mjs");
    fs::copy("generators/documents/validate.mjs", &script).expect("validate.mjs");
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("generators/documents");
    fs::create_dir_all(&folder).expect("a folder below target");
    let mut node = Command::new("node");
    node.arg(script);
    for dialect in families() {
        for (name, document) in [("openapi", openapi(dialect, Part::All)), ("asyncapi", asyncapi(dialect))] {
            let file = folder.join(format!("{dialect}.{name}.json"));
            fs::write(&file, document.to_string()).expect("a document");
            node.arg(file);
        }
    }
    run(&mut node).unwrap_or_else(|error| panic!("{error}"));
}

#[test]
fn openapi_schemas_take_every_frame() {
    for dialect in families() {
        let document = openapi(dialect, Part::All);
        let [inbound, outbound] = ["Inbound", "Outbound"].map(|root| validator(&document, root));
        for sample in samples(dialect) {
            let validator = if sample.root() == "Inbound" { &inbound } else { &outbound };
            let errors: Vec<String> = validator.iter_errors(&sample.frame).map(|it| it.to_string()).collect();
            assert!(errors.is_empty(), "{dialect}: {}: {errors:?}", sample.frame);
        }
    }
}

#[test]
fn every_frame_is_in_an_operation() {
    for dialect in Dialect::ALL {
        let document = asyncapi(dialect);
        let operations = document["operations"].to_string();
        for channel in ["stdin", "stdout"] {
            for frame in document["channels"][channel]["messages"].as_object().expect("messages").keys() {
                let message = format!("\"#/channels/{channel}/messages/{frame}\"");
                assert!(operations.contains(&message), "{dialect}: {message}");
            }
        }
    }
}

/// A validator of what a component of the document accepts.
fn validator(document: &Value, component: &str) -> Validator {
    let schemas = &document["components"];
    let schema = json!({ "$ref": format!("#/components/schemas/{component}"), "components": schemas });
    jsonschema::draft202012::new(&schema).expect("a JSON Schema")
}
