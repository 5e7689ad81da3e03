//! Accounts at Google: keys of services, users and other clouds, exchanged for tokens.

pub mod account;
pub mod external_account;
