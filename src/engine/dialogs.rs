//! Questions to the host that wait for an answer, and notices that do not.
//!
//! A dialog ends once: by the host's answer, by its timeout, or because nobody wants the answer any more (what it
//! belongs to was aborted, its extension is gone, the input has ended). Without an answer of the right kind its asker
//! gets the default: nothing chosen, nothing typed, not confirmed. Source: pi RPC reference: extension UI; settled.

use super::{CallId, Engine};
use crate::protocol::{
    CancelRequest, DialectEmitsTitle, DialectIdsUi, ExtensionUIAnswer, ExtensionUICall, LineError, Outbound,
    RpcExtensionUIRequest, RpcExtensionUIRequestKind, RpcExtensionUIResponse, UICancelledResponse, errors,
};
use std::time::Duration;

/// How many dialogs of one extension may be open.
pub const DIALOGS: usize = 100;

/// A dialog that is open.
#[derive(Debug)]
pub struct Dialog {
    /// Its id on the wire.
    id: String,
    kind: RpcExtensionUIRequestKind,
    asker: Asker,
    /// When it ends by itself.
    due: Option<Duration>,
}

/// Who wants the answer.
#[derive(Debug)]
enum Asker {
    /// An extension.
    Extension {
        process: CallId,
        /// Its own id of the dialog.
        id: String,
        /// The request that it belongs to.
        origin: Option<CallId>,
    },
    /// The server itself, before a tool call at this place of the batch runs.
    Call(usize),
}

impl Dialog {
    /// Whether an extension's process has opened it.
    const fn is_of(&self, of: CallId) -> bool {
        matches!(self.asker, Asker::Extension { process, .. } if process == of)
    }
}

impl Engine {
    /// An extension wants something of the user interface.
    pub(super) fn ui(&mut self, process: CallId, call: ExtensionUICall) {
        let ExtensionUICall { origin, mut request } = call;
        let own = request.id().to_owned();
        if !request.kind().wants_answer() {
            return self.notice(request);
        }
        let origin = origin.map(|origin| self.origin(process, &origin));
        // A request that is over is as good as one that nobody wants any more.
        let unwanted = origin.is_some_and(|origin| origin.is_none_or(|origin| self.is_unwanted(origin)));
        let origin = origin.flatten();
        // Whoever could answer is gone, or nobody would hear it: no request is made.
        if unwanted || self.input_is_over() {
            return self.tell_answer(process, own, None);
        }
        if self.dialogs.iter().filter(|dialog| dialog.is_of(process)).count() >= DIALOGS {
            self.tell_answer(process, own, None);
            let text = errors::too_many_dialogs(self.dialect.base(), &DIALOGS.to_string());
            return self.extension_strayed(process, &text);
        }
        if let Some(origin) = origin {
            self.stand_still(origin);
        }
        let asker = Asker::Extension { process, id: own, origin };
        let id = self.ui_id();
        request.set_id(id.clone());
        let due = self.dialog_due(&request);
        self.dialogs.push(Dialog { id, kind: request.kind(), asker, due });
        self.say(Outbound::ExtensionUIRequest(request));
    }

    /// Asks the host whether the call at `at` may run.
    pub(super) fn ask_host(&mut self, at: usize, mut request: RpcExtensionUIRequest) {
        let id = self.ui_id();
        request.set_id(id.clone());
        self.dialogs.push(Dialog { id, kind: request.kind(), asker: Asker::Call(at), due: None });
        self.say(Outbound::ExtensionUIRequest(request));
    }

    /// The host has answered a dialog. An answer to one that is not open is ignored.
    pub(super) fn dialog_answered(&mut self, answer: RpcExtensionUIResponse) {
        let Some(dialog) = self.take_dialog(|dialog| dialog.id == answer.id()) else { return };
        let fits = fits(dialog.kind, &answer);
        self.dialog_over(dialog.asker, Some(answer).filter(|_| fits));
    }

    /// The host has answered a dialog with something that is no answer: that is the default.
    pub(super) fn dialog_misanswered(&mut self, error: &LineError) {
        let LineError::Field { id: Some(id), .. } = error else { return };
        let id = id.to_string();
        if let Some(dialog) = self.take_dialog(|dialog| dialog.id == id) {
            self.dialog_over(dialog.asker, None);
        }
    }

    /// An extension takes one of its dialogs back.
    pub(super) fn dialog_withdrawn(&mut self, of: CallId, own: &str) {
        self.end_dialogs(|dialog| {
            matches!(&dialog.asker, Asker::Extension { process, id, .. } if *process == of && id == own)
        });
    }

    /// What the dialogs of this request belong to is over.
    pub(super) fn dialogs_of(&mut self, request: CallId) {
        self.end_dialogs(|dialog| {
            matches!(&dialog.asker, Asker::Extension { origin: Some(origin), .. } if *origin == request)
        });
    }

