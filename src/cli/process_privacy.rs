//! Keeps the memory and the environment of this process from others of the same user.

use crate::{config::Environment, secrets::Secrets};

/// Where keys came in by the environment or the command line, and are not passed on: from now on `/proc` shows neither the
/// environment nor the memory of this process to others of its user, nobody of them can trace it, and it leaves no core.
/// The super-user can do all that still, and so can the user where the kernel knows no such switch.
pub fn hide(secrets: &Secrets, environment: &Environment, key_is_given: bool) {
    let withheld = secrets.withheld();
    if key_is_given || withheld.iter().any(|name| environment.get(name).is_some()) {
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
