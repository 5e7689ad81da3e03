//! Traces by OTLP, where the variables `OTEL_*` ask for them.

use pi_rpc_files::secrets::Secrets;
use pi_rpc_server::Observer;
use std::env;

/// The variables with the address of a collector.
const ENDPOINTS: [&str; 2] = ["OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT"];

/// The variable that names a collector, unless others turn traces off.
fn collector_variable() -> Option<&'static str> {
    let is = |variable: &str, value: &str| {
        env::var(variable).is_ok_and(|given| given.trim().eq_ignore_ascii_case(value))
    };
    if is("OTEL_SDK_DISABLED", "true") || is("OTEL_TRACES_EXPORTER", "none") {
        return None;
    }
    ENDPOINTS.into_iter().find(|variable| env::var(variable).is_ok_and(|address| !address.trim().is_empty()))
}

#[cfg(feature = "otlp")]
mod exported {
    use super::{ENDPOINTS, Observer, Secrets, collector_variable, env};
    use pi_rpc_files::secrets::percent_decoded;
    use pi_rpc_server::TraceContext;
    use pi_rpc_traces::{Texts, TracerOptions, otlp::Exporter};
    use std::{
        path::Path,
        sync::{Arc, OnceLock},
        time::Duration,
    };

    /// What the process exports spans with, once it has been decided that it does.
    static TRACES: OnceLock<Traces> = OnceLock::new();

    /// How long the end of the process waits for the last spans.
    const FINISH_TIMEOUT: Duration = Duration::from_secs(2);

    /// Variables with headers for the collector, in which keys are.
    const HEADERS: [&str; 2] = ["OTEL_EXPORTER_OTLP_TRACES_HEADERS", "OTEL_EXPORTER_OTLP_HEADERS"];

    struct Traces {
        exporter: Exporter,
        options: TracerOptions,
    }

    /// Begins to export spans, if a collector is named. Texts are recorded only when asked for, without `secrets`.
    pub fn start(secrets: &Secrets) {
        if collector_variable().is_none() {
            return;
        }
        for variable in ENDPOINTS {
            env::var(variable).iter().for_each(|address| secrets.remember_url(address));
        }
        for variable in HEADERS {
            secrets.withhold(variable);
            let given = env::var(variable).unwrap_or_default();
            let values = given.split(',').filter_map(|header| header.split_once('='));
            for (_, value) in values {
                secrets.remember(value.trim());
                secrets.remember(&percent_decoded(value.trim()));
            }
        }
        let exporter = match Exporter::from_environment(env!("CARGO_PKG_VERSION")) {
            Ok(exporter) => exporter,
            Err(error) => {
                tracing::warn!("traces: {error}; none are exported");
                return;
            }
        };
        let captures = env::var("OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT")
            .is_ok_and(|given| given.trim().eq_ignore_ascii_case("true"));
        let secrets = secrets.clone();
        let texts =
            captures.then(|| Texts::new(Arc::new(move |text: &str| secrets.redact(text).into_owned())));
        let options = TracerOptions { parent: TraceContext::of_environment(), texts, extensions: Vec::new() };
        // A process begins once.
        let _ = TRACES.set(Traces { exporter, options });
    }

    /// The observer of a session with these extensions; `None`: nothing is exported.
    pub fn observer(extensions: &[String]) -> Option<Box<dyn Observer>> {
        let Traces { exporter, options } = TRACES.get()?;
        let extensions = extensions.iter().map(|path| extension_name(path)).collect();
        Some(exporter.observer(TracerOptions { extensions, ..options.clone() }))
    }

    /// Exports what is left, within a limit. Blocks.
    pub fn finish() {
        if let Some(traces) = TRACES.get() {
            traces.exporter.finish(FINISH_TIMEOUT);
        }
    }

    /// The name of an extension's file or folder.
    fn extension_name(path: &str) -> String {
        let name = Path::new(path).file_name();
        name.map_or_else(|| path.to_owned(), |name| name.to_string_lossy().into_owned())
    }
}

#[cfg(feature = "otlp")]
pub use exported::{finish, observer, start};

/// Says that this program exports no spans, if a collector is named.
#[cfg(not(feature = "otlp"))]
pub fn start(_: &Secrets) {
    if let Some(variable) = collector_variable() {
        tracing::warn!(
            "{variable}: this pi-rpc was built without the cargo feature `otlp` and exports no traces; the \
             released binaries have it"
        );
    }
}

/// Nobody observes sessions.
#[cfg(not(feature = "otlp"))]
pub const fn observer(_: &[String]) -> Option<Box<dyn Observer>> {
    None
}

/// Nothing is to be exported.
#[cfg(not(feature = "otlp"))]
pub const fn finish() {}
