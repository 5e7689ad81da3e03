//! Slash commands: those of the server, and the bridge's own where the server has none of that name. Does no IO.

use super::mapping::mapping;
use agent_client_protocol::v1::schema::{
    AvailableCommand as AcpCommand, AvailableCommandInput, AvailableCommandsUpdate, SessionUpdate,
    UnstructuredCommandInput,
};
use pi_rpc_protocol::{AvailableCommand, SlashCommand};

/// The update with all commands that a prompt may begin with.
pub fn commands_update(mut commands: Vec<AcpCommand>) -> SessionUpdate {
    let own = mapping().slash_commands.iter();
    let missing: Vec<_> = own
        .filter(|(name, _)| !commands.iter().any(|it| it.name == **name))
        .map(|(name, command)| with_hint(name, &command.description, &command.hint))
        .collect();
    commands.extend(missing);
    SessionUpdate::AvailableCommandsUpdate(AvailableCommandsUpdate::new(commands))
}

/// A command of a server that lists extensions, templates and skills.
pub fn listed(command: &SlashCommand) -> AcpCommand {
    with_hint(&command.name, command.description.as_deref().unwrap_or_default(), "arguments")
}

/// A command of a server that lists built-in ones, too.
pub fn available(command: &AvailableCommand) -> AcpCommand {
    let description = command.description.as_deref().unwrap_or_default();
    let hint = command.input.as_ref().map(|input| input.hint.as_deref().unwrap_or("arguments"));
    match hint {
        Some(hint) => with_hint(&command.name, description, hint),
        None => AcpCommand::new(&*command.name, description),
    }
}

fn with_hint(name: &str, description: &str, hint: &str) -> AcpCommand {
    let input = AvailableCommandInput::Unstructured(UnstructuredCommandInput::new(hint));
    AcpCommand::new(name, description).input(input)
}
