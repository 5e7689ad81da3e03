//! Hides the memory and environment of this process from other processes of the user.

use pi_rpc_config::Environment;
use pi_rpc_files::secrets::Secrets;

/// Makes this process non-dumpable if it got keys by its environment or command line that it withholds from children.
/// `/proc` then shows neither its environment nor its memory to other processes of the user, they cannot trace it, and it
/// leaves no core dump. The super-user still can; without support of the kernel, so can the user.
pub fn hide(secrets: &Secrets, environment: &Environment, key_is_given: bool) {
    let children = secrets.child_environment();
    if key_is_given || environment.names().any(|name| children.withholds(name)) {
        hide_process();
    }
}

#[cfg(target_os = "linux")]
fn hide_process() {
    use rustix::process::{DumpableBehavior, set_dumpable_behavior};
    if let Err(error) = set_dumpable_behavior(DumpableBehavior::NotDumpable) {
        tracing::warn!("keys stay visible below /proc to other programs of this user: {error}");
    }
}

#[cfg(not(target_os = "linux"))]
const fn hide_process() {}
