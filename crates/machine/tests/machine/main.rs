//! The machine: every state with every kind of frame, and the rules beside it.

mod machine_support;

mod machine_rules;
mod machine_rules_beside;
mod machine_walk;
