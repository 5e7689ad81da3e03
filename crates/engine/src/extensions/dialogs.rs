//! Dialogs of the host, and notices that need no response.
//!
//! A dialog closes once: by the host's response, by its timeout, or because its response does not count any more (its
//! request was cancelled, its extension is gone, the input has ended). Without a response of the right kind its owner
//! gets the default: nothing chosen, nothing typed, not confirmed. A dialog outlives the request that opened it: from
//! then on it belongs to the extension, as do dialogs opened later on behalf of that request.
//!
//! A dialog that the host cannot be shown (its request was cancelled, the input has ended) gets the default at once.
//! [`MAX_UNSHOWN_DIALOGS`] of them in a row are answered so; later ones are withheld until their request is over, so
//! that an extension that asks until it gets an answer does not flood the host. Source: pi RPC reference: extension
//! UI. Decided here: an abort and the end of the input end dialogs; in the originals an abort waits for the host.

use crate::{
    extensions::{
        dialog::{Dialog, DialogOwner, MAX_DIALOGS, MAX_UNSHOWN_DIALOGS, WithheldDialog},
        hook::Hook,
        host::{Context, ExtensionHost, ExtensionOutput},
    },
    io::{CallId, Output},
};
use pi_rpc_protocol::{
    CancelRequest, DialectEmitsTitle, DialectIdsUi, ExtensionUIAnswer, ExtensionUICall, LineError, Outbound,
    RpcExtensionUIRequest, RpcExtensionUIRequestKind, RpcExtensionUIResponse, UICancelledResponse, errors,
};
use std::time::Duration;

impl ExtensionHost {
    /// Handles a UI request of an extension: opens a dialog or emits a notice.
    pub(super) fn request_ui(&mut self, process: CallId, call: ExtensionUICall, context: &mut Context<'_>) {
        let ExtensionUICall { origin, request } = call;
        // Dialogs of a request that is over belong to the extension.
        let origin = origin.and_then(|origin| self.origin(process, &origin));
        if !request.kind().is_dialog() {
            return self.show_notice(request, origin.is_some(), context);
        }
        let own = request.id().to_owned();
        let Some(place) = self.place_of(process) else { return };
        if self.has_too_many_dialogs(process) {
            self.respond_to_dialog(process, own, None);
            let text = errors::too_many_dialogs(context.dialect.base(), &MAX_DIALOGS.to_string());
            return self.report_bad_line(process, &text, context);
        }
        if self.hides_ui {
            return self.respond_to_dialog(process, own, None);
        }
        if context.lifecycle.is_input_over() || origin.is_some_and(|origin| self.is_cancelled(origin)) {
            return self.resolve_unshown(place, process, own, origin);
        }
        self.all[place].unshown.count = 0;
        let due = dialog_due(&request, context);
        let owner = DialogOwner::Extension { process, id: own, origin };
        self.open_dialog(owner, request, due, context);
    }

    /// Opens the consent dialog for the call at this place of the batch. `id`: it was open in another process.
    pub fn request_call_consent(
        &mut self,
        at: usize,
        request: RpcExtensionUIRequest,
        id: Option<String>,
        context: &mut Context<'_>,
    ) {
        let id = id.unwrap_or_else(|| ui_id(context));
        self.open_dialog_as(id, DialogOwner::Call(at), request, None, context);
    }

    /// The id and the title of the consent dialog for the call at this place of the batch.
    pub fn question_of_call(&self, at: usize) -> Option<(String, String)> {
        self.dialogs.iter().find_map(|dialog| match (&dialog.owner, &dialog.request) {
            (DialogOwner::Call(of), RpcExtensionUIRequest::Select(request)) if *of == at => {
                Some((dialog.id.clone(), request.title.clone()))
            }
            _ => None,
        })
    }

    /// Whether this is an option of an open consent dialog with this id.
    pub fn offers_consent(&self, id: &str, option: &String) -> bool {
        self.dialogs.iter().any(|dialog| match (&dialog.owner, &dialog.request) {
            (DialogOwner::Call(_) | DialogOwner::Action { .. }, RpcExtensionUIRequest::Select(request)) => {
                dialog.id == id && request.options.contains(option)
            }
            _ => false,
        })
    }

    /// The places of the calls that dialogs decide about: the engine's, or those of extensions that handle `tool_call`.
    pub fn asked_calls(&self) -> impl Iterator<Item = usize> {
        self.dialogs.iter().filter_map(|dialog| self.asked_call(dialog))
    }

    /// Whether an extension decides about a call.
    pub fn decides_about_calls(&self) -> bool {
        self.requests.values().any(|request| request.kind.is_of_call())
    }

