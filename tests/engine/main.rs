//! The engine in virtual time: worked sequences frame by frame, conversations at random, and its parts by themselves.
#![cfg(feature = "serve")]

mod aborts;
mod call_arguments;
mod chains;
mod compaction;
mod compaction_pi1;
mod entries;
mod extension_limits;
mod hung_disk;
mod logins;
mod models;
mod omp;
mod persistence;
mod queues;
mod random;
mod reads;
mod regressions;
mod retries;
mod rules;
mod sequences;
mod served;
mod sessions;
mod settings;
mod skills;
mod todo_list;
mod todos;
mod ttsr;
mod versions;
