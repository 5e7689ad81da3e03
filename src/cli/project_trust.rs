//! Asks extensions of the user whether a project is trusted, as pi does before it reads anything of the project.

use super::{extensions, options::HostOptions};
use pi_rpc_config::{Config, Environment, ExtensionDecision, save_decision};
use pi_rpc_extension::{NodeHost, TrustQuestion, ask_project_trust, may_decide_trust};
use pi_rpc_files::secrets::redact_command_line;
use pi_rpc_protocol::DialectExtensionApi;
use std::{ffi::OsString, path::Path};

/// The decision of the first extension that decides; `None`: none does, or there is nothing to decide. `config` is that of a
/// project without a decision. Extensions that cannot be asked refuse the project.
pub fn decide(
    config: &Config,
    options: &HostOptions,
    arguments: &[OsString],
    directory: &Path,
    environment: &Environment,
) -> Option<ExtensionDecision> {
    let has_event = config.dialect.record().extension_api == DialectExtensionApi::V15;
    let home = environment.get("HOME").map(Path::new);
    if !has_event || options.approve.is_some() || config.approval.gated(home).is_empty() {
        return None;
    }
    let members = extensions::members_of_user(config, options, directory, environment);
    if !members.iter().any(|path| may_decide_trust(Path::new(path))) {
        return None;
    }
    // Without a runtime none of them is loaded, which is told with each.
    let node = NodeHost::find(environment).ok()?;
    let agent = &config.directories.agent;
    let question = TrustQuestion {
        dialect: config.dialect,
        directory: directory.to_owned(),
        agent_directory: agent.clone(),
        members,
        arguments: redact_command_line(arguments.iter().map(OsString::as_os_str)),
    };
    match ask_project_trust(&node, &question, config.keys.secrets()) {
        Ok(answer) => {
            let answer = answer?;
            let decision = answer.decision();
            if answer.remember
                && let Err(error) = save_decision(agent, directory, decision.approves)
            {
                tracing::warn!("{}: the decision is not saved: {error}", agent.display());
            }
            Some(decision)
        }
        Err(error) => {
            tracing::warn!("project_trust: {error}; the project is not approved");
            let by = format!("project_trust ({error})");
            Some(ExtensionDecision { approves: false, by })
        }
    }
}
