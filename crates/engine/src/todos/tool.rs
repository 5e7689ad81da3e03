//! `todo_write`: what the model may do to the list.
//!
//! Source of the operations, their errors and the rule of the one todo in progress: xcsh source. The texts are ours.

use crate::todos::list::{PHASE, Phase, TASK, TODO_WRITE, Task, Todos, next_number};
use pi_rpc_model::types::ToolSpec;
use pi_rpc_protocol::{AgentToolResult, JsonObject, TextContent, TodoStatus, UserContent};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Deserialize;
use serde_json::{Value, json};
use std::time::Duration;

/// The tool's specification for the model.
pub fn spec() -> ToolSpec {
    ToolSpec::of::<Arguments>(
        TODO_WRITE,
        "Keep the list of what is to be done in this session: phases, and todos in them. Use it for work of several \
         steps, and keep it true: a todo becomes `in_progress` when you begin it, `completed` as soon as it is done, \
         `abandoned` when it is not to be done any more. One todo at a time is in progress; if you name none, the first \
         pending one is. The result shows the list with the ids that the operations refer to.",
        true,
    )
}

#[derive(Debug, Deserialize, JsonSchema)]
struct Arguments {
    /// The operations, done in this order
    ops: Vec<Op>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(tag = "op", rename_all = "snake_case")]
enum Op {
    /// Begin a new list
    Replace {
        /// All of its phases, in order
        phases: Vec<NewPhase>,
    },
    /// Add a phase at the end
    AddPhase(NewPhase),
    /// Add a todo at the end of a phase
    AddTask {
        /// The id of the phase
        phase: String,
        #[serde(flatten)]
        task: NewTask,
    },
    /// Change what is given, and leave the rest
    Update(Changes),
    /// Take a todo off the list
    RemoveTask {
        /// The id of the todo
        id: String,
    },
}

#[derive(Debug, Deserialize, JsonSchema)]
struct NewPhase {
    /// What the phase is about
    name: String,
    /// Its todos, in order
    #[schemars(with = "Vec<NewTask>")]
    #[serde(default)]
    tasks: Option<Vec<NewTask>>,
}

#[derive(Debug, Deserialize, JsonSchema)]
struct NewTask {
    /// What is to be done, in a few words
    content: String,
    /// Without one, `pending`
    #[schemars(schema_with = "status")]
    #[serde(default)]
    status: Option<TodoStatus>,
    /// What is to be known about it, for the user too
    #[serde(default)]
    notes: Option<String>,
    /// What you will need when its turn comes, such as paths and steps
    #[serde(default)]
    details: Option<String>,
}

#[derive(Debug, Deserialize, JsonSchema)]
struct Changes {
    /// The id of the todo
    id: String,
    /// How far it has come
    #[schemars(schema_with = "status")]
    #[serde(default)]
    status: Option<TodoStatus>,
    /// What is to be done, in a few words
    #[serde(default)]
    content: Option<String>,
    /// An empty text takes the notes away
    #[serde(default)]
    notes: Option<String>,
    /// An empty text takes the details away
    #[serde(default)]
    details: Option<String>,
}

fn status(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "string", "enum": TodoStatus::ALL.map(TodoStatus::as_str) })
}

impl Todos {
    /// Runs a call of [`TODO_WRITE`]. The text of the result lists the operations that failed; the others are applied.
    /// `is_stored`: the result will be in a file, from which [`restore`](Self::restore) can read it.
    ///
    /// # Errors
    ///
    /// A sentence if the arguments are not as the tool's schema has them; nothing is changed then.
    pub fn write(
        &mut self,
        arguments: &JsonObject,
        is_stored: bool,
        now: Duration,
    ) -> Result<AgentToolResult, String> {
        let Arguments { ops } =
            Arguments::deserialize(&Value::Object(arguments.clone())).map_err(|error| {
                format!("The arguments of {TODO_WRITE} are not as its schema has them: {error}")
            })?;
        let mut writing = TodoEdit::of(self);
        let errors: Vec<String> = ops.into_iter().filter_map(|op| writing.apply(op).err()).collect();
        self.put_one_in_progress();
        self.update_timers(now);
        let text = self.result_text(&errors);
        let storage = if is_stored { "session" } else { "memory" };
        Ok(AgentToolResult {
            content: vec![UserContent::Text(TextContent { text, text_signature: None })],
            details: Some(json!({ "phases": self.phases, "storage": storage })),
            is_warning: None,
            structured_content: None,
            is_error: None,
            usage: None,
            terminate: None,
        })
    }

