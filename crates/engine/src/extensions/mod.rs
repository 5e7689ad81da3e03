//! Extensions: the component that runs them ([`host`]), and what it consists of.
//!
//! | Data | The component's methods |
//! |---|---|
//! | `process`, `model_stream` | `processes`, `registrations`, `frames`, `providers` |
//! | `hook` | `hooks` |
//! | `request` | `requests` |
//! | `dialog` | `dialogs` |
//! | `host` | `actions` |

pub(super) mod actions;
pub(super) mod dialog;
pub(super) mod dialogs;
pub(super) mod frames;
pub(super) mod hook;
pub(super) mod hooks;
pub(super) mod host;
pub(super) mod model_stream;
pub(super) mod process;
pub(super) mod processes;
pub(super) mod providers;
pub(super) mod registrations;
pub(super) mod request;
pub(super) mod requests;
