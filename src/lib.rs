//! The RPC protocol of coding agents, as a schema, a state machine and a server.
//!
//! The [`guide`] has worked examples. This library is a facade: each module is a crate of its own, which can be used alone.
//!
//! - [`protocol`]: the frames, generated from `schema/`, and how bytes become frames.
//! - [`machine`]: the state machine of a conversation, and the legality of frames.
//! - [`engine`]: the decisions of the agent, without IO.
//! - [`session`]: sessions and their files.
//! - [`model`]: requests to model providers and their streams; the scripted model.
//! - [`config`]: the configuration of the user: settings, models, credentials.
//! - [`login`]: logins at providers: tokens are obtained, renewed and kept.
//! - [`secrets`]: known credentials, redacted in texts and withheld from child processes.
//! - [`tools`]: the built-in tools of the model, and shell commands.
//! - [`extension`]: processes that add commands, tools and hooks.
//! - [`packages`]: packages of pi's own extensions, skills and templates.
//! - [`prompt`]: the system prompt, skills, prompt templates and rules.
//! - [`server`]: runs the engine on pipes, processes and clocks.
//! - `acp_backend`: an agent of the Agent Client Protocol in place of models and tools.
//! - [`session_host`]: many sessions in one process, for clients that come and go.
//! - [`attach`]: a pipe to a session of a host.
//! - `acp` (a feature): the Agent Client Protocol, in front of any server.
//! - [`mock`]: serves the scripted model by the HTTP APIs of vendors.
//! - [`client`]: a client for any server: typed commands, events, dialogs, tools of the host.
//! - [`oracle`]: judges servers, hosts and recordings by the rules.
//! - [`inspect`]: the inspector: a page that shows a conversation.
//! - [`cli`]: the command line.
//! - [`export`]: exports the protocol as schemas, types and a reference page.
//!
//! Without the feature `serve`: [`protocol`], [`machine`], [`model`] and [`export`] only; with the feature `engine` also
//! [`engine`], [`session`] and [`prompt`].

#[cfg(feature = "serve")]
pub mod cli;
#[cfg(feature = "serve")]
pub mod guide;

pub use pi_rpc_export as export;
pub use pi_rpc_machine as machine;
#[cfg(not(feature = "serve"))]
pub use pi_rpc_model as model;
pub use pi_rpc_protocol as protocol;

#[cfg(feature = "acp")]
pub use {pi_rpc_acp as acp, pi_rpc_acp::backend as acp_backend};

#[cfg(feature = "cluster")]
pub use pi_rpc_cluster as cluster;

#[cfg(feature = "engine")]
pub use {pi_rpc_engine as engine, pi_rpc_files::confinement};

#[cfg(feature = "serve")]
pub use {
    pi_rpc_client as client, pi_rpc_config as config, pi_rpc_extension as extension, pi_rpc_files::secrets,
    pi_rpc_front as front, pi_rpc_host as session_host, pi_rpc_host::attach, pi_rpc_inspect as inspect,
    pi_rpc_login as login, pi_rpc_mock as mock, pi_rpc_packages as packages, pi_rpc_server as server,
};

/// Sessions: the conversation as a tree of entries, in memory and in a file.
#[cfg(feature = "engine")]
pub mod session {
    pub use pi_rpc_page as page;
    pub use pi_rpc_session::*;
    pub use pi_rpc_session_store::*;
}

/// The system prompt, and the expansion of prompts that call templates and skills.
#[cfg(feature = "engine")]
pub mod prompt {
    pub use pi_rpc_config::prompt::*;
    pub use pi_rpc_prompt::*;
}

/// Models: requests to them, and the events of their answers.
#[cfg(feature = "serve")]
pub mod model {
    pub use pi_rpc_model::*;
    pub use pi_rpc_model_http::{body, http};

    /// Google's Gemini API, and the accounts at Google.
    pub mod google {
        pub use pi_rpc_model::google::*;
        pub use pi_rpc_model_http::google::*;
    }
}

/// The built-in tools of the model, and the execution of shell commands.
#[cfg(feature = "serve")]
pub mod tools {
    pub use pi_rpc_processes::{Group, Processes};
    pub use pi_rpc_tools::*;
}

/// The oracle: judges servers, hosts and recordings by the state machine and the schema that this server itself runs on.
#[cfg(feature = "serve")]
pub mod oracle {
    pub use pi_rpc_conform::{live, replay, tap};
    pub use pi_rpc_oracle::*;
    pub use pi_rpc_recording::*;
    pub use pi_rpc_scenario::{self as scenario, random};
}
