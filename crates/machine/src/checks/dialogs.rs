//! Judges UI requests and the host's dialog responses.
//!
//! Rules: `ui-id-unique`, `ui-cancel`, `no-title`, `host-answer-once`, `host-option`.

use crate::findings::Findings;
use pi_rpc_protocol::{
    RpcExtensionUIRequest, RpcExtensionUIRequestKind, RpcExtensionUIResponse, RuleId as Rule,
};
use std::collections::{HashSet, VecDeque};

/// The most ids that are remembered, to detect repeated ones.
const REMEMBERED: usize = 4096;

/// The outstanding dialogs, and the ids of all UI requests.
#[derive(Clone, Debug, Default)]
pub struct Dialogs {
    known: HashSet<String>,
    order: VecDeque<String>,
    /// The latest outstanding dialogs, with the numbers of their frames.
    open: VecDeque<(u64, RpcExtensionUIRequest)>,
}

impl Dialogs {
    /// Whether the id was used before.
    pub fn contains(&self, id: &str) -> bool {
        self.known.contains(id)
    }

    /// Takes in a UI request; `whole`: the conversation was seen from its beginning.
    pub fn on_request(&mut self, request: &RpcExtensionUIRequest, whole: bool, found: &mut Findings) {
        let id = request.id().to_owned();
        let new = self.known.insert(id.clone());
        found.expect(Rule::UiIdUnique, new, || "an id that was not used before, at /id".to_owned());
        match request.kind() {
            RpcExtensionUIRequestKind::SetTitle => {
                found.fail(Rule::NoTitle, "no setTitle unless it was asked for");
            }
            _ => found.pass(Rule::NoTitle),
        }
        if let RpcExtensionUIRequest::Cancel(cancel) = request {
            let may_be_forgotten = !whole || self.order.len() >= REMEMBERED;
            let is_known =
                cancel.target_id != cancel.id && (may_be_forgotten || self.known.contains(&cancel.target_id));
            found.expect(Rule::UiCancel, is_known, || {
                "the id of a dialog that was opened, at /targetId".to_owned()
            });
        }
        // A repeated request opens no dialog.
        if !new {
            return;
        }
        self.order.push_back(id);
        if self.order.len() > REMEMBERED
            && let Some(oldest) = self.order.pop_front()
        {
            self.known.remove(&oldest);
        }
        if request.kind().is_dialog() {
            self.open.push_back((found.frame(), request.clone()));
            if self.open.len() > REMEMBERED {
                self.open.pop_front();
            }
        }
    }

    /// Takes in a dialog response.
    pub fn on_dialog_response(&mut self, response: &RpcExtensionUIResponse, found: &mut Findings) {
        let place = self.open.iter().position(|(_, request)| request.id() == response.id());
        let Some((frame, request)) = place.and_then(|place| self.open.remove(place)) else {
            found.fail(Rule::HostAnswerOnce, "an answer to a dialog that is open");
            return;
        };
        found.with_cause(Some(frame), |found| check_response(&request, response, found));
    }
}

/// Judges the response to a dialog.
fn check_response(request: &RpcExtensionUIRequest, response: &RpcExtensionUIResponse, found: &mut Findings) {
    let expected_response = match request {
        RpcExtensionUIRequest::Confirm(_) => "confirmed",
        _ => "value",
    };
    let fits = match response {
        RpcExtensionUIResponse::UIValueResponse(_) => expected_response == "value",
        RpcExtensionUIResponse::UIConfirmedResponse(_) => expected_response == "confirmed",
        RpcExtensionUIResponse::UICancelledResponse(_) => true,
    };
    found.expect(Rule::HostAnswerOnce, fits, || format!("`{expected_response}` or `cancelled`"));
    if let (RpcExtensionUIRequest::Select(select), RpcExtensionUIResponse::UIValueResponse(answer)) =
        (request, response)
    {
        match select.options.contains(&answer.value) {
            true => found.pass(Rule::HostOption),
            false => {
                let what = "one of the options of the dialog";
                found.fail_with_difference(Rule::HostOption, "/value", what, &select.options, &answer.value);
            }
        }
    }
}
