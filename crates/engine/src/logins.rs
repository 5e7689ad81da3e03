//! Logins over the wire: starts, cancels and completes them, and shows the host the page for its user.
//!
//! The server obtains and stores the tokens; the engine sees only the page, the code that the user enters there, and the
//! outcome. One login is open at a time, since the browser comes back to a port of its own.

use crate::{
    core::Engine,
    io::{CallId, LoginEnd, LoginNotice, LoginStart, Output},
    requests::OpenLogin,
};
use pi_rpc_protocol::{
    GetLoginProvidersResponse, InputRequest, LoginCommand, LoginProvider, LoginProviderList, LoginResponse,
    LoginResult, LogoutCommand, LogoutResponse, LogoutResult, OpenUrlRequest, RequestId, RpcCommandKind,
    RpcExtensionUIResponse, errors, texts,
};

/// How long the dialog of a login stays open, in milliseconds.
const DIALOG_TIMEOUT_MS: u64 = 600_000;

impl Engine {
    /// Serves `get_login_providers`.
    pub(crate) fn list_login_providers(&mut self, id: Option<RequestId>) {
        self.requests.logins.lists.push_back(id);
        self.push(Output::ListLogins);
    }

    /// Responds with the list of logins.
    pub(crate) fn on_logins_listed(&mut self, providers: Vec<LoginProvider>) {
        if let Some(id) = self.requests.logins.lists.pop_front() {
            self.succeed(GetLoginProvidersResponse { id, data: LoginProviderList { providers } });
        }
    }

    /// Serves `login`.
    pub(crate) fn start_login(&mut self, command: LoginCommand) {
        let LoginCommand { id, provider_id: provider, method, server } = command;
        let base = self.dialect.base();
        let refusal = match &self.requests.logins.open {
            Some(open) => Some(errors::login_open(base, &open.provider)),
            None => self.activity.lifecycle().is_input_over().then(|| errors::login_cancelled(base)),
        };
        if let Some(text) = refusal {
            return self.fail(id, RpcCommandKind::Login, text);
        }
        let call = self.ids.call();
        self.requests.logins.open = Some(OpenLogin { call, id, provider: provider.clone() });
        self.push(Output::StartLogin(LoginStart { call, provider, method, server }));
    }

    /// Shows the host the page of the open login. A browser on another machine cannot come back by itself: a dialog takes the
    /// address that it ended at.
    pub(crate) fn on_login_notice(&mut self, call: CallId, notice: LoginNotice) {
        if !self.is_open_login(call) {
            return;
        }
        let LoginNotice { url, code } = notice;
        let takes_address = code.is_none();
        let instructions = code.as_deref().map(texts::enter_login_code);
        let page = OpenUrlRequest { id: String::new(), url, instructions, user_code: code, launch_url: None };
        self.with_extensions(|host, context| {
            host.show_login_page(page.into(), context);
            if takes_address {
                let timeout = Some(DIALOG_TIMEOUT_MS);
                let title = texts::paste_login();
                let dialog = InputRequest { id: String::new(), title, placeholder: None, timeout };
                host.open_login_dialog(call, dialog.into(), context);
            }
        });
    }

    /// Passes what the user has pasted to the open login; without it, cancels the login.
    pub(crate) fn on_login_dialog(&mut self, call: CallId, response: Option<RpcExtensionUIResponse>) {
        if !self.is_open_login(call) {
            return;
        }
        match response {
            Some(RpcExtensionUIResponse::UIValueResponse(pasted)) => {
                self.push(Output::PasteLogin { call, text: pasted.value });
            }
            _ => self.push(Output::CancelLogin(call)),
        }
    }

    /// Cancels the open login; its end still comes.
    pub(crate) fn cancel_login(&mut self) {
        if let Some(open) = &self.requests.logins.open {
            self.push(Output::CancelLogin(open.call));
        }
    }

    /// Handles the end of a login: closes its dialog and responds.
    pub(crate) fn on_login_end(&mut self, call: CallId, end: LoginEnd) {
        let Some(OpenLogin { id, provider, .. }) =
            self.requests.logins.open.take_if(|open| open.call == call)
        else {
            return;
        };
        self.with_extensions(|host, context| host.close_login_dialog(call, context));
        let base = self.dialect.base();
        let error = match end {
            LoginEnd::Stored => {
                return self.succeed(LoginResponse { id, data: LoginResult { provider_id: provider } });
            }
            LoginEnd::Cancelled => errors::login_cancelled(base),
            LoginEnd::Unknown => errors::login_unknown_provider(base, &provider),
            LoginEnd::Failed(reason) => errors::login_failed(base, &provider, &reason),
        };
        self.fail(id, RpcCommandKind::Login, error);
    }

    /// Serves `logout`.
    pub(crate) fn start_logout(&mut self, command: LogoutCommand) {
        let call = self.ids.call();
        let LogoutCommand { id, provider_id: provider } = command;
        self.requests.logins.logouts.insert(call, (id, provider.clone()));
        self.push(Output::StartLogout { call, provider });
    }

    /// Handles the end of a logout: `removed` tells whether something was stored, or why it cannot be removed.
    pub(crate) fn on_logout_end(&mut self, call: CallId, removed: Result<bool, String>) {
        let Some((id, provider_id)) = self.requests.logins.logouts.remove(&call) else { return };
        match removed {
            Ok(removed) => self.succeed(LogoutResponse { id, data: LogoutResult { provider_id, removed } }),
            Err(reason) => {
                let text = errors::logout_failed(self.dialect.base(), &provider_id, &reason);
                self.fail(id, RpcCommandKind::Logout, text);
            }
        }
    }

    fn is_open_login(&self, call: CallId) -> bool {
        self.requests.logins.open.as_ref().is_some_and(|open| open.call == call)
    }
}
