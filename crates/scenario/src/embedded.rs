//! Files that the binary carries with it: `SCENARIOS` and `ADAPTERS`, each a list of names and texts.

include!(concat!(env!("OUT_DIR"), "/embedded.rs"));
