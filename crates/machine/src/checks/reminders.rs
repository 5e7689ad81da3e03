//! Judges the reminders of open todos.
//!
//! Rule: `todo-reminder`.

use crate::findings::Findings;
use pi_rpc_protocol::{RuleId as Rule, TodoPhase, TodoReminderEvent, TodoStatus};

/// The reminders since the last prompt.
#[derive(Clone, Copy, Debug, Default)]
pub struct Reminders {
    /// The number of the last reminder; `None` if not known.
    last: Option<u64>,
}

impl Reminders {
    /// Restarts counting after a prompt.
    pub const fn prompted(&mut self) {
        self.last = Some(0);
    }

    /// Judges a reminder; `phases` are the todos, if known.
    pub fn judge(
        &mut self,
        reminder: &TodoReminderEvent,
        phases: Option<&[TodoPhase]>,
        found: &mut Findings,
    ) {
        if let Some(last) = self.last {
            found.expect_same(
                Rule::TodoReminder,
                "/attempt",
                "reminders to count up from 1 for each prompt",
                &(last + 1),
                &reminder.attempt,
            );
        }
        self.last = Some(reminder.attempt);
        let Some(phases) = phases else { return };
        let open: Vec<_> =
            phases.iter().flat_map(|phase| &phase.tasks).filter(|task| is_open(task.status)).collect();
        let reported: Vec<_> =
            reminder.todos.iter().map(|it| (it.content.as_str(), it.status.as_str())).collect();
        let expected: Vec<_> = open.iter().map(|it| (it.content.as_str(), it.status.as_str())).collect();
        found.expect_same(Rule::TodoReminder, "/todos", "the todos that are open", &expected, &reported);
        if expected != reported {
            return;
        }
        for (place, (open, told)) in open.iter().zip(&reminder.todos).enumerate() {
            if let (Some(id), Some(told)) = (&open.id, &told.id) {
                let at = format!("/todos/{place}/id");
                found.expect_same(Rule::TodoReminder, &at, "the id of the todo that is open", id, told);
            }
        }
    }
}

/// Whether a todo is not finished.
const fn is_open(status: TodoStatus) -> bool {
    matches!(status, TodoStatus::Pending | TodoStatus::InProgress)
}
