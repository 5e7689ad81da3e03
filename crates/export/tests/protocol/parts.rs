//! Parts of the export: together they have every frame of hosts and servers.

use pi_rpc_export::Part;
use pi_rpc_protocol::BUNDLE;
use serde_json::Value;

#[test]
fn every_family_of_frames_has_a_part() {
    let bundle: Value = serde_json::from_str(BUNDLE).expect("JSON");
    for union in ["Inbound", "Outbound"] {
        for branch in bundle["$defs"][union]["oneOf"].as_array().expect("branches") {
            let family = branch["$ref"].as_str().and_then(|name| name.rsplit('/').next()).expect("a name");
            let parts = Part::ALL.into_iter().filter(|part| part.roots().contains(&family));
            assert_eq!(parts.count(), 1, "{family}: listed in `Part::roots` (crates/export/src/parts.rs)");
        }
    }
}