    /// Whether a dialog is open that decides whether a tool runs: for a call, or for an action of an extension.
    pub fn asks_permission(&self) -> bool {
        self.dialogs.iter().any(|dialog| self.is_question(dialog))
    }

    /// Closes the next dialog that decides whether a tool runs; `false` if there is none.
    pub fn close_next_question(&mut self, context: &mut Context<'_>) -> bool {
        let Some(id) = self.dialogs.iter().find(|it| self.is_question(it)).map(|it| it.id.clone()) else {
            return false;
        };
        self.close_next_dialog(|dialog| dialog.id == id, context)
    }

    fn is_question(&self, dialog: &Dialog) -> bool {
        matches!(dialog.owner, DialogOwner::Action { .. }) || self.asked_call(dialog).is_some()
    }

    fn asked_call(&self, dialog: &Dialog) -> Option<usize> {
        if let DialogOwner::Call(at) = dialog.owner {
            return Some(at);
        }
        let DialogOwner::Extension { origin: Some(origin), .. } = dialog.owner else { return None };
        let hook = self.requests.get(&origin)?.hook()?;
        match &self.hooks.get(&hook)?.hook {
            Hook::ToolCall { at, .. } => Some(*at),
            _ => None,
        }
    }

    /// Opens the dialog by which the host is asked whether a run goes on beyond a limit.
    pub fn request_budget(&mut self, request: RpcExtensionUIRequest, context: &mut Context<'_>) {
        self.open_dialog(DialogOwner::Budget, request, None, context);
    }

    /// Shows the page of a login.
    pub fn show_login_page(&mut self, mut request: RpcExtensionUIRequest, context: &mut Context<'_>) {
        request.set_id(ui_id(context));
        self.push(ExtensionOutput::Emit(Outbound::ExtensionUIRequest(request)));
    }

    /// Opens the dialog of a login.
    pub fn open_login_dialog(
        &mut self,
        login: CallId,
        request: RpcExtensionUIRequest,
        context: &mut Context<'_>,
    ) {
        let due = dialog_due(&request, context);
        self.open_dialog(DialogOwner::Login(login), request, due, context);
    }

    /// Opens a dialog for the agent behind the server; one that the host cannot be shown closes at once.
    pub fn open_agent_dialog(
        &mut self,
        request: CallId,
        dialog: RpcExtensionUIRequest,
        context: &mut Context<'_>,
    ) {
        match context.lifecycle.is_input_over() {
            true => self.dialog_closed(DialogOwner::Agent(request), None, context),
            false => self.open_dialog(DialogOwner::Agent(request), dialog, None, context),
        }
    }

    /// Closes a dialog that the agent has withdrawn. No frame tells the host.
    pub fn withdraw_agent_dialog(&mut self, request: CallId, context: &mut Context<'_>) {
        self.close_dialogs(|dialog| matches!(dialog.owner, DialogOwner::Agent(of) if of == request), context);
    }

    /// Closes the dialog of a login that has ended. No frame tells the host beside the response.
    pub fn close_login_dialog(&mut self, login: CallId, context: &mut Context<'_>) {
        self.close_dialogs(|dialog| matches!(dialog.owner, DialogOwner::Login(of) if of == login), context);
    }

    /// Opens the consent dialog for a tool of an action; `false` if no dialog can be opened.
    pub fn request_action_consent(
        &mut self,
        process: CallId,
        action: CallId,
        origin: Option<&str>,
        request: RpcExtensionUIRequest,
        context: &mut Context<'_>,
    ) -> bool {
        let origin = origin.and_then(|origin| self.origin(process, origin));
        let is_cancelled = origin.is_some_and(|origin| self.is_cancelled(origin));
        if is_cancelled || context.lifecycle.is_input_over() || self.has_too_many_dialogs(process) {
            return false;
        }
        self.open_dialog(DialogOwner::Action { process, action, origin }, request, None, context);
        true
    }

    /// Opens a dialog at the host, and suspends the deadline of the request that it belongs to.
    fn open_dialog(
        &mut self,
        owner: DialogOwner,
        request: RpcExtensionUIRequest,
        due: Option<Duration>,
        context: &mut Context<'_>,
    ) {
        let id = ui_id(context);
        self.open_dialog_as(id, owner, request, due, context);
    }

