//! Files of prompts: instructions, skills, templates and rules of user and project.
//!
//! - [`files`]: files of user and project for the system prompt.
//! - [`discover`]: skills and templates; [`walk`] lists the files of a directory.
//! - [`rules`]: the rules of xcsh, which watch the model's output.

pub mod discover;
pub mod files;
pub mod rules;
pub mod walk;
