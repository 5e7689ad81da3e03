//! The list of todos: what the host sets, what the model writes, and what comes of it by itself.
//!
//! [`Todos`] is the list. It starts no timer and emits nothing: the engine calls it when [`Todos::due`] has passed, puts
//! [`Todos::view`] into answers, and says what [`Todos::reminder`] gives it.
//!
//! - `list`: the list and its ids; what is done is cleared after a while.
//! - `tool`: what the model may do to it, the tool `todo_write`.
//! - `remind`: messages to the model about the list: to plan first, to continue with open todos.
//!
//! xcsh alone has todos. In RPC mode it ignores the user's settings `todo.enabled`, `todo.eager` and `todo.reminders`;
//! they are as if at their defaults, and there is no switch for them here. Source: xcsh RPC reference, xcsh source.

pub(crate) mod list;
pub(crate) mod remind;
pub(crate) mod tool;

pub use list::{CLEAR_AFTER, TODO_WRITE, Todos};
pub use remind::{MOST_REMINDERS, PRELUDE, Reminder};
pub use tool::spec;
