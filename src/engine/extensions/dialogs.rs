//! Questions to the host that wait for an answer, and notices that do not.
//!
//! A dialog ends once: by the host's answer, by its timeout, or because nobody wants the answer any more (what it
//! belongs to was aborted, its extension is gone, the input has ended). Without an answer of the right kind its asker
//! gets the default: nothing chosen, nothing typed, not confirmed. A dialog outlives the request that opened it: from
//! then on it belongs to the extension, as do dialogs opened later on behalf of that request.
//!
//! A dialog that the host cannot be shown (its request was cancelled, the input has ended) gets the default at once.
//! [`UNSHOWN`] of them in a row are answered so; later ones are withheld until their request is over, so that an extension
//! that asks until it gets an answer does not flood the host. Source: pi RPC reference: extension UI; settled.

use crate::engine::{CallId, Engine};
use crate::protocol::{
    CancelRequest, DialectEmitsTitle, DialectIdsUi, ExtensionUIAnswer, ExtensionUICall, LineError, Outbound,
    RpcExtensionUIRequest, RpcExtensionUIRequestKind, RpcExtensionUIResponse, UICancelledResponse, errors,
};
use std::time::Duration;

/// How many dialogs of one extension may be open.
pub const DIALOGS: usize = 100;

/// How many dialogs of one extension in a row are answered with the default without being shown.
pub const UNSHOWN: usize = 16;

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
    /// The server itself, before a tool runs for an extension.
    Action {
        /// The process of the extension.
        process: CallId,
        /// The action that waits for the answer.
        call: CallId,
        /// The request that the action belongs to.
        origin: Option<CallId>,
    },
}

/// The dialogs of an extension's process that were not shown.
#[derive(Debug, Default)]
pub struct Unshown {
    /// How many in a row.
    count: usize,
    /// Those without an answer.
    withheld: Vec<Withheld>,
}

#[derive(Debug)]
struct Withheld {
    /// The extension's own id of the dialog.
    id: String,
    /// The request that opened it; `None`: the extension.
    origin: Option<CallId>,
}

impl Dialog {
    /// Whether an extension's process has opened it.
    const fn is_of(&self, of: CallId) -> bool {
        matches!(self.asker, Asker::Extension { process, .. } | Asker::Action { process, .. } if process == of)
    }

    /// The request of an extension that it belongs to.
    const fn origin(&self) -> Option<CallId> {
        match self.asker {
            Asker::Extension { origin, .. } | Asker::Action { origin, .. } => origin,
            Asker::Call(_) => None,
        }
    }
}

