//! Faults of everything around the server, injected into the real binary: what the host sees, and that no accepted
//! command is lost and no process is left over. Each test compares its row of the table in `docs/explanation/reliability.md` with
//! its observations.
#![cfg(feature = "serve")]

#[path = "../kept/kept_support/mod.rs"]
mod kept_support;
mod model_bytes;
mod model_cut;
mod model_endpoint;
mod model_frames;
mod model_refusals;
mod model_silence;
mod model_tls;
#[path = "../serve_support/mod.rs"]
mod serve_support;
mod states;
mod table;

mod children;
mod disk;
mod host;
mod hung_disk;
mod signals;