    fn open_dialog_as(
        &mut self,
        id: String,
        owner: DialogOwner,
        mut request: RpcExtensionUIRequest,
        due: Option<Duration>,
        context: &Context<'_>,
    ) {
        request.set_id(id.clone());
        let dialog = Dialog { id, request: request.clone(), owner, due };
        if let Some(origin) = dialog.origin().and_then(|origin| self.requests.get_mut(&origin)) {
            origin.open_dialog(context.now.monotonic);
        }
        self.dialogs.push(dialog);
        self.push(ExtensionOutput::Emit(Outbound::ExtensionUIRequest(request)));
    }

    /// The frames of the open dialogs, in the order in which they were opened.
    pub fn open_dialogs(&self) -> impl Iterator<Item = &RpcExtensionUIRequest> {
        self.dialogs.iter().map(|dialog| &dialog.request)
    }

    /// Handles a dialog response of the host; ignored if the dialog is not open.
    pub fn dialog_responded(&mut self, response: RpcExtensionUIResponse, context: &Context<'_>) {
        if let Some(dialog) = self.take_dialog(|dialog| dialog.id == response.id()) {
            let response = Some(response).filter(|response| dialog.accepts(response));
            self.dialog_closed(dialog.owner, response, context);
        }
    }

    /// Handles a malformed dialog response of the host: the dialog resolves with its default.
    pub fn dialog_response_malformed(&mut self, error: &LineError, context: &Context<'_>) {
        let LineError::Field { id: Some(id), .. } = error else { return };
        let id = id.to_string();
        if let Some(dialog) = self.take_dialog(|dialog| dialog.id == id) {
            self.dialog_closed(dialog.owner, None, context);
        }
    }

    /// Detaches the dialogs of a request that is over: they then belong to the extension.
    pub(super) fn detach_dialogs(&mut self, process: CallId, request: CallId) {
        self.dialogs.iter_mut().for_each(|dialog| dialog.detach(request));
        // An extension that completes its requests does not open dialogs in a loop.
        if let Some(place) = self.place_of(process) {
            self.all[place].unshown.count = 0;
        }
        self.resolve_withheld(process, |dialog| dialog.origin == Some(request));
    }

    /// Closes a dialog that its extension withdraws.
    pub(super) fn withdraw_dialog(&mut self, of: CallId, own: &str, context: &mut Context<'_>) {
        self.resolve_withheld(of, |dialog| dialog.id == own);
        let is_it = |dialog: &Dialog| matches!(&dialog.owner, DialogOwner::Extension { process, id, .. } if *process == of && id == own);
        self.close_dialogs(is_it, context);
    }

    /// Closes the consent dialog of an action.
    pub fn close_consent(&mut self, of: CallId, context: &mut Context<'_>) {
        let is_it =
            |dialog: &Dialog| matches!(dialog.owner, DialogOwner::Action { action, .. } if action == of);
        self.close_dialogs(is_it, context);
    }

    /// Closes the dialogs whose timeout has come. No frame tells the host.
    pub fn expire_dialogs(&mut self, context: &Context<'_>) {
        let now = context.now.monotonic;
        while let Some(dialog) = self.take_dialog(|dialog| dialog.due.is_some_and(|due| due <= now)) {
            self.dialog_closed(dialog.owner, None, context);
        }
    }

    /// Closes the dialogs that `which` picks.
    pub fn close_dialogs(&mut self, which: impl Fn(&Dialog) -> bool, context: &mut Context<'_>) {
        while self.close_next_dialog(&which, context) {}
    }

    /// Closes the next dialog that `which` picks; `false` if there is none.
    pub fn close_next_dialog(&mut self, which: impl Fn(&Dialog) -> bool, context: &mut Context<'_>) -> bool {
        let Some(dialog) = self.take_dialog(which) else { return false };
        let editor = dialog.request.kind() == RpcExtensionUIRequestKind::Editor;
        if editor && context.dialect.record().dialogs.cancels_editor && !context.lifecycle.is_input_over() {
            let cancel = CancelRequest { id: ui_id(context), target_id: dialog.id };
            self.push(ExtensionOutput::Emit(Outbound::ExtensionUIRequest(cancel.into())));
        }
        self.dialog_closed(dialog.owner, None, context);
        true
    }

    /// Passes a notice on; `live`: it belongs to an outstanding request.
    fn show_notice(&mut self, mut request: RpcExtensionUIRequest, live: bool, context: &mut Context<'_>) {
        let hides_titles =
            context.dialect.record().emits_title == DialectEmitsTitle::OptIn && !self.emits_title;
        let is_hidden = match request.kind() {
            RpcExtensionUIRequestKind::SetTitle => hides_titles,
            // The component itself emits `cancel` for dialogs that close.
            RpcExtensionUIRequestKind::Cancel => true,
            _ => false,
        };
        // Once events are withheld, the original would have exited.
        if !is_hidden
            && !self.hides_ui
            && context.lifecycle.is_greeted()
            && (live || !context.withholds_events)
        {
            request.set_id(ui_id(context));
            self.push(ExtensionOutput::Emit(Outbound::ExtensionUIRequest(request)));
        }
    }