impl Engine {
    /// An extension wants something of the user interface.
    pub(in crate::engine) fn ui(&mut self, process: CallId, call: ExtensionUICall) {
        let ExtensionUICall { origin, mut request } = call;
        let own = request.id().to_owned();
        if !request.kind().wants_answer() {
            let live = origin.is_some_and(|origin| self.origin(process, &origin).is_some());
            return self.notice(request, live);
        }
        // A request that is over has left its dialogs to the extension.
        let origin = origin.and_then(|origin| self.origin(process, &origin));
        let Some(place) = self.extensions.place_of(process) else { return };
        if self.has_too_many_dialogs(process) {
            self.tell_answer(process, own, None);
            let text = errors::too_many_dialogs(self.dialect.base(), &DIALOGS.to_string());
            return self.extension_strayed(process, &text);
        }
        let is_cancelled = origin.is_some_and(|origin| self.is_unwanted(origin));
        if is_cancelled || self.lifecycle.is_input_over() {
            return self.answer_unshown(place, process, own, origin);
        }
        self.extensions.all[place].unshown.count = 0;
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

    fn has_too_many_dialogs(&self, process: CallId) -> bool {
        let place = self.extensions.place_of(process);
        let withheld = place.map_or(0, |place| self.extensions.all[place].unshown.withheld.len());
        self.dialogs.iter().filter(|dialog| dialog.is_of(process)).count() + withheld >= DIALOGS
    }

    /// Resolves a dialog of an extension that is being ended with its default, without a request to the host.
    pub(in crate::engine) fn dialog_declined(&mut self, process: CallId, own: String) {
        let Some(place) = self.extensions.place_of(process) else { return };
        // One that asks in a loop is answered no more.
        if self.extensions.all[place].unshown.withheld.len() < DIALOGS {
            self.answer_unshown(place, process, own, None);
        }
    }

    /// Asks the host whether the call at `at` may run.
    pub(in crate::engine) fn ask_host(&mut self, at: usize, request: RpcExtensionUIRequest) {
        self.open_dialog(Asker::Call(at), request);
    }

    /// Asks the host on behalf of an action of `process`; `false` if the host cannot be asked.
    pub(in crate::engine) fn ask_host_outside(
        &mut self,
        process: CallId,
        call: CallId,
        origin: Option<&str>,
        request: RpcExtensionUIRequest,
    ) -> bool {
        let origin = origin.and_then(|origin| self.origin(process, origin));
        let is_cancelled = origin.is_some_and(|origin| self.is_unwanted(origin));
        if is_cancelled || self.lifecycle.is_input_over() || self.has_too_many_dialogs(process) {
            return false;
        }
        if let Some(origin) = origin {
            self.stand_still(origin);
        }
        self.open_dialog(Asker::Action { process, call, origin }, request);
        true
    }

    fn open_dialog(&mut self, asker: Asker, mut request: RpcExtensionUIRequest) {
        let id = self.ui_id();
        request.set_id(id.clone());
        self.dialogs.push(Dialog { id, kind: request.kind(), asker, due: None });
        self.say(Outbound::ExtensionUIRequest(request));
    }

    /// An extension withdraws an action that the host is asked about.
    pub(in crate::engine) fn end_consent(&mut self, action: CallId) {
        self.end_dialogs(|dialog| matches!(dialog.asker, Asker::Action { call, .. } if call == action));
    }

    /// The host has answered a dialog. An answer to one that is not open is ignored.
    pub(in crate::engine) fn dialog_answered(&mut self, answer: RpcExtensionUIResponse) {
        let Some(dialog) = self.take_dialog(|dialog| dialog.id == answer.id()) else { return };
        let fits = fits(dialog.kind, &answer);
        self.dialog_over(dialog.asker, Some(answer).filter(|_| fits));
    }

    /// The host has answered a dialog with something that is no answer: that is the default.
    pub(in crate::engine) fn dialog_misanswered(&mut self, error: &LineError) {
        let LineError::Field { id: Some(id), .. } = error else { return };
        let id = id.to_string();
        if let Some(dialog) = self.take_dialog(|dialog| dialog.id == id) {
            self.dialog_over(dialog.asker, None);
        }
    }

    /// Answers a dialog that cannot be shown with the default, or withholds it when too many were answered so.
    fn answer_unshown(&mut self, place: usize, process: CallId, id: String, origin: Option<CallId>) {
        let unshown = &mut self.extensions.all[place].unshown;
        unshown.count += 1;
        match unshown.count > UNSHOWN {
            true => unshown.withheld.push(Withheld { id, origin }),
            false => self.tell_answer(process, id, None),
        }
    }

    /// Answers the withheld dialogs of that process that `which` picks with the default.
    fn release_withheld(&mut self, process: CallId, which: impl Fn(&Withheld) -> bool) {
        let Some(place) = self.extensions.place_of(process) else { return };
        let withheld = &mut self.extensions.all[place].unshown.withheld;
        let released: Vec<Withheld> = withheld.extract_if(.., |dialog| which(dialog)).collect();
        for dialog in released {
            self.tell_answer(process, dialog.id, None);
        }
    }

    /// Leaves the dialogs of a request that is over to the extension.
    pub(in crate::engine) fn leave_dialogs(&mut self, process: CallId, request: CallId) {
        for dialog in &mut self.dialogs {
            if let Asker::Extension { origin, .. } | Asker::Action { origin, .. } = &mut dialog.asker {
                origin.take_if(|origin| *origin == request);
            }
        }
        // An extension that ends its requests does not ask in a loop.
        if let Some(place) = self.extensions.place_of(process) {
            self.extensions.all[place].unshown.count = 0;
        }
        self.release_withheld(process, |dialog| dialog.origin == Some(request));
    }

    /// An extension takes one of its dialogs back.
    pub(in crate::engine) fn dialog_withdrawn(&mut self, of: CallId, own: &str) {
        self.release_withheld(of, |dialog| dialog.id == own);
        self.end_dialogs(|dialog| {
            matches!(&dialog.asker, Asker::Extension { process, id, .. } if *process == of && id == own)
        });
    }

    /// Ends the dialogs of a request that is cancelled.
    pub(in crate::engine) fn dialogs_of(&mut self, request: CallId) {
        self.end_dialogs(|dialog| dialog.origin() == Some(request));
    }

    /// The process of an extension is gone.
    pub(in crate::engine) fn dialogs_lost(&mut self, of: CallId) {
        self.end_dialogs(|dialog| dialog.is_of(of));
    }

    /// The run is being ended: the server's own questions are over.
    pub(in crate::engine) fn unask_host(&mut self) {
        self.end_dialogs(|dialog| matches!(dialog.asker, Asker::Call(_)));
    }

    /// Nobody is left to answer.
    pub(in crate::engine) fn end_all_dialogs(&mut self) {
        self.end_dialogs(|_| true);
    }

    /// When the next dialog ends by itself.
    pub(in crate::engine) fn dialogs_due(&self) -> Option<Duration> {
        self.dialogs.iter().filter_map(|dialog| dialog.due).min()
    }

    /// Ends the dialogs whose time has come. No frame tells the host.
    pub(in crate::engine) fn expire_dialogs(&mut self) {
        let now = self.now.monotonic;
        while let Some(dialog) = self.take_dialog(|dialog| dialog.due.is_some_and(|due| due <= now)) {
            self.dialog_over(dialog.asker, None);
        }
    }

    /// Passes a notice on; a title only where the host is told titles.
    /// `live`: it belongs to a request that is open.
    fn notice(&mut self, mut request: RpcExtensionUIRequest, live: bool) {
        let untitled = self.dialect.record().emits_title == DialectEmitsTitle::OptIn && !self.emits_title;
        match request.kind() {
            RpcExtensionUIRequestKind::SetTitle if untitled => {}
            // Told to stop before the host was greeted.
            _ if !self.is_open() => {}
            // The original has ended by now.
            _ if self.withholds_events() && !live => {}
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
            if editor && self.dialect.record().dialogs.cancels_editor && !self.lifecycle.is_input_over() {
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
            Asker::Action { call, origin, .. } => {
                if let Some(origin) = origin {
                    self.move_on(origin);
                }
                self.host_said_outside(call, answer);
            }
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