    /// The process of an extension is gone.
    pub(super) fn dialogs_lost(&mut self, of: CallId) {
        self.end_dialogs(|dialog| dialog.is_of(of));
    }

    /// The run is being ended: the server's own questions are over.
    pub(super) fn unask_host(&mut self) {
        self.end_dialogs(|dialog| matches!(dialog.asker, Asker::Call(_)));
    }

    /// Nobody is left to answer.
    pub(super) fn end_all_dialogs(&mut self) {
        self.end_dialogs(|_| true);
    }

    /// When the next dialog ends by itself.
    pub(super) fn dialogs_due(&self) -> Option<Duration> {
        self.dialogs.iter().filter_map(|dialog| dialog.due).min()
    }

    /// Ends the dialogs whose time has come. No frame tells the host.
    pub(super) fn expire_dialogs(&mut self) {
        let now = self.now.monotonic;
        while let Some(dialog) = self.take_dialog(|dialog| dialog.due.is_some_and(|due| due <= now)) {
            self.dialog_over(dialog.asker, None);
        }
    }

    /// Passes a notice on; a title only where the host is told titles.
    fn notice(&mut self, mut request: RpcExtensionUIRequest) {
        let untitled = self.dialect.record().emits_title == DialectEmitsTitle::OptIn && !self.emits_title;
        match request.kind() {
            RpcExtensionUIRequestKind::SetTitle if untitled => {}
            // Told to stop before the host was greeted.
            _ if !self.is_open() => {}
            // Which dialogs are taken back is known here better than in an extension.
            RpcExtensionUIRequestKind::Cancel => {}
            _ => {
                request.set_id(self.ui_id());
                self.say(Outbound::ExtensionUIRequest(request));
            }
        }
    }

    fn end_dialogs(&mut self, which: impl Fn(&Dialog) -> bool) {
        while let Some(dialog) = self.take_dialog(&which) {
            let editor = dialog.kind == RpcExtensionUIRequestKind::Editor;
            if editor && self.dialect.record().dialogs.cancels_editor && !self.input_is_over() {
                let id = self.ui_id();
                let cancel = CancelRequest { id, target_id: dialog.id };
                self.say(Outbound::ExtensionUIRequest(cancel.into()));
            }
            self.dialog_over(dialog.asker, None);
        }
    }

    fn take_dialog(&mut self, which: impl Fn(&Dialog) -> bool) -> Option<Dialog> {
        let at = self.dialogs.iter().position(which)?;
        let dialog = self.dialogs.remove(at);
        self.machine.ask_over(&dialog.id);
        Some(dialog)
    }

    /// Hands the answer, or the default, to whoever asked.
    fn dialog_over(&mut self, asker: Asker, answer: Option<RpcExtensionUIResponse>) {
        match asker {
            Asker::Extension { process, id, origin } => {
                if let Some(origin) = origin {
                    self.move_on(origin);
                }
                self.tell_answer(process, id, answer);
            }
            Asker::Call(at) => self.host_said(at, answer),
        }
    }

    fn tell_answer(&mut self, process: CallId, id: String, answer: Option<RpcExtensionUIResponse>) {
        let default = UICancelledResponse { id: id.clone(), timed_out: None };
        let mut response = answer.unwrap_or(RpcExtensionUIResponse::UICancelledResponse(default));
        response.set_id(id);
        self.tell_extension(process, ExtensionUIAnswer { response });
    }

    fn dialog_due(&self, request: &RpcExtensionUIRequest) -> Option<Duration> {
        let timeout = match request {
            RpcExtensionUIRequest::Select(request) => request.timeout,
            RpcExtensionUIRequest::Confirm(request) => request.timeout,
            RpcExtensionUIRequest::Input(request) => request.timeout,
            _ => None,
        };
        let expires = |ms: &u64| *ms > 0 || self.dialect.record().dialogs.zero_timeout_expires;
        timeout.filter(expires).map(|ms| self.now.monotonic + Duration::from_millis(ms))
    }

    fn ui_id(&mut self) -> String {
        match self.dialect.record().ids.ui {
            DialectIdsUi::Uuid4 => self.ids.uuid(),
            DialectIdsUi::Hex16 => self.ids.hex16(),
        }
    }
}

/// Whether the answer is of the kind that the dialog wants.
const fn fits(kind: RpcExtensionUIRequestKind, answer: &RpcExtensionUIResponse) -> bool {
    match answer {
        RpcExtensionUIResponse::UIValueResponse(_) => !matches!(kind, RpcExtensionUIRequestKind::Confirm),
        RpcExtensionUIResponse::UIConfirmedResponse(_) => matches!(kind, RpcExtensionUIRequestKind::Confirm),
        RpcExtensionUIResponse::UICancelledResponse(_) => true,
    }
}
