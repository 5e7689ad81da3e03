//! Judges logins over the wire.
//!
//! Rules: `login-single`, `login-page`.

use super::frame_context::FrameContext;
use crate::{
    findings::Findings,
    requests::{OpenRequest, Requests},
};
use pi_rpc_protocol::{RpcCommandKind as Command, RpcExtensionUIRequest, RuleId as Rule};

/// Takes in a UI request: the page of a login needs an open login.
pub fn on_ui_request(
    request: &RpcExtensionUIRequest,
    requests: &Requests,
    at: &FrameContext,
    found: &mut Findings,
) {
    if matches!(request, RpcExtensionUIRequest::OpenUrl(_)) && at.whole {
        let has_login = requests.outstanding().any(|open| open.command == Command::Login);
        found.expect(Rule::LoginPage, has_login, || "a `login` that has no response yet".to_owned());
    }
}

/// Takes in the response to a `login`: it is no success beside an earlier one that is open.
pub fn on_response(request: &OpenRequest, is_success: bool, requests: &Requests, found: &mut Findings) {
    if request.command != Command::Login || !is_success {
        return;
    }
    let is_earlier = |open: &&OpenRequest| open.command == Command::Login && open.number < request.number;
    match requests.outstanding().find(is_earlier) {
        Some(open) => found.with_cause(Some(open.frame), |found| {
            found.fail(Rule::LoginSingle, "a refusal, as an earlier `login` is open");
        }),
        None => found.pass(Rule::LoginSingle),
    }
}
