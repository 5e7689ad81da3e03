//! Measurements of an extension of pi's, in TypeScript.

use crate::{Outcome, Samples, install::Server, process::Process, start::PAUSE};
use serde_json::json;
use std::{
    fs, thread,
    time::{Duration, Instant},
};

/// Number of prompts that the extension handles.
const PROMPTS: usize = 500;

/// An extension that handles each prompt by itself, so that no model has to answer.
const SOURCE: &str = "import type { ExtensionAPI } from '@earendil-works/pi-coding-agent';
export default function (pi: ExtensionAPI) {
  pi.on('input', async () => ({ action: 'handled' as const }));
}
";

/// Measures the start of a server with an extension, and prompts that its hook handles.
pub fn measure(server: &Server) -> Outcome<Samples> {
    let file = server.directory().join("extension.ts");
    fs::write(&file, SOURCE).map_err(|error| error.to_string())?;
    let file = file.to_str().ok_or("the path is no text")?;
    let mut process = Process::start(server, &["-e", file])?;
    let handled = json!({ "type": "prompt", "message": "Hello." });
    // That it comes back without an answer of the model also shows that the extension was loaded.
    process.ask(handled.clone())?;
    let start = process.since.elapsed().as_secs_f64();
    thread::sleep(PAUSE);
    let mut times: Vec<Duration> = Vec::with_capacity(PROMPTS);
    for _ in 0..PROMPTS {
        let since = Instant::now();
        process.ask(handled.clone())?;
        times.push(since.elapsed());
    }
    if process.reader.bytes > 1_000_000 {
        return Err("the model answers, so the extension has not handled the prompt".to_owned());
    }
    times.sort_unstable();
    Ok(vec![("start", start), ("handled", times[PROMPTS / 2].as_secs_f64())])
}
