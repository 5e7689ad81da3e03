//! The inspector: what its server answers to the page.

#![cfg(feature = "serve")]

mod inspect_support;

mod access;
mod command_line;
mod contract;
mod copies;
mod filters;
mod following;
mod hostile;
mod hosts;
mod items;
mod live;
mod recordings;
mod sending;
