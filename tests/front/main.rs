//! The front between clients and servers of different dialects: `pi-rpc front`.
#![cfg(feature = "serve")]

mod breakages;
mod pairs;
