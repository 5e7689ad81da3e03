// The systems that there are binaries for, and the packages that bring them. A static one runs with any libc.
"use strict";

const systems = [
  { target: "aarch64-apple-darwin", package: "pi-rpc-darwin-arm64", os: "darwin", cpu: "arm64" },
  { target: "x86_64-apple-darwin", package: "pi-rpc-darwin-x64", os: "darwin", cpu: "x64" },
  { target: "aarch64-unknown-linux-musl", package: "pi-rpc-linux-arm64", os: "linux", cpu: "arm64" },
  { target: "x86_64-unknown-linux-musl", package: "pi-rpc-linux-x64", os: "linux", cpu: "x64" },
];

/**
 * The binary for this system.
 * @returns {string} Its file.
 * @throws {Error} There is none, or its package is not installed.
 */
function binary() {
  const system = systems.find((it) => it.os === process.platform && it.cpu === process.arch);
  if (!system) throw new Error(`there is no binary for ${process.platform} ${process.arch}; cargo install pi-rpc builds one`);
  try {
    return require.resolve(`${system.package}/pi-rpc`);
  } catch {
    throw new Error(`the package ${system.package} is not installed: npm left optional dependencies out`);
  }
}

module.exports = { systems, binary };
