//! Selects the version of the protocol, and lists the slash commands, in dialects that have these commands.

use crate::core::Engine;
use pi_rpc_protocol::{
    AgentSessionEventKind, AvailableCommand, AvailableCommandSource, AvailableCommandsUpdateEvent,
    CommandSource, NegotiateProtocolCommand, NegotiateProtocolResponse, NegotiatedProtocol, RpcCommandKind,
    SlashCommand, errors,
};

impl Engine {
    /// Serves `negotiate_protocol`. The writer applies the version behind the response.
    pub(crate) fn negotiate_protocol(&mut self, command: NegotiateProtocolCommand) {
        let NegotiateProtocolCommand { id, protocol_version } = command;
        if self.dialect.record().protocol_versions.chunks != Some(protocol_version) {
            let text = errors::protocol_version(self.dialect.base(), &protocol_version.to_string());
            return self.fail(id, RpcCommandKind::NegotiateProtocol, text);
        }
        self.succeed(NegotiateProtocolResponse { id, data: NegotiatedProtocol { protocol_version } });
    }

    /// All slash commands: of extensions, templates and skills.
    pub(crate) fn available_commands(&self) -> Vec<AvailableCommand> {
        self.command_list().commands.into_iter().map(available).collect()
    }

    /// Emits the slash commands, in dialects that have an event for them.
    pub(crate) fn emit_available_commands(&mut self) {
        if AgentSessionEventKind::AvailableCommandsUpdate.is_in(self.dialect.base()) {
            let commands = self.available_commands();
            self.emit_event(AvailableCommandsUpdateEvent { commands });
        }
    }
}

fn available(command: SlashCommand) -> AvailableCommand {
    let source = match command.source {
        CommandSource::Extension => AvailableCommandSource::Extension,
        CommandSource::Prompt => AvailableCommandSource::File,
        CommandSource::Skill => AvailableCommandSource::Skill,
    };
    AvailableCommand {
        name: command.name,
        aliases: None,
        description: command.description,
        input: None,
        subcommands: None,
        source,
    }
}
