//! The tools that the model is offered, and the check of what it calls them with.

mod argument_problems;
pub(super) mod arguments;
mod coercion;
pub mod declarations;
mod edit_arguments;
pub(super) mod listing;
pub(super) mod schema_cost;
pub(super) mod selection;
