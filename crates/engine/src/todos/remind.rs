//! Messages about the list to the model, unseen by the user.

use crate::todos::list::{Phase, Task, Todos};
use pi_rpc_protocol::{
    Attribution, CustomMessage, DeveloperMessage, MessageContent, TodoReminderEvent, TodoReminderItem,
    TodoReminderStatus, TodoStatus, texts,
};

/// How often the model is reminded after one prompt. Source: xcsh source, the default of its setting
/// `todo.reminders.max`.
pub const MOST_REMINDERS: u64 = 3;

/// The `customType` of the message that asks the model to plan first. Source: observed.
pub const PRELUDE: &str = "eager-todo-prelude";

/// A reminder to continue with the open todos.
#[derive(Clone, Debug, PartialEq)]
pub struct Reminder {
    /// The event for the host.
    pub event: TodoReminderEvent,
    /// The text for the model.
    pub text: String,
}

impl Reminder {
    /// The message to the model, made at `wall` milliseconds since the Unix epoch. It is neither emitted nor persisted.
    pub fn message(&self, wall: u64) -> DeveloperMessage {
        DeveloperMessage {
            content: MessageContent::Text(self.text.clone()),
            attribution: Some(Attribution::Agent),
            timestamp: wall,
            synthetic: None,
        }
    }
}

impl Todos {
    /// Resets the count of reminders, after a prompt of the user.
    pub const fn reset_reminders(&mut self) {
        self.reminded = 0;
    }

    /// The reminder after a successful run without further tool calls; `None`: nothing is left to do, or the
    /// model was reminded often enough. Once nothing is left, reminders are counted anew.
    pub fn reminder(&mut self) -> Option<Reminder> {
        let todos: Vec<TodoReminderItem> = self.tasks().filter_map(open_item).collect();
        if todos.is_empty() {
            self.reminded = 0;
        }
        if todos.is_empty() || self.reminded >= MOST_REMINDERS {
            return None;
        }
        self.reminded += 1;
        let (attempt, most) = (self.reminded.to_string(), MOST_REMINDERS.to_string());
        let open = match todos.len() {
            1 => "1 open todo".to_owned(),
            count => format!("{count} open todos"),
        };
        let phases = self.phases.iter().filter(|phase| phase.tasks.iter().any(Task::is_open));
        let list: Vec<String> = phases.flat_map(lines).collect();
        let text = texts::todo_reminder(&open, &list.join("\n"), &attempt, &most);
        let event = TodoReminderEvent { todos, attempt: self.reminded, max_attempts: MOST_REMINDERS };
        Some(Reminder { event, text })
    }

    /// Whether the model is first to plan what the user asks in `text`: a conversation begins (`is_first`), nothing is
    /// planned yet, and the text is neither a question nor an exclamation. The one who asks knows whether the model has
    /// the tool. Source: xcsh source, observed.
    pub fn needs_prelude(&self, is_first: bool, text: &str) -> bool {
        is_first && self.tasks().next().is_none() && !text.trim_end().ends_with(['?', '!'])
    }

    /// The message that asks the model to plan first, made at `wall` milliseconds since the Unix epoch. It comes before
    /// the user's.
    pub fn prelude(wall: u64) -> CustomMessage {
        CustomMessage {
            custom_type: PRELUDE.to_owned(),
            content: MessageContent::Text(texts::todo_prelude()),
            display: false,
            details: None,
            attribution: Some(Attribution::Agent),
            timestamp: wall,
        }
    }
}

fn lines(phase: &Phase) -> impl Iterator<Item = String> {
    let open = phase.tasks.iter().filter(|task| task.is_open());
    [format!("- {}", phase.name)].into_iter().chain(open.map(|task| format!("  - {}", task.content)))
}

fn open_item(task: &Task) -> Option<TodoReminderItem> {
    let status = match task.status {
        TodoStatus::Pending => TodoReminderStatus::Pending,
        TodoStatus::InProgress => TodoReminderStatus::InProgress,
        TodoStatus::Completed | TodoStatus::Abandoned => return None,
    };
    Some(TodoReminderItem { id: Some(task.id.clone()), content: task.content.clone(), status })
}
