//! Measurements with servers of the Model Context Protocol (MCP).

use crate::{
    Outcome, Samples,
    install::Server,
    model::{CALLS, Model},
    process::Process,
    start::PAUSE,
    stream::{END, prompt},
};
use serde_json::{Map, json};
use std::{fs, thread, time::Instant};

/// Number of servers, a process each.
const SERVERS: usize = 10;

/// Measures the start with ten servers up to the end of the first answer, and calls of a tool of one of them, each with the model that
/// asks for it.
pub fn measure(server: &Server, model: &Model) -> Outcome<Samples> {
    let entry =
        json!({ "command": env!("CARGO_BIN_EXE_pi-rpc"), "args": ["mock-mcp"], "exposure": "direct" });
    let servers: Map<_, _> = (0..SERVERS).map(|number| (format!("s{number}"), entry.clone())).collect();
    let file = server.agent_directory().join("mcp.json");
    fs::write(&file, json!({ "mcpServers": servers }).to_string()).map_err(|error| error.to_string())?;
    let samples = measured(server, model);
    // The other measurements are without them.
    fs::remove_file(file).map_err(|error| error.to_string())?;
    samples
}

fn measured(server: &Server, model: &Model) -> Outcome<Samples> {
    let mut process = Process::start(server, &[])?;
    process.send(&prompt("Hello."))?;
    process.until(END)?;
    let start = process.since.elapsed().as_secs_f64();
    thread::sleep(PAUSE);
    let since = Instant::now();
    process.send(&prompt(&model.mcp_calls()))?;
    for _ in 0..CALLS {
        let head = process.until(r#""type":"tool_execution_end""#)?;
        if memchr::memmem::find(&head, br#""isError":true"#).is_some() {
            return Err(format!("a call fails: {}", String::from_utf8_lossy(&head)));
        }
    }
    process.until(END)?;
    Ok(vec![("start", start), ("each", since.elapsed().as_secs_f64() / CALLS as f64)])
}
