//! openapi-generator: models of Java with Jackson, from the OpenAPI document as it is.
//!
//! Not run with the others, as it takes more than a minute: `cargo test --test generators java -- --ignored`.

use crate::{
    corpus::families,
    judging::Bench,
    toolchain_support::{environment, had, run},
};
use pi_rpc::export::{Part, openapi};
use std::{fs, path::Path, process::Command};

/// Environment variable: 1 turns a missing JDK into a failure.
const REQUIRED: &str = "PI_RPC_REQUIRE_JDK";

/// What `generators/README.md` names: texts or lists are no type there, integers are long, and absence is null.
const MAPPINGS: &str = "MessageContent=Object,SystemContent=Object,ReplacedContent=Object";
const PROPERTIES: &str = "useOneOfDiscriminatorLookup=true,disallowAdditionalPropertiesIfNotPresent=false,openApiNullable=false,containerDefaultToNull=true,hideGenerationTimestamp=true";

#[test]
#[ignore = "takes more than a minute"]
fn java_models_read_every_frame() {
    let javac = run(Command::new("javac").arg("--version")).map_err(|error| format!("no JDK: {error}"));
    let Some(_) = had(javac, REQUIRED) else { return };
    let Some(python) = environment("generators/java/requirements.txt") else { return };
    let jar = "import openapi_generator_cli as it; print(it.__path__[0] + '/openapi-generator.jar')";
    let jar = run(Command::new(&python).args(["-c", jar])).expect("the generator");
    for dialect in families() {
        let bench = Bench::new("java", dialect);
        let document = bench.folder.join("openapi.json");
        fs::write(&document, openapi(dialect, Part::All).to_string()).expect("a document");
        let generated = bench.folder.join("generated");
        let _ = fs::remove_dir_all(&generated);
        let mut java = Command::new("java");
        java.args(["-jar", &jar, "generate", "-g", "java", "--library", "native", "-i"]).arg(&document);
        java.args(["--schema-mappings", MAPPINGS, "--additional-properties", PROPERTIES]);
        java.args(["--global-property", "models,supportingFiles,modelDocs=false,modelTests=false"]);
        run(java.arg("-o").arg(&generated)).unwrap_or_else(|error| panic!("{dialect}: {error}"));
        compile(&generated, &jar);
        let mut program = Command::new("java");
        program.arg("-cp").arg(format!("{}:{jar}", generated.join("classes").display())).arg("Use");
        let printed =
            run(program.arg(bench.folder.join("frames.jsonl"))).unwrap_or_else(|error| panic!("{error}"));
        bench.judge_samples(&bench.verdicts(&printed), true);
    }
}

/// Compiles the models; the generator's own file has the libraries that they need.
fn compile(generated: &Path, jar: &str) {
    let sources = generated.join("src/main/java/org/openapitools/client");
    let mut line =
        format!("javac -nowarn -proc:none -cp '{jar}' -d '{}'", generated.join("classes").display());
    for folder in [Path::new("generators/java"), &sources, &sources.join("model")] {
        line += &format!(" '{}'/*.java", folder.display());
    }
    run(Command::new("sh").args(["-c", &line])).unwrap_or_else(|error| panic!("{error}"));
}
