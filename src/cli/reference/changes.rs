//! What breaks in clients between the versions that have a page.

use pi_rpc_export::client_changes;
use pi_rpc_protocol::DialectVersion;

/// Each step that has a page in `docs/reference/changes`: the name of its block, from, to.
const STEPS: [(&str, &str, &str); 8] = [
    ("changes pi pi@0.73", "pi", "pi@0.73"),
    ("changes pi@0.73 pi-1@0.84.4", "pi@0.73", "pi-1@0.84.4"),
    ("changes pi-1@0.84.4 pi-1@1.5", "pi-1@0.84.4", "pi-1@1.5"),
    ("changes pi-1@1.5 pi-1", "pi-1@1.5", "pi-1"),
    ("changes pi xcsh", "pi", "xcsh"),
    ("changes pi omp", "pi", "omp"),
    ("changes pi-1 omp", "pi-1", "omp"),
    ("changes omp omp@18.3", "omp", "omp@18.3"),
];

pub(super) fn all() -> impl Iterator<Item = (&'static str, String)> {
    STEPS.into_iter().filter_map(|(block, from, to)| {
        Some((block, client_changes(DialectVersion::parse(from)?, DialectVersion::parse(to)?)))
    })
}
