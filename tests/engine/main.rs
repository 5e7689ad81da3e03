//! The engine in virtual time: worked sequences frame by frame, conversations at random, and its parts by themselves.
#![cfg(feature = "serve")]

mod compacting;
mod compacting_pi1;
mod entries;
mod extension_limits;
mod hung_disk;
mod keeping;
mod models;
mod queues;
mod random;
mod reads;
mod regressions;
mod retrying;
mod rules;
mod sequences;
mod served;
mod sessions;
mod settings;
mod settling;
mod skills;
mod stopping;
mod todo_list;
mod todos;
mod ttsr;
mod versions;
