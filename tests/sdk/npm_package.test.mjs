/**
 * The packages for npm, made and installed by npm from files: what `pi-rpc` is then, and what becomes of signals.
 * PI_RPC_PROGRAM names the binary. In the package that is installed a small script is in its place, which is quicker to pack.
 */
import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import * as fs from "node:fs";
import * as os from "node:os";
import * as path from "node:path";
import { after, before, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";

const { PI_RPC_PROGRAM } = process.env;
const SYSTEM = `${process.platform}-${process.arch}`;
const TARGETS = { "linux-x64": "x86_64-unknown-linux-musl", "linux-arm64": "aarch64-unknown-linux-musl", "darwin-x64": "x86_64-apple-darwin", "darwin-arm64": "aarch64-apple-darwin" };
const STAND_IN = "#!/bin/sh\necho stand-in\n";

let folder;
let archives;

before(() => {
  folder = fs.realpathSync(fs.mkdtempSync(path.join(os.tmpdir(), "pi-rpc-npm-")));
  const standIn = path.join(folder, "stand-in");
  fs.writeFileSync(standIn, STAND_IN);
  run(process.execPath, [new URL("../../contrib/npm/pack.mjs", import.meta.url).pathname, "out", `${TARGETS[SYSTEM]}=${standIn}`]);
  archives = run("npm", ["pack", "--silent", "./out/pi-rpc", `./out/pi-rpc-${SYSTEM}`]).trim().split("\n");
});
after(() => fs.rmSync(folder, { recursive: true, force: true }));

function run(program, words, cwd = folder) {
  const { status, stdout, stderr, error } = spawnSync(program, words, { cwd, encoding: "utf8" });
  assert.equal(status, 0, `${program} ${words.join(" ")}: ${error ?? stderr}`);
  return stdout;
}

/** Installs both packages into a folder of their own, and gives it. */
function installed(name, ...options) {
  const home = path.join(folder, name);
  fs.mkdirSync(home);
  fs.writeFileSync(path.join(home, "package.json"), `{"private":true}`);
  run("npm", ["install", "--offline", "--no-audit", "--no-fund", ...options, ...archives.map((it) => path.join(folder, it))], home);
  return path.join(home, "node_modules");
}

test("the bin of the package is the binary", () => {
  const modules = installed("usual");
  const [bin, binary] = [".bin/pi-rpc", `pi-rpc-${SYSTEM}/pi-rpc`].map((file) => fs.statSync(path.join(modules, file)));
  assert.deepEqual([bin.dev, bin.ino], [binary.dev, binary.ino]);
  assert.equal(run(path.join(modules, ".bin/pi-rpc"), []), "stand-in\n");
});

test("without scripts of packages a script starts the binary", () => {
  const modules = installed("without-scripts", "--ignore-scripts");
  assert.equal(run(path.join(modules, ".bin/pi-rpc"), []), "stand-in\n");
});

test("without the package of the system the script says so", () => {
  const modules = installed("alone", "--ignore-scripts");
  fs.rmSync(path.join(modules, `pi-rpc-${SYSTEM}`), { recursive: true });
  const { status, stderr } = spawnSync(path.join(modules, ".bin/pi-rpc"), [], { encoding: "utf8" });
  assert.deepEqual([status, stderr], [1, `pi-rpc: the package pi-rpc-${SYSTEM} is not installed: npm left optional dependencies out\n`]);
});

/** The script, with the real binary, under the name of a link. */
function scripted(name) {
  const home = fs.mkdtempSync(path.join(folder, "scripted-"));
  fs.cpSync(path.join(folder, "out"), path.join(home, "node_modules"), { recursive: true });
  const binary = path.join(home, "node_modules", `pi-rpc-${SYSTEM}`, "pi-rpc");
  fs.rmSync(binary);
  fs.symlinkSync(PI_RPC_PROGRAM, binary);
  const link = path.join(home, name);
  fs.symlinkSync(path.join(home, "node_modules/pi-rpc/bin/pi-rpc"), link);
  return link;
}

/** A server by the script that runs a command, once the command runs; and the process of that command. */
async function serving(t, { beside }) {
  // A Node without this function has to start the binary beside itself.
  const without = path.join(folder, "without-execve.cjs");
  fs.writeFileSync(without, "delete process.execve;");
  const words = [...(beside ? ["--require", without] : []), scripted("pi-rpc"), "serve", "--no-session", "--model", "scripted/demo"];
  const home = fs.mkdtempSync(path.join(folder, "home-"));
  const server = spawn(process.execPath, words, { env: { PATH: process.env.PATH, HOME: home }, stdio: ["pipe", "pipe", "inherit"] });
  t.after(() => server.kill("SIGKILL"));
  server.stdout.setEncoding("utf8");
  const pid = path.join(home, "pid");
  server.stdin.write(`{"type":"bash","command":"echo $$ > ${pid}.new; mv ${pid}.new ${pid}; sleep 300"}\n`);
  await until(() => fs.existsSync(pid));
  const command = Number(fs.readFileSync(pid, "utf8"));
  t.after(() => isAlive(command) && process.kill(-command, "SIGKILL"));
  return { server, command, ended: new Promise((resolve) => server.on("exit", (...how) => resolve(how))) };
}

async function until(holds) {
  while (!holds()) await sleep(20);
}

function isAlive(pid) {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

const hasExecve = typeof process.execve === "function";
for (const beside of hasExecve ? [false, true] : [true]) {
  const how = beside ? "beside Node" : "in place of Node";

  for (const [signal, ending] of [
    ["SIGTERM", [143, null]],
    ["SIGHUP", [129, null]],
    ["SIGINT", [130, null]],
    ["SIGQUIT", [null, "SIGQUIT"]],
    ["SIGUSR1", [null, "SIGUSR1"]],
  ]) {
    test(`${how}: ${signal} reaches the program, and its end is the script's`, async (t) => {
      const { server, ended } = await serving(t, { beside });
      server.kill(signal);
      assert.deepEqual(await ended, ending);
    });
  }

  test(`${how}: nothing outlives the script that is killed`, async (t) => {
    const { server, command } = await serving(t, { beside });
    const closed = new Promise((resolve) => server.stdout.on("close", resolve));
    server.stdout.resume();
    server.kill("SIGKILL");
    // The program is the last that holds the pipe. What it ran is the program's own affair where it is killed itself.
    await closed;
    if (beside) await until(() => !isAlive(command));
  });

  test(`${how}: the status is the program's, and so is the name`, () => {
    const without = path.join(folder, "without.cjs");
    fs.writeFileSync(without, beside ? "delete process.execve;" : "");
    const of = (name, ...words) => spawnSync(process.execPath, ["--require", without, scripted(name), ...words], { encoding: "utf8", input: `{"type":"get_state"}\n` });
    assert.equal(of("pi-rpc", "check", "/nowhere").status, spawnSync(PI_RPC_PROGRAM, ["check", "/nowhere"]).status);
    const spoken = of("xcsh", "serve", "--no-session", "--model", "scripted/demo");
    // Only that dialect begins with a greeting.
    assert.equal(JSON.parse(spoken.stdout.split("\n")[0]).type, "ready", spoken.stderr);
  });
}
