//! The scenarios that come with pi-rpc.

use super::{Scenario, ScenarioError};
use crate::embedded;

impl Scenario {
    /// The scenarios that come with pi-rpc, by name.
    ///
    /// # Errors
    ///
    /// When one cannot be parsed, which a test of pi-rpc rules out.
    pub fn built_in() -> Result<Vec<Self>, ScenarioError> {
        embedded::SCENARIOS.iter().map(|(_, text)| Self::from_json(text)).collect()
    }
}
