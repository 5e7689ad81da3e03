//! The checks of counts, equalities and prefixes, which the kind of a frame cannot express.
//!
//! [`RunChecks`] judges the messages of runs and takes in legal frames only; [`ConversationChecks`] judges everything else
//! and takes in every frame. Both pass frames on to smaller checks, one module each, through methods `on_command`,
//! `on_response`, `on_event`, `on_unread_event` and the like. A check gets the [`FrameContext`] of a frame and reports to
//! [`Findings`](crate::Findings). What is known of the session is in `session_state`.

pub(super) mod aborted_calls;
pub(super) mod after_run;
pub(super) mod background_jobs;
pub(super) mod compaction;
pub(super) mod conversation_checks;
pub(super) mod counts;
pub(super) mod delays;
pub(super) mod dialogs;
pub(super) mod entry_lists;
pub(super) mod extension_evidence;
pub(super) mod frame_context;
pub(super) mod host_tool_calls;
pub(super) mod host_tools;
mod last_text;
pub(super) mod logins;
pub(super) mod message_counts;
pub(super) mod nested_calls;
pub(super) mod obligations;
pub(super) mod partial_message;
pub(super) mod pending_read;
pub(super) mod progress;
pub(super) mod prompt_results;
pub(super) mod prompts;
pub(super) mod queue;
mod queue_responses;
pub(super) mod queues;
mod refusals;
pub(super) mod reminders;
pub(super) mod responses;
pub(super) mod run;
pub(super) mod run_checks;
pub(super) mod sent_texts;
pub(super) mod server_exit;
pub(super) mod session_checks;
pub(super) mod session_context;
pub(super) mod session_entries;
pub(super) mod session_events;
pub(super) mod session_files;
pub(super) mod session_reads;
pub(super) mod settle;
pub(super) mod shell_outputs;
pub(super) mod skipped_calls;
pub(super) mod state_checks;
pub(super) mod stored_message;
pub(super) mod success_data;
pub(super) mod switches;
mod tool_errors;
mod tree_navigations;
pub(super) mod turn;
pub(super) mod turn_boundaries;
pub(super) mod usage;

pub use conversation_checks::ConversationChecks;
pub use frame_context::FrameContext;
pub use run_checks::RunChecks;
pub use server_exit::ServerExit;
