#!/usr/bin/env node
// Starts the pi-rpc of this system, with the same arguments and streams.
import { spawnSync } from "node:child_process";
import { realpathSync } from "node:fs";
import { createRequire } from "node:module";
import { fileURLToPath } from "node:url";

/** The systems that there are binaries for, and the packages that bring them. A static one runs with any libc. */
export const systems = [
  { target: "aarch64-apple-darwin", package: "pi-rpc-darwin-arm64", os: "darwin", cpu: "arm64" },
  { target: "x86_64-apple-darwin", package: "pi-rpc-darwin-x64", os: "darwin", cpu: "x64" },
  { target: "aarch64-unknown-linux-musl", package: "pi-rpc-linux-arm64", os: "linux", cpu: "arm64" },
  { target: "x86_64-unknown-linux-musl", package: "pi-rpc-linux-x64", os: "linux", cpu: "x64" },
];

if (process.argv[1] && realpathSync(process.argv[1]) === fileURLToPath(import.meta.url)) start();

function start() {
  const system = systems.find((it) => it.os === process.platform && it.cpu === process.arch);
  if (!system) fail(`there is no binary for ${process.platform} ${process.arch}; cargo install pi-rpc builds one`);
  let binary;
  try {
    binary = createRequire(import.meta.url).resolve(`${system.package}/pi-rpc`);
  } catch {
    fail(`the package ${system.package} is not installed: npm left optional dependencies out`);
  }
  // Signals of the terminal reach both: the program decides when to end.
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) process.on(signal, () => {});
  const ended = spawnSync(binary, process.argv.slice(2), { stdio: "inherit" });
  if (ended.error) fail(`${binary}: ${ended.error.message}`);
  if (ended.signal) {
    process.removeAllListeners(ended.signal);
    process.kill(process.pid, ended.signal);
  }
  process.exitCode = ended.status ?? 1;
}

/**
 * @param {string} text
 * @returns {never}
 */
function fail(text) {
  console.error(`pi-rpc: ${text}`);
  process.exit(1);
}
