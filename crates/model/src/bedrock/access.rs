//! What the environment says about access to AWS, and how a request is signed.

use std::fmt;

/// Access to AWS, as environment and configuration files have it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AwsAccess {
    /// `AWS_REGION`, else `AWS_DEFAULT_REGION`.
    pub region: Option<String>,
    /// Whether `AWS_PROFILE` names a profile.
    pub has_profile: bool,
    /// The profile's region.
    pub profile_region: Option<String>,
    /// `AWS_ENDPOINT_URL_BEDROCK_RUNTIME`, else `AWS_ENDPOINT_URL`, else the profile's.
    pub endpoint: Option<String>,
    /// Whether the endpoints of US federal standards are used (`AWS_USE_FIPS_ENDPOINT`).
    pub uses_fips: bool,
    /// Whether the endpoints are used that have addresses of IPv6, too (`AWS_USE_DUALSTACK_ENDPOINT`).
    pub uses_dual_stack: bool,
    /// Whether conversations are cached for models, too, that are not known to cache (`AWS_BEDROCK_FORCE_CACHE`).
    pub caches_always: bool,
    /// The keys that sign requests. With `AWS_BEDROCK_SKIP_AUTH` a proxy signs them: ours are keys that open nothing.
    pub keys: AwsKeySource,
}

/// Where the keys of AWS come from.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum AwsKeySource {
    /// The vendor's chain of providers, asked when a request is sent: roles, single sign-on, containers, machines.
    #[default]
    Chain,
    /// The same with this profile, in place of the environment's.
    Profile(String),
    /// Known keys.
    Known(AwsKeys),
}

/// Keys of AWS.
#[derive(Clone, PartialEq, Eq)]
pub struct AwsKeys {
    /// The id of the key, which requests show.
    pub id: String,
    /// The key, which stays here.
    pub secret: String,
    /// The token of temporary keys.
    pub session_token: Option<String>,
}

// Keys must not reach logs.
impl fmt::Debug for AwsKeys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AwsKeys").finish_non_exhaustive()
    }
}

impl AwsKeys {
    /// The keys that requests have where a proxy signs them again.
    pub fn dummy() -> Self {
        let (id, secret) = ("dummy-access-key".to_owned(), "dummy-secret-key".to_owned());
        Self { id, secret, session_token: None }
    }
}

/// The signature (AWS Signature Version 4) that a request gets when it is sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SignatureScope {
    /// The service in the scope of the signature.
    pub service: &'static str,
    /// The region in the scope of the signature.
    pub region: String,
    /// The keys.
    pub keys: AwsKeySource,
}
