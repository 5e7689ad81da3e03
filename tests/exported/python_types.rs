//! The types of frames for extensions in Python are generated from the schema.

use pi_rpc::export::python_types;
use std::{env, fs, path::Path};

#[test]
fn python_types_are_those_of_schema() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/extensions/pi_rpc_frames.py");
    let generated = python_types() + "\n";
    if env::var_os("UPDATE").is_some() {
        fs::write(&path, &generated).unwrap();
    }
    let kept = fs::read_to_string(&path).unwrap_or_default();
    assert!(
        kept == generated,
        "{} is not what `pi-rpc schema --format python` prints; run cargo bless",
        path.display()
    );
}
