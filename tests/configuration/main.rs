//! Reading of files of the user and of the project: settings, models and keys; prompts, skills and rules.
#![cfg(feature = "serve")]

#[path = "../commands_support/mod.rs"]
mod commands_support;
mod home_support;
#[path = "../matrix_support/mod.rs"]
mod matrix_support;

mod as_pi;
mod aws;
mod catalogue;
mod discover;
mod doctor;
mod files;
mod keys;
mod models_command;
mod omp_database;
mod omp_files;
mod omp_keys;
mod prompt_templates;
mod request_sample;
mod rule_files;
mod settings_schema;
mod shell_help;
mod skills;
mod system_prompt;
mod unknown;
