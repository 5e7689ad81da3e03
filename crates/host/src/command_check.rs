//! Which commands a session accepts from its clients, whether this program serves it or another one does.

use super::{
    field_lengths,
    host_error::HostError,
    metrics::METRICS,
    principal::{Principal, SessionPlace, calls_model, counts},
};
use futures_util::future::BoxFuture;
use pi_rpc_engine::Input;
use pi_rpc_protocol::{Inbound, LineError, RpcCommand};
use pi_rpc_server::wall_ms;
use std::time::Instant;

/// The principals that a command of a session counts for.
pub struct CommandCheck<'s> {
    /// Who gives it.
    pub principal: &'s Principal,
    /// Who has opened the session, and pays for the commands of every client.
    pub owner: &'s Principal,
    /// What [`admission`] has led to; `None`: the command is to be counted here.
    pub admitted: Option<Result<(), HostError>>,
}

/// Counts a command over several processes, and learns of what those have spent who pay for it; `None`: nothing is to wait for.
pub fn admission(
    input: &Input,
    principal: &Principal,
    owner: &Principal,
) -> Option<BoxFuture<'static, Result<(), HostError>>> {
    let command = command_of(input)?;
    let spends = calls_model(command);
    // What the owner has spent is known already where the client has the same name and such a limit.
    let is_known = owner.name == principal.name && principal.limits.dollars_per_day.is_some();
    let admissions =
        [principal.admission(counts(command), spends), owner.admission(false, spends && !is_known)];
    let [None, None] = admissions else {
        return Some(Box::pin(async move {
            for admission in admissions.into_iter().flatten() {
                admission.await?;
            }
            Ok(())
        }));
    };
    None
}

impl CommandCheck<'_> {
    /// Why a client may not give a command. `place` is that of the session, `further` what it checks besides.
    pub fn refusal(
        &self,
        input: &Input,
        place: impl FnOnce() -> SessionPlace,
        further: impl FnOnce(&RpcCommand) -> Result<(), HostError>,
    ) -> Option<LineError> {
        let command = command_of(input)?;
        if let Err(reason) = field_lengths::check_command(command) {
            return Some(refused(command, reason));
        }
        // A session of a host may have several clients, and the host says where its file is.
        if matches!(command, RpcCommand::SetEventFilter(_) | RpcCommand::OpenSession(_)) {
            return Some(refused(command, format!("{}: not in a session of a host", command.kind())));
        }
        let check = || {
            match &self.admitted {
                Some(admitted) => admitted.clone()?,
                None if counts(command) => self.principal.count_command(Instant::now())?,
                None => {}
            }
            self.principal.check_command(command, &place())?;
            further(command)?;
            if calls_model(command) {
                self.owner.check_spend(wall_ms())?;
                self.principal.check_spend(wall_ms())?;
            }
            Ok(())
        };
        let error: HostError = check().err()?;
        METRICS.refusal(error.code().as_str());
        Some(refused(command, error.text()))
    }
}

/// The command in an input; `None`: it is none.
pub fn command_of(input: &Input) -> Option<&RpcCommand> {
    match input {
        Input::Frame(frame) => match &**frame {
            Inbound::Command(command) => Some(command),
            _ => None,
        },
        _ => None,
    }
}

/// The refusal of a command for this reason.
pub fn refused(command: &RpcCommand, reason: String) -> LineError {
    LineError::Refused { kind: command.kind().as_str().to_owned(), id: command.id().cloned(), reason }
}

/// Whether the run of a session is to be aborted, as its last answer has used up what its owner may spend. `has_spent`: whether an
/// answer has cost money since that was last looked at.
pub fn is_overspent(has_spent: &mut bool, runs: bool, owner: &Principal, session: &str) -> bool {
    // What others have spent becomes known as this is added to it.
    let may_learn = owner.is_adding_dollars();
    let is_over = *has_spent && runs && owner.has_overspent(wall_ms());
    *has_spent &= runs && !is_over && may_learn;
    if is_over {
        tracing::warn!("session {session}: its owner may spend no more today; its run is aborted");
    }
    is_over
}
