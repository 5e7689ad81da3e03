//! Courses of logins: what the user is to do, and the end.

use crate::work::WorkPlan;
use pi_rpc_engine::{Input, LoginEnd, LoginNotice, LoginStart};
use pi_rpc_protocol::{LoginMethod, LoginProvider};

/// Provider whose login is a code that the user confirms after 100 ms.
pub const WITH_CODE: &str = "kimi-coding";

/// Provider whose browser never comes back: the login ends 5 ms after an address is pasted.
pub const WITH_BROWSER: &str = "anthropic";

/// Milliseconds from a cancel to the end.
const CANCEL_MS: u64 = 3;

/// The list of logins.
pub(crate) fn listed() -> Vec<LoginProvider> {
    let provider = |id: &str, method, is_in: bool| LoginProvider {
        id: id.to_owned(),
        name: id.to_uppercase(),
        available: true,
        authenticated: is_in,
        methods: Some(vec![method]),
        expires: is_in.then_some(4_000_000_000_000),
    };
    vec![provider(WITH_BROWSER, LoginMethod::Browser, true), provider(WITH_CODE, LoginMethod::Device, false)]
}

/// The course of a login.
pub(crate) fn course(start: &LoginStart) -> WorkPlan {
    let call = start.call;
    let notice = |code: Option<&str>| Input::LoginNotice {
        call,
        notice: LoginNotice {
            url: format!("https://{}.example/login", start.provider),
            code: code.map(str::to_owned),
        },
    };
    let end = move |end| Input::LoginEnd { call, end };
    let steps = match start.provider.as_str() {
        WITH_CODE => vec![(10, notice(Some("AB-12"))), (110, end(LoginEnd::Stored))],
        WITH_BROWSER => vec![(10, notice(None))],
        _ => vec![(0, end(LoginEnd::Unknown))],
    };
    WorkPlan { steps, stop: Box::new(move |_| vec![(CANCEL_MS, end(LoginEnd::Cancelled))]) }
}

/// The end of a login after something was pasted.
pub(crate) fn pasted(call: u64, text: &str) -> (u64, Input) {
    let end = match text {
        "" => LoginEnd::Failed("the page sent no code back".to_owned()),
        _ => LoginEnd::Stored,
    };
    (5, Input::LoginEnd { call, end })
}