    /// Keeps only the first todo in progress; if there is none, starts the first pending one.
    fn put_one_in_progress(&mut self) {
        let is = |status| move |task: &Task| task.status == status;
        let first = |status| self.tasks().position(is(status));
        let turn = first(TodoStatus::InProgress).or_else(|| first(TodoStatus::Pending));
        let tasks = self.phases.iter_mut().flat_map(|phase| &mut phase.tasks);
        for (at, task) in tasks.enumerate().filter(|(_, task)| task.is_open()) {
            task.status = if Some(at) == turn { TodoStatus::InProgress } else { TodoStatus::Pending };
        }
    }

    /// Formats the result for the model: failed operations, then the list, with details of the todo in progress.
    fn result_text(&self, errors: &[String]) -> String {
        let mut text = String::new();
        if !errors.is_empty() {
            text += &format!("Not done: {}\n\n", errors.join("; "));
        }
        let (all, open) = (self.tasks().count(), self.tasks().filter(|task| task.is_open()).count());
        text += &match (all, open) {
            (0, _) if self.phases.is_empty() => "The list is empty.".to_owned(),
            (all, 0) => format!("Todos: {all}, none of them open."),
            (all, open) => format!("Todos: {all}, of which {open} open."),
        };
        for phase in &self.phases {
            text += &format!("\n\n{} {}", phase.id, phase.name);
            for task in &phase.tasks {
                text += &format!("\n- {} [{}] {}", task.id, task.status, task.content);
                let has_turn = task.status == TodoStatus::InProgress;
                for known in [&task.notes, &task.details].into_iter().flatten().filter(|_| has_turn) {
                    text += &format!("\n  {}", known.replace('\n', "\n  "));
                }
            }
        }
        text
    }
}

/// The application of one call; new ids continue from the highest number in use before.
struct TodoEdit<'a> {
    todos: &'a mut Todos,
    next_phase: u64,
    next_task: u64,
}

impl<'a> TodoEdit<'a> {
    fn of(todos: &'a mut Todos) -> Self {
        let next_phase = next_number(todos.phases.iter().map(|phase| phase.id.as_str()), PHASE);
        let next_task = next_number(todos.tasks().map(|task| task.id.as_str()), TASK);
        Self { todos, next_phase, next_task }
    }

    fn apply(&mut self, op: Op) -> Result<(), String> {
        match op {
            Op::Replace { phases } => {
                self.todos.forget_timers();
                self.todos.phases.clear();
                (self.next_phase, self.next_task) = (1, 1);
                phases.into_iter().for_each(|phase| self.add(phase));
            }
            Op::AddPhase(phase) => self.add(phase),
            Op::AddTask { phase, task } => {
                let task = self.task(task);
                self.phase(&phase)?.tasks.push(task);
            }
            Op::Update(changes) => self.update(changes)?,
            Op::RemoveTask { id } => {
                let holds = |phase: &&mut Phase| phase.tasks.iter().any(|task| task.id == id);
                let phase = self.todos.phases.iter_mut().find(holds).ok_or_else(|| not_found("Task", &id))?;
                phase.tasks.retain(|task| task.id != id);
            }
        }
        Ok(())
    }

    fn add(&mut self, phase: NewPhase) {
        let id = numbered(PHASE, &mut self.next_phase);
        let tasks = phase.tasks.unwrap_or_default().into_iter().map(|task| self.task(task)).collect();
        self.todos.phases.push(Phase { id, name: phase.name, tasks });
    }

    fn task(&mut self, task: NewTask) -> Task {
        let NewTask { content, status, notes, details } = task;
        Task {
            id: numbered(TASK, &mut self.next_task),
            content,
            status: status.unwrap_or(TodoStatus::Pending),
            notes: notes.filter(|text| !text.is_empty()),
            details: details.filter(|text| !text.is_empty()),
            blocker: None,
        }
    }

    fn phase(&mut self, id: &str) -> Result<&mut Phase, String> {
        self.todos.phases.iter_mut().find(|phase| phase.id == id).ok_or_else(|| not_found("Phase", id))
    }

    fn update(&mut self, changes: Changes) -> Result<(), String> {
        let Changes { id, status, content, notes, details } = changes;
        let mut tasks = self.todos.phases.iter_mut().flat_map(|phase| &mut phase.tasks);
        let task = tasks.find(|task| task.id == id).ok_or_else(|| not_found("Task", &id))?;
        task.status = status.unwrap_or(task.status);
        task.content = content.unwrap_or_else(|| std::mem::take(&mut task.content));
        for (known, change) in [(&mut task.notes, notes), (&mut task.details, details)] {
            if let Some(text) = change {
                *known = Some(text).filter(|text| !text.is_empty());
            }
        }
        Ok(())
    }
}

fn numbered(prefix: &str, next: &mut u64) -> String {
    let id = format!("{prefix}{next}");
    *next += 1;
    id
}

fn not_found(what: &str, id: &str) -> String {
    format!("{what} \"{id}\" not found")
}
