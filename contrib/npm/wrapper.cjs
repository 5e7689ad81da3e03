#!/usr/bin/env node
// Starts the pi-rpc of this system, with the same arguments, streams and name. It is needed only where the install script of the
// package did not put the binary in the place of this file: npm --ignore-scripts, yarn.
"use strict";

const { spawn } = require("node:child_process");
const os = require("node:os");
const { binary } = require("../systems.cjs");

/** The signals that end the program or tell it something. */
const SIGNALS = ["SIGTERM", "SIGINT", "SIGHUP", "SIGQUIT", "SIGUSR1", "SIGUSR2"];
/** Those of them that a terminal sends to this process and to the program. */
const OF_TERMINALS = ["SIGINT", "SIGQUIT"];

/**
 * Ends the program once its input ends without a word, which is when this process is gone. A shell needs little memory, and nothing
 * has to be running in it when this process is killed.
 */
const WATCH = `read -r word || { kill -TERM "$1"; sleep 5; kill -KILL "$1"; } 2> /dev/null`;

const words = process.argv.slice(2);
// A link called xcsh speaks xcsh.
const name = process.argv[1];
try {
  start(binary());
} catch (error) {
  fail(error.message);
}

/** @param {string} file */
function start(file) {
  if (typeof process.execve !== "function") return startBeside(file);
  // What Node says of its own functions is nobody's business here.
  process.removeAllListeners("warning");
  process.execve(file, [name, ...words], process.env);
}

/** @param {string} file */
function startBeside(file) {
  const ofTerminal = [0, 1, 2].some((descriptor) => require("node:tty").isatty(descriptor));
  const child = spawn(file, words, { argv0: name, stdio: "inherit" });
  child.on("error", (error) => fail(`${file}: ${error.message}`));
  for (const signal of SIGNALS) {
    process.on(signal, () => {
      if (!(ofTerminal && OF_TERMINALS.includes(signal))) child.kill(signal);
    });
  }
  if (child.pid === undefined) return;
  const watch = spawn("/bin/sh", ["-c", WATCH, "sh", String(child.pid)], { stdio: ["pipe", "ignore", "ignore"], detached: true });
  // Without a shell nothing watches.
  watch.on("error", () => {});
  watch.stdin.on("error", () => {});
  watch.unref();
  child.on("exit", (code, signal) => {
    watch.stdin.end("ended\n", () => {
      if (!signal) process.exit(code ?? 1);
      process.removeAllListeners(signal);
      process.kill(process.pid, signal);
      // Signals that do not end a process of Node.
      setTimeout(() => process.exit(128 + os.constants.signals[signal]), 100);
    });
  });
}

/**
 * @param {string} text
 * @returns {never}
 */
function fail(text) {
  console.error(`pi-rpc: ${text}`);
  process.exit(1);
}
