//! The reminders of todos that are open.

use crate::{
    machine::findings::Findings,
    protocol::{RuleId as Rule, TodoPhase, TodoReminderEvent, TodoStatus},
};

/// Reminders so far.
#[derive(Clone, Copy, Debug, Default)]
pub struct Reminders {
    /// The number of the last one since a prompt; `None`: not known.
    last: Option<u64>,
}

impl Reminders {
    /// A prompt was written: counting begins anew.
    pub const fn prompted(&mut self) {
        self.last = Some(0);
    }

    /// Judges a reminder; `phases`: the todos, where they are known.
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
        let told: Vec<_> =
            reminder.todos.iter().map(|it| (it.content.as_str(), it.status.as_str())).collect();
        let expected: Vec<_> = open.iter().map(|it| (it.content.as_str(), it.status.as_str())).collect();
        found.expect_same(Rule::TodoReminder, "/todos", "the todos that are open", &expected, &told);
    }
}

/// Whether a todo is still to be done.
const fn is_open(status: TodoStatus) -> bool {
    matches!(status, TodoStatus::Pending | TodoStatus::InProgress)
}
