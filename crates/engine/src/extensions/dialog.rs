//! One open dialog, as data, and the dialogs that were not shown to the host. `dialogs` opens and closes them.

use crate::io::CallId;
use pi_rpc_protocol::{RpcExtensionUIRequest, RpcExtensionUIResponse};
use std::time::Duration;

/// How many dialogs of one extension may be open.
pub const MAX_DIALOGS: usize = 100;

/// How many dialogs of one extension in a row are answered with the default without being shown.
pub const MAX_UNSHOWN_DIALOGS: usize = 16;

/// An open dialog.
#[derive(Debug)]
pub struct Dialog {
    /// Its id for the host.
    pub id: String,
    /// The frame that opened it.
    pub request: RpcExtensionUIRequest,
    pub owner: DialogOwner,
    /// When the dialog times out.
    pub due: Option<Duration>,
}

/// The recipient of the dialog response.
#[derive(Debug)]
pub enum DialogOwner {
    /// An extension.
    Extension {
        process: CallId,
        /// The extension's own id of the dialog.
        id: String,
        /// The request that the dialog belongs to.
        origin: Option<CallId>,
    },
    /// The engine, before the tool call at this place of the batch runs.
    Call(usize),
    /// The engine, before a run goes on beyond a limit of its budget.
    Budget,
    /// The engine, for the login with this id.
    Login(CallId),
    /// The agent behind the server, for its request with this id.
    Agent(CallId),
    /// The engine, before it runs a tool for an action of an extension.
    Action {
        process: CallId,
        action: CallId,
        /// The request that the action belongs to.
        origin: Option<CallId>,
    },
}

/// The dialogs of a process that were not shown.
#[derive(Debug, Default)]
pub struct UnshownDialogs {
    /// How many dialogs in a row were not shown.
    pub count: usize,
    /// Dialogs whose response is withheld.
    pub withheld: Vec<WithheldDialog>,
}

/// A dialog that was neither shown nor answered.
#[derive(Debug)]
pub struct WithheldDialog {
    /// The extension's own id.
    pub id: String,
    /// The request that opened it; `None`: the extension.
    pub origin: Option<CallId>,
}

impl Dialog {
    /// Whether the dialog belongs to this process.
    pub const fn is_of(&self, of: CallId) -> bool {
        matches!(
            self.owner,
            DialogOwner::Extension { process, .. } | DialogOwner::Action { process, .. } if process == of
        )
    }

    /// The request that the dialog belongs to.
    pub const fn origin(&self) -> Option<CallId> {
        match self.owner {
            DialogOwner::Extension { origin, .. } | DialogOwner::Action { origin, .. } => origin,
            DialogOwner::Call(_) | DialogOwner::Budget | DialogOwner::Login(_) | DialogOwner::Agent(_) => {
                None
            }
        }
    }

    /// Whether the engine asks for the open run: for consent to a call of the batch, or at a limit of its budget.
    pub const fn is_of_run(&self) -> bool {
        matches!(self.owner, DialogOwner::Call(_) | DialogOwner::Budget)
    }

    /// Detaches the dialog from a request that is over: it then belongs to the extension.
    pub fn detach(&mut self, request: CallId) {
        if let DialogOwner::Extension { origin, .. } | DialogOwner::Action { origin, .. } = &mut self.owner {
            origin.take_if(|origin| *origin == request);
        }
    }

    /// Whether the kind of the response fits the dialog.
    pub const fn accepts(&self, response: &RpcExtensionUIResponse) -> bool {
        let confirms = matches!(self.request, RpcExtensionUIRequest::Confirm(_));
        match response {
            RpcExtensionUIResponse::UIValueResponse(_) => !confirms,
            RpcExtensionUIResponse::UIConfirmedResponse(_) => confirms,
            RpcExtensionUIResponse::UICancelledResponse(_) => true,
        }
    }
}
