//! The models that scripts run, while extensions add, change and remove providers.

use super::{Config, Keys};
use pi_rpc_model::other_models::OtherModel;
use std::sync::{Arc, PoisonError, RwLock};

/// Models that answer no prompts, and the credentials of their providers.
#[derive(Debug, Default)]
pub struct OtherModels {
    /// The models, with or without a key.
    pub models: Vec<OtherModel>,
    /// The credentials.
    pub keys: Keys,
}

impl OtherModels {
    /// Those of a configuration, with these credentials.
    pub fn new(config: &Config, keys: Keys) -> Self {
        Self { models: config.other_models(), keys }
    }
}

/// The latest [`OtherModels`]. Clones share them.
#[derive(Clone, Debug, Default)]
pub struct SharedOtherModels(Arc<RwLock<Arc<OtherModels>>>);

impl SharedOtherModels {
    /// Begins with these.
    pub fn new(models: OtherModels) -> Self {
        Self(Arc::new(RwLock::new(Arc::new(models))))
    }

    /// The latest.
    pub fn latest(&self) -> Arc<OtherModels> {
        self.0.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Replaces them.
    pub fn replace(&self, models: OtherModels) {
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(models);
    }
}
