//! Notes the commit and the target for `--version`.

#[path = "build/commit.rs"]
mod commit;

use std::{env, path::Path};

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rerun-if-changed=build");
    let root = env::var("CARGO_MANIFEST_DIR").expect("cargo sets CARGO_MANIFEST_DIR");
    if let Some(commit) = commit::find(Path::new(&root)) {
        println!("cargo:rustc-env=PI_RPC_COMMIT={commit}");
    }
    println!("cargo:rustc-env=PI_RPC_TARGET={}", env::var("TARGET").expect("cargo sets TARGET"));
}
