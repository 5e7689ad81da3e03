//! The slash commands, for clients whose dialect announces them.

use crate::{
    front::{Front, Origin, Output, typed},
    names::renamed_command,
    plan::TYPE,
};
use pi_rpc_machine::Kind;
use pi_rpc_protocol::{
    AgentSessionEventKind as Event, Base, Outbound, RpcCommand, RpcCommandKind, RpcSuccess,
};
use serde_json::{Value, json};

/// Events that a client gets from the account where its server has no such event.
pub const COMPUTED: [Event; 1] = [Event::AvailableCommandsUpdate];

/// The command of a client whose dialect announces slash commands.
const LIST: RpcCommandKind = RpcCommandKind::GetAvailableCommands;

/// The command by which the front asks the server for slash commands, to announce them to the client; `None`: the server announces
/// them itself, or the client's dialect does not have the event.
pub fn list_command(server: Base, client: Base) -> Option<RpcCommandKind> {
    let announces = |base: Base| COMPUTED.iter().all(|event| Kind::Event(*event).is_in(base));
    let is_bridged = announces(client) && !announces(server);
    renamed_command(client, server, LIST).filter(|_| is_bridged)
}

impl Front {
    /// Asks for the slash commands of a session that begins.
    pub(crate) fn list_commands(&mut self, out: &mut Output) {
        let command = self.lists_commands_by.map(|kind| json!({ TYPE: kind.as_str() }));
        if let Some(Ok(command)) = command.map(|command| typed::<RpcCommand>(&command)) {
            self.send_own(command, Origin::List, out);
        }
    }

    /// Announces the slash commands that the server has listed.
    pub(crate) fn commands_listed(&mut self, mut response: RpcSuccess, out: &mut Output) {
        self.hide_extension(&mut response);
        let mut value = serde_json::to_value(Outbound::Response(response.into())).unwrap_or_default();
        if let Some(object) = value.as_object_mut() {
            object.insert("command".to_owned(), LIST.as_str().into());
        }
        let list = self.to_client.response(LIST.as_str());
        let list = list.and_then(|def| self.to_client.carry(def, value, &self.account));
        if let Some(Value::Object(members)) = list.and_then(|mut list| list.get_mut("data").map(Value::take))
        {
            self.emit_computed(Event::AvailableCommandsUpdate, members, out);
        }
    }
}
