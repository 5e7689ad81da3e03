//! Extensions: their processes, what they add, and what they are asked.

pub(super) mod actions;
pub(super) mod dialogs;
pub(super) mod hook;
pub(super) mod hooks;
pub(super) mod messages;
pub(super) mod model_stream;
pub(super) mod navigation;
pub(super) mod notifications;
pub(super) mod processes;
pub(super) mod provider_hooks;
pub(super) mod providers;
pub(super) mod queries;
pub(super) mod registrations;
pub(super) mod requests;
pub(super) mod resources;
pub(super) mod side_calls;
