//! Extensions and the runtime of the Node host, what child processes do not get, and the folder of sessions.

use super::{Check, State, Surroundings};
use crate::cli::{extensions, options::HostOptions, session};
use pi_rpc_extension::NodeHost;
use pi_rpc_files::secrets::check_passed;
use pi_rpc_protocol::ExtensionError;
use rustix::fs::{Access, access};
use std::path::Path;

/// Checks extensions, Node, the environment of child processes and the folder of sessions.
pub fn check(surroundings: &Surroundings) -> Vec<Check> {
    let mut checks = extension_checks(surroundings);
    checks.push(keys_of_children(surroundings));
    checks.push(sessions(surroundings));
    checks
}

fn extension_checks(surroundings: &Surroundings) -> Vec<Check> {
    let Surroundings { config, working, environment } = surroundings;
    let found = extensions::find(config, &HostOptions::default(), &[], working, environment);
    let (setup, _) = match found {
        Ok(found) => found,
        Err(error) => return vec![Check::new(State::Broken, "extensions", error.0)],
    };
    let runtime = NodeHost::find(environment);
    // The lack of Node is reported once, not with each extension.
    let lacks_node = |text: &str| runtime.as_ref().is_err_and(|error| error == text);
    let needs_node = setup.hosted.is_some() || setup.troubles.iter().any(|it| lacks_node(&it.error));
    let mut checks = vec![node(&runtime, needs_node)];
    // All of pi's own stand as one in the list.
    let own = setup.extensions.len() - usize::from(setup.hosted.is_some());
    let hosted = setup.hosted.as_ref().map_or(0, |hosted| hosted.members.len());
    checks.push(Check::new(State::Ok, "extensions", format!("{own} executables, {hosted} of pi's own")));
    let check = |state, it: &ExtensionError| {
        Check::new(state, "extensions", format!("{}: {}", it.extension_path, it.error))
    };
    checks.extend(setup.excused.iter().map(|it| check(State::Note, it)));
    let broken = setup.troubles.iter().filter(|it| !lacks_node(&it.error));
    checks.extend(broken.map(|it| check(State::Broken, it)));
    checks
}

/// The runtime of pi's own extensions, which only they need.
fn node(runtime: &Result<NodeHost, String>, is_needed: bool) -> Check {
    let missing = if is_needed { State::Broken } else { State::Note };
    match runtime {
        Ok(host) => match host.version() {
            Ok(version) => Check::new(State::Ok, "node", format!("{version}, {}", host.runtime().display())),
            Err(error) => Check::new(missing, "node", format!("{}: {error}", host.runtime().display())),
        },
        Err(error) => {
            let text = if is_needed {
                "pi's own extensions are not loaded"
            } else {
                "pi's own extensions cannot be used"
            };
            Check::new(missing, "node", text).with_help(error)
        }
    }
}

/// The variables with keys that commands, extensions and servers of tools do not get.
fn keys_of_children(surroundings: &Surroundings) -> Check {
    let Surroundings { config, environment, .. } = surroundings;
    let wrong =
        config.settings.pass_keys.iter().enumerate().find_map(|(at, entry)| {
            check_passed(entry).err().map(|reason| format!("passKeys[{at}]: {reason}"))
        });
    if let Some(text) = wrong {
        return Check::new(State::Broken, "environment", text);
    }
    let secrets = config.keys.secrets();
    secrets.pass(&config.settings.pass_keys);
    let children = secrets.child_environment();
    let withheld: Vec<&str> = environment.names().filter(|name| children.withholds(name)).collect();
    if withheld.is_empty() {
        return Check::new(State::Ok, "environment", "no variable is withheld from commands and extensions");
    }
    let text = format!("withheld from commands and extensions: {}", withheld.join(", "));
    Check::new(State::Note, "environment", text)
        .with_help("--pass-keys NAMES or passKeys of your settings pass them")
}

fn sessions(surroundings: &Surroundings) -> Check {
    let Surroundings { config, working, environment } = surroundings;
    let folder = session::folders(config, &HostOptions::default(), working, environment).next();
    let Some(folder) = folder else {
        return Check::new(State::Broken, "sessions", "there is no folder for them");
    };
    let existing = folder.ancestors().find(|folder| folder.exists()).unwrap_or(Path::new("/"));
    let shown = folder.display();
    if !existing.is_dir() {
        return Check::new(
            State::Broken,
            "sessions",
            format!("{shown}: {} is not a folder", existing.display()),
        );
    }
    match access(existing, Access::WRITE_OK | Access::EXEC_OK) {
        Ok(()) => Check::new(State::Ok, "sessions", format!("{shown} can be written")),
        Err(error) => {
            let text = format!("{shown} cannot be written: {error}");
            let help = "--session-dir DIR or PI_CODING_AGENT_SESSION_DIR names another folder, --no-session keeps none";
            Check::new(State::Broken, "sessions", text).with_help(help)
        }
    }
}
