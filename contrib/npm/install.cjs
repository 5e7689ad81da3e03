// Puts the binary of this system in the place of bin/pi-rpc, so that no Node stands between it and who starts it. Where that cannot be
// done, bin/pi-rpc stays the script that starts the binary.
"use strict";

const { spawnSync } = require("node:child_process");
const fs = require("node:fs");
const path = require("node:path");
const { binary } = require("./systems.cjs");

// Yarn may start every `bin` with Node.
if (!/^yarn\//.test(process.env.npm_config_user_agent ?? "")) replace(path.join(__dirname, "bin", "pi-rpc"));

/** @param {string} place */
function replace(place) {
  const fresh = `${place}.${process.pid}`;
  try {
    const file = binary();
    if (spawnSync(file, ["--version"], { stdio: "ignore" }).status !== 0) return;
    try {
      fs.linkSync(file, fresh);
    } catch {
      // On another file system, for one.
      fs.copyFileSync(file, fresh);
    }
    // Package managers link one file into many projects: it is replaced, never written to.
    fs.renameSync(fresh, place);
  } catch {
    // The script says what is wrong when it is started.
    fs.rmSync(fresh, { force: true });
  }
}
