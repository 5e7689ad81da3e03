//! `--backend acp`: the agent that answers in place of models and tools, and the options that it leaves nothing to do for.

use super::options::{HostOptions, Refusal};
use pi_rpc_engine::BudgetLimits;
use pi_rpc_server::SessionOptions;
use std::ffi::OsString;

/// Refuses options that an agent cannot heed. Extensions of the settings are left out: their hooks could not prevent what
/// the agent does.
pub fn check(options: &mut HostOptions) -> Result<(), Refusal> {
    if options.agent.is_none() {
        return Ok(());
    }
    options.no_extensions = true;
    let models = "the agent has its own models; set_model chooses among them";
    let tools = "the agent has its own tools";
    let prompt = "the agent has its own system prompt";
    let run = "the agent decides how long it works on a prompt; session= limits the session";
    let given = [
        ("--provider", options.provider.is_some(), models),
        ("--model", options.model.is_some(), models),
        ("--models", options.models.is_some(), models),
        ("--api-key", options.api_key.is_some(), "the agent has its own credentials"),
        ("--wire-login", options.wire_login, "the agent has its own credentials"),
        ("--tools", options.tools.is_some(), tools),
        ("--no-tools", options.no_tools.is_some(), tools),
        ("--exclude-tools", !options.exclude_tools.is_empty(), tools),
        ("--confirm-tools", !options.confirm_tools.is_empty(), "the agent itself requests permissions"),
        ("--system-prompt", options.system_prompt.is_some(), prompt),
        ("--append-system-prompt", !options.append_system_prompt.is_empty(), prompt),
        ("--extension", !options.extensions.is_empty(), "extensions cannot prevent what the agent does"),
        (
            "--max-cost, --max-turns or --max-time of a run",
            options.budget.run != BudgetLimits::default(),
            run,
        ),
        ("--multi-session", options.multi_session, "one agent serves one session"),
    ];
    match given.into_iter().find(|(_, is_given, _)| *is_given) {
        Some((option, _, reason)) => {
            Err(Refusal(format!("{option} cannot be combined with --backend acp: {reason}"), super::USAGE))
        }
        None => Ok(()),
    }
}

/// Starts the agent, of which lines of at most `max_line` bytes are read, and gives the session its models.
///
/// # Errors
///
/// The agent cannot be started, or refuses a session.
#[cfg(feature = "acp")]
pub async fn start(
    agent: Vec<OsString>,
    max_line: usize,
    session: &mut SessionOptions,
) -> Result<(), String> {
    use pi_rpc_acp::backend::{AcpAgent, AcpOptions};
    use pi_rpc_prompt::Instructions;
    use pi_rpc_server::ModelLibrary;
    use pi_rpc_tools::ShellOptions;
    let mut words = agent.into_iter();
    let environment = &session.tool_environment;
    let options = AcpOptions {
        program: words.next().unwrap_or_default(),
        arguments: words.collect(),
        directory: environment.directory.clone(),
        shell: ShellOptions {
            shell: environment.shell.clone(),
            programs: environment.programs.clone(),
            environment: environment.secrets.child_environment(),
            ..ShellOptions::for_tool()
        },
        max_line,
    };
    let agent = AcpAgent::start(options).await?;
    let (models, current) = agent.models();
    session.library = ModelLibrary::of_agent(models.to_vec(), current);
    session.level = session.level.or(agent.level());
    // It would only be shown to the host: the agent has its own.
    session.system_prompt = Instructions(Vec::new());
    session.agent = Some(Box::new(agent));
    Ok(())
}

/// Refuses to start an agent: this program was built without the protocol.
#[cfg(not(feature = "acp"))]
pub async fn start(_: Vec<OsString>, _: usize, _: &mut SessionOptions) -> Result<(), String> {
    Err("--backend acp: this pi-rpc was built without the feature acp".to_owned())
}
