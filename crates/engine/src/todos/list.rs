//! The list of todos: phases, ids, and timers that remove done todos.

use pi_rpc_protocol::{TodoItem, TodoItemInput, TodoPhase, TodoPhaseInput, TodoStatus, ToolResultMessage};
use serde::{Deserialize, Serialize};
use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

/// The name of the tool that keeps the list.
pub const TODO_WRITE: &str = "todo_write";

/// How long a todo that is done stays on the list where the user has set nothing. Source: xcsh source, its setting
/// `tasks.todoClearDelay`.
pub const CLEAR_AFTER: Duration = Duration::from_secs(60);

/// The list of a session. Times are on the monotonic clock.
#[derive(Debug)]
pub struct Todos {
    pub(super) phases: Vec<Phase>,
    /// How long what is done stays; `None`: for ever.
    clear_after: Option<Duration>,
    /// When each todo that is done is taken off, by its id.
    timers: BTreeMap<String, Duration>,
    /// Reminders since the last prompt.
    pub(super) reminded: u64,
}

/// A group of todos, as `todo_write` tells it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Phase {
    /// Other vintages have no ids.
    #[serde(default)]
    pub id: String,
    pub name: String,
    pub tasks: Vec<Task>,
}

/// A todo, as `todo_write` tells it: with `details`, which hosts are not shown.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Task {
    #[serde(default)]
    pub id: String,
    pub content: String,
    pub status: TodoStatus,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub notes: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub blocker: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub details: Option<String>,
}

impl Todos {
    /// An empty list, from which what is done goes after `clear_after`; `None`: never.
    pub const fn new(clear_after: Option<Duration>) -> Self {
        Self { phases: Vec::new(), clear_after, timers: BTreeMap::new(), reminded: 0 }
    }

    /// Replaces the list by what the host gives, statuses as they are. An id that is missing is made, and so is one that
    /// is empty or was given to another todo (or phase) before it: the model refers to todos by their ids.
    pub fn set(&mut self, phases: Vec<TodoPhaseInput>, now: Duration) {
        self.phases = phases.into_iter().map(Phase::from).collect();
        fill_ids(&mut self.phases);
        self.update_timers(now);
    }

    /// The list as hosts see it.
    pub fn view(&self) -> Vec<TodoPhase> {
        self.phases.iter().map(Phase::view).collect()
    }

    /// Replaces the list by the newest one that `todo_write` wrote, without what was done; empty if there is none.
    /// `results` are those of the session's branch, newest first.
    pub fn restore<'a>(&mut self, results: impl IntoIterator<Item = &'a ToolResultMessage>) {
        let newest = results.into_iter().find_map(phases_of);
        self.phases = newest.unwrap_or_default();
        fill_ids(&mut self.phases);
        self.phases.iter_mut().for_each(|phase| phase.tasks.retain(Task::is_open));
        self.drop_empty();
        self.timers.clear();
    }

    /// When [`clear_due`](Self::clear_due) has something to do.
    pub fn due(&self) -> Option<Duration> {
        self.timers.values().min().copied()
    }

    /// Takes off what has been done for long enough, and phases that are empty then. Returns how many
    /// todos were removed: each has an event of its own.
    pub fn clear_due(&mut self, now: Duration) -> usize {
        let due = self.timers.extract_if(.., |_, due| *due <= now).map(|(id, _)| id);
        let due: BTreeSet<String> = due.collect();
        if due.is_empty() {
            return 0;
        }
        let before = self.tasks().count();
        for phase in &mut self.phases {
            phase.tasks.retain(|task| !due.contains(&task.id));
        }
        self.drop_empty();
        before - self.tasks().count()
    }

    /// Starts a timer for each todo that is done and has none; those of others end.
    pub(super) fn update_timers(&mut self, now: Duration) {
        let done: BTreeSet<String> =
            self.tasks().filter(|task| !task.is_open()).map(|task| task.id.clone()).collect();
        self.timers.retain(|id, _| done.contains(id));
        if let Some(delay) = self.clear_after {
            for id in done {
                self.timers.entry(id).or_insert(now.saturating_add(delay));
            }
        }
    }

    /// Drops all timers: the list was replaced.
    pub(super) fn forget_timers(&mut self) {
        self.timers.clear();
    }

    pub(super) fn tasks(&self) -> impl Iterator<Item = &Task> {
        self.phases.iter().flat_map(|phase| &phase.tasks)
    }

    /// Removes phases without todos.
    fn drop_empty(&mut self) {
        self.phases.retain(|phase| !phase.tasks.is_empty());
    }
}

impl Phase {
    fn view(&self) -> TodoPhase {
        let tasks = self.tasks.iter().map(Task::view).collect();
        TodoPhase { id: Some(self.id.clone()), name: self.name.clone(), tasks }
    }
}

impl Task {
    /// Neither completed nor abandoned.
    pub const fn is_open(&self) -> bool {
        matches!(self.status, TodoStatus::Pending | TodoStatus::InProgress)
    }

    fn view(&self) -> TodoItem {
        TodoItem {
            id: Some(self.id.clone()),
            content: self.content.clone(),
            status: self.status,
            notes: self.notes.clone(),
            blocker: self.blocker.clone(),
        }
    }
}

impl From<TodoPhaseInput> for Phase {
    fn from(given: TodoPhaseInput) -> Self {
        let TodoPhaseInput { id, name, tasks } = given;
        Self { id: id.unwrap_or_default(), name, tasks: tasks.into_iter().map(Task::from).collect() }
    }
}

impl From<TodoItemInput> for Task {
    fn from(given: TodoItemInput) -> Self {
        let TodoItemInput { id, content, status, notes, blocker } = given;
        let status = status.unwrap_or(TodoStatus::Pending);
        Self { id: id.unwrap_or_default(), content, status, notes, blocker, details: None }
    }
}

/// What the ids of phases begin with; a number follows.
pub(super) const PHASE: &str = "phase-";
/// What the ids of todos begin with; a number follows.
pub(super) const TASK: &str = "task-";

/// The number after the highest one in use among `ids`; from 1.
pub(super) fn next_number<'a>(ids: impl Iterator<Item = &'a str>, prefix: &str) -> u64 {
    let numbers = ids.filter_map(|id| id.strip_prefix(prefix)?.parse().ok());
    // Ids of the host may end in any number; huge ones are not counted on from.
    numbers.filter(|number| *number < u64::from(u32::MAX)).max().unwrap_or(0) + 1
}

/// Generates missing and repeated ids of phases and todos.
fn fill_ids(phases: &mut [Phase]) {
    fill(phases.iter_mut().map(|phase| &mut phase.id).collect(), PHASE);
    fill(phases.iter_mut().flat_map(|phase| &mut phase.tasks).map(|task| &mut task.id).collect(), TASK);
}

fn fill(ids: Vec<&mut String>, prefix: &str) {
    let mut next = next_number(ids.iter().map(|id| id.as_str()), prefix);
    let mut taken = BTreeSet::new();
    for id in ids {
        if id.is_empty() || !taken.insert(id.clone()) {
            *id = format!("{prefix}{next}");
            next += 1;
        }
    }
}

/// The list that a result of `todo_write` tells; `None`: it failed, or is another tool's, or tells none.
fn phases_of(result: &ToolResultMessage) -> Option<Vec<Phase>> {
    let details = result.details.as_ref().filter(|_| !result.is_error && result.tool_name == TODO_WRITE)?;
    Vec::<Phase>::deserialize(details.get("phases")?).ok()
}