    fn has_too_many_dialogs(&self, process: CallId) -> bool {
        let withheld = self.place_of(process).map_or(0, |place| self.all[place].unshown.withheld.len());
        self.dialogs.iter().filter(|dialog| dialog.is_of(process)).count() + withheld >= MAX_DIALOGS
    }

    /// Answers a dialog that cannot be shown with the default, or withholds it when too many were answered so.
    pub(super) fn resolve_unshown(
        &mut self,
        place: usize,
        process: CallId,
        id: String,
        origin: Option<CallId>,
    ) {
        let unshown = &mut self.all[place].unshown;
        unshown.count += 1;
        match unshown.count > MAX_UNSHOWN_DIALOGS {
            true => unshown.withheld.push(WithheldDialog { id, origin }),
            false => self.respond_to_dialog(process, id, None),
        }
    }

    /// Answers the withheld dialogs of that process that `which` picks with the default.
    fn resolve_withheld(&mut self, process: CallId, which: impl Fn(&WithheldDialog) -> bool) {
        let Some(place) = self.place_of(process) else { return };
        let withheld = &mut self.all[place].unshown.withheld;
        let released: Vec<WithheldDialog> = withheld.extract_if(.., |dialog| which(dialog)).collect();
        for dialog in released {
            self.respond_to_dialog(process, dialog.id, None);
        }
    }

    /// Removes the first dialog that `which` picks.
    fn take_dialog(&mut self, which: impl Fn(&Dialog) -> bool) -> Option<Dialog> {
        let at = self.dialogs.iter().position(which)?;
        let dialog = self.dialogs.remove(at);
        self.push(ExtensionOutput::DialogClosed(dialog.id.clone()));
        Some(dialog)
    }

    /// Passes the response, or the default, to the owner.
    fn dialog_closed(
        &mut self,
        owner: DialogOwner,
        response: Option<RpcExtensionUIResponse>,
        context: &Context<'_>,
    ) {
        if let DialogOwner::Extension { origin: Some(origin), .. }
        | DialogOwner::Action { origin: Some(origin), .. } = &owner
            && let Some(request) = self.requests.get_mut(origin)
        {
            request.close_dialog(context.now.monotonic);
        }
        match owner {
            DialogOwner::Extension { process, id, .. } => self.respond_to_dialog(process, id, response),
            DialogOwner::Call(at) => self.push(ExtensionOutput::CallConsent { at, response }),
            DialogOwner::Budget => self.push(ExtensionOutput::LimitResponse { response }),
            DialogOwner::Agent(request) => {
                self.push(ExtensionOutput::Perform(Output::AgentDialogClosed { request, response }));
            }
            DialogOwner::Login(login) => self.push(ExtensionOutput::LoginDialog { login, response }),
            DialogOwner::Action { action, .. } => {
                self.push(ExtensionOutput::ActionConsent { action, response });
            }
        }
    }

    /// Sends an extension the response to its dialog, or the default.
    fn respond_to_dialog(&mut self, process: CallId, id: String, response: Option<RpcExtensionUIResponse>) {
        let default = UICancelledResponse { id: id.clone(), timed_out: None };
        let mut response = response.unwrap_or(RpcExtensionUIResponse::UICancelledResponse(default));
        response.set_id(id);
        self.send(process, ExtensionUIAnswer { response });
    }
}

/// When a dialog times out; `None`: never.
fn dialog_due(request: &RpcExtensionUIRequest, context: &Context<'_>) -> Option<Duration> {
    let timeout = match request {
        RpcExtensionUIRequest::Select(request) => request.timeout,
        RpcExtensionUIRequest::Confirm(request) => request.timeout,
        RpcExtensionUIRequest::Input(request) => request.timeout,
        _ => None,
    };
    let expires = |ms: &u64| *ms > 0 || context.dialect.record().dialogs.zero_timeout_expires;
    timeout.filter(expires).map(|ms| context.now.monotonic + Duration::from_millis(ms))
}

/// Generates the id of a UI request, in the dialect's form.
fn ui_id(context: &mut Context<'_>) -> String {
    match context.dialect.record().ids.ui {
        DialectIdsUi::Uuid4 => context.ids.uuid(),
        DialectIdsUi::Hex16 => context.ids.hex16(),
    }
}
