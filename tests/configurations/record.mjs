// Records what a real pi makes of each case in this folder, into the case's expected.json.
//
//   node tests/configurations/record.mjs <path of pi's cli.js> [case…]
//
// A case is a folder: models.json, auth.json, settings.json (the user's) and project.json (the project's settings), each
// optional; and case.json: what the case is about, pi's arguments and environment, the models whose thinking levels are
// gone through, and, where pi-rpc does otherwise on purpose, why (`differs`). pi runs in a directory of its own, offline, with nothing else in its environment.

import { spawn } from "node:child_process";
import { copyFileSync, existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";

const here = dirname(fileURLToPath(import.meta.url));
const [cli, ...wanted] = process.argv.slice(2);
if (!cli) {
  console.error("usage: node tests/configurations/record.mjs <path of pi's cli.js> [case…]");
  process.exit(2);
}

/** The package.json above a file. */
function packageOf(file) {
  const folder = dirname(file);
  const found = join(folder, "package.json");
  return existsSync(found) ? JSON.parse(readFileSync(found, "utf8")) : packageOf(folder);
}
const { version } = packageOf(cli);

/** More steps than any list here is long. */
const ENOUGH = 1000;

const full = (model) => `${model.provider}/${model.id}`;

/** The files of a case where pi looks for them. */
function lay(folder) {
  const home = mkdtempSync(join(tmpdir(), "pi-case-"));
  const [agent, work] = [join(home, "agent"), join(home, "work")];
  mkdirSync(agent);
  mkdirSync(join(work, ".pi"), { recursive: true });
  for (const file of ["models.json", "auth.json", "settings.json"]) {
    if (existsSync(join(folder, file))) copyFileSync(join(folder, file), join(agent, file));
  }
  if (existsSync(join(folder, "project.json"))) copyFileSync(join(folder, "project.json"), join(work, ".pi", "settings.json"));
  return { home, agent, work };
}

/** A running pi: `ask` sends a command and gives the data of its response, or undefined when pi has ended. */
function start(options, { home, agent, work }) {
  const env = { PATH: process.env.PATH, HOME: home, PI_OFFLINE: "1", PI_CODING_AGENT_DIR: agent, ...options.environment };
  const pi = spawn(process.execPath, [cli, "--mode", "rpc", "--no-session", ...options.arguments], { cwd: work, env });
  let stderr = "";
  let waiting;
  pi.stderr.on("data", (data) => (stderr += data));
  pi.stdin.on("error", () => {});
  const ended = new Promise((resolve) => pi.on("close", (code) => resolve(code)));
  createInterface({ input: pi.stdout }).on("line", (line) => {
    const frame = JSON.parse(line);
    if (frame.type === "response") waiting?.(frame);
  });
  const ask = (command) =>
    Promise.race([
      new Promise((resolve) => {
        waiting = resolve;
        pi.stdin.write(`${JSON.stringify(command)}\n`);
      }),
      ended.then(() => undefined),
    ]);
  const end = async () => {
    pi.stdin.end();
    const status = await ended;
    // Colours and the path of the temporary directory say nothing.
    const plain = stderr.replace(/\u001b\[[0-9;]*m/g, "").replaceAll(agent, "<agent>").replaceAll(dirname(dirname(dirname(cli))), "<pi>");
    return { status, stderr: plain.split("\n").filter((line) => line.trim()).slice(0, 5) };
  };
  return { ask, end };
}

/** The model and level after each cycle_model, once round. */
async function cycle(ask) {
  const steps = [];
  while (steps.length < ENOUGH) {
    const { data } = await ask({ type: "cycle_model" });
    if (!data) break;
    const step = { model: full(data.model), level: data.thinkingLevel };
    if (steps[0]?.model === step.model) break;
    steps.push(step);
  }
  return steps;
}

/** The levels that cycle_thinking_level goes through, beginning with the lowest. */
async function levels(ask, name) {
  const [provider, ...id] = name.split("/");
  const set = await ask({ type: "set_model", provider, modelId: id.join("/") });
  if (!set.success) return [];
  const seen = [];
  while (seen.length < ENOUGH) {
    const { data } = await ask({ type: "cycle_thinking_level" });
    if (!data || seen.includes(data.level)) break;
    seen.push(data.level);
  }
  if (seen.length === 0) seen.push((await ask({ type: "get_state" })).data.thinkingLevel);
  const order = ["off", "minimal", "low", "medium", "high", "xhigh", "max"];
  return seen.sort((a, b) => order.indexOf(a) - order.indexOf(b));
}

async function record(name) {
  const folder = join(here, name);
  const options = JSON.parse(readFileSync(join(folder, "case.json"), "utf8"));
  const places = lay(folder);
  const { ask, end } = start(options, places);
  const expected = { pi: version };
  const state = await ask({ type: "get_state" });
  if (state) {
    const { data } = await ask({ type: "get_available_models" });
    expected.start = full(state.data.model);
    expected.level = state.data.thinkingLevel;
    expected.models = data.models.map(full);
    expected.cycle = await cycle(ask);
    expected.levels = {};
    for (const model of options.levels) expected.levels[model] = await levels(ask, model);
  }
  Object.assign(expected, await end());
  writeFileSync(join(folder, "expected.json"), `${JSON.stringify(expected, null, 2)}\n`);
  rmSync(places.home, { recursive: true });
}

const cases = readdirSync(here, { withFileTypes: true }).filter((entry) => entry.isDirectory()).map((entry) => entry.name);
for (const name of wanted.length ? wanted : cases) {
  await record(name);
  console.log(name);
}
