//! Published releases of pi, for comparison with this server.
#![allow(dead_code, unused_imports)] // each test binary uses its part

mod agent;
mod conversation;
mod files;
mod install;

pub use agent::{Agent, Kind, lines};
pub use conversation::{Session, conversation, fork, lenient_vendor, vendor};
pub use files::files;
pub use install::{Words, omp, omp_file, peer};
