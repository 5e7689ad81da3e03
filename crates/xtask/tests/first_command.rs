//! `cargo run` at the root is the program: this package has a binary, too, and is built by default.

const MANIFEST: &str = include_str!("../../../Cargo.toml");

#[test]
fn cargo_run_is_the_program() {
    assert!(MANIFEST.lines().any(|line| line == r#"default-run = "pi-rpc""#));
}
