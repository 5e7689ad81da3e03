//! The agent's requests for permission as dialogs.

use agent_client_protocol::v1::schema::{
    PermissionOption, PermissionOptionKind, RequestPermissionOutcome, SelectedPermissionOutcome,
};
use pi_rpc_protocol::{RpcExtensionUIRequest, RpcExtensionUIResponse, SelectRequest};

/// The dialog that lets the user choose among the agent's options.
pub fn dialog(title: &str, options: &[PermissionOption]) -> RpcExtensionUIRequest {
    let title = format!("The agent requests permission: {title}");
    SelectRequest { id: String::new(), title, options: labels(options), timeout: None, option_details: None }
        .into()
}

/// The outcome of the dialog. A dialog that was dismissed refuses, this time only where the agent has such an option.
pub fn outcome(
    options: &[PermissionOption],
    response: Option<&RpcExtensionUIResponse>,
) -> RequestPermissionOutcome {
    let chosen = match response {
        Some(RpcExtensionUIResponse::UIValueResponse(chosen)) => {
            labels(options).iter().position(|label| *label == chosen.value)
        }
        _ => None,
    };
    let of_kind = |kind| options.iter().find(|option| option.kind == kind);
    let option = chosen
        .and_then(|at| options.get(at))
        .or_else(|| of_kind(PermissionOptionKind::RejectOnce))
        .or_else(|| of_kind(PermissionOptionKind::RejectAlways));
    match option {
        Some(option) => {
            RequestPermissionOutcome::Selected(SelectedPermissionOutcome::new(option.option_id.clone()))
        }
        None => RequestPermissionOutcome::Cancelled,
    }
}

/// The options' names; one that repeats has its number behind it.
fn labels(options: &[PermissionOption]) -> Vec<String> {
    let mut labels: Vec<String> = Vec::new();
    for (at, option) in options.iter().enumerate() {
        let is_known = labels.contains(&option.name);
        labels.push(if is_known { format!("{} ({})", option.name, at + 1) } else { option.name.clone() });
    }
    labels
}

#[cfg(test)]
mod tests {
    use super::*;
    use pi_rpc_protocol::{UICancelledResponse, UIValueResponse};

    fn options() -> Vec<PermissionOption> {
        vec![
            PermissionOption::new("yes", "Allow", PermissionOptionKind::AllowOnce),
            PermissionOption::new("always", "Allow", PermissionOptionKind::AllowAlways),
            PermissionOption::new("no", "Reject", PermissionOptionKind::RejectOnce),
        ]
    }

    fn selected(id: &str) -> RequestPermissionOutcome {
        RequestPermissionOutcome::Selected(SelectedPermissionOutcome::new(id.to_owned()))
    }

    #[test]
    fn label_selects_its_option() {
        let choose = |label: &str| {
            let response = UIValueResponse { id: String::new(), value: label.to_owned() };
            outcome(&options(), Some(&RpcExtensionUIResponse::UIValueResponse(response)))
        };
        assert_eq!(choose("Allow"), selected("yes"));
        assert_eq!(choose("Allow (2)"), selected("always"));
        assert_eq!(choose("Perhaps"), selected("no"));
    }

    #[test]
    fn dismissed_dialog_rejects_once() {
        let dismissed = UICancelledResponse { id: String::new(), timed_out: None };
        let dismissed = RpcExtensionUIResponse::UICancelledResponse(dismissed);
        assert_eq!(outcome(&options(), Some(&dismissed)), selected("no"));
        assert_eq!(outcome(&options()[..2], None), RequestPermissionOutcome::Cancelled);
    }
}
