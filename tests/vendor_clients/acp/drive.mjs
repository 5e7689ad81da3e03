// Drives `pi-rpc acp` through every method that it claims, with the official client library. Arguments: the folder with
// node_modules, the working directory of sessions, and the command line of the agent. Prints one JSON object: what came of each
// method.

import { spawn } from "node:child_process";
import { readFile, writeFile } from "node:fs/promises";
import { Readable, Writable } from "node:stream";
import { pathToFileURL } from "node:url";

const [folder, cwd, program, ...args] = process.argv.slice(2);
const library = `${folder}/node_modules/@agentclientprotocol/sdk/dist/v1/unstable/acp.js`;
const acp = await import(pathToFileURL(library));
const child = spawn(program, args, { stdio: ["pipe", "pipe", "inherit"] });
const stream = acp.ndJsonStream(Writable.toWeb(child.stdin), Readable.toWeb(child.stdout));

const updates = [];
const asked = [];
const terminals = new Map();
const app = acp
  .client({ name: "drive" })
  .onNotification(acp.CLIENT_METHODS.session_update, ({ params }) => void updates.push(params))
  .onRequest(acp.CLIENT_METHODS.session_request_permission, ({ params }) => {
    asked.push("permission");
    return { outcome: { outcome: "selected", optionId: params.options[0].optionId } };
  })
  .onRequest(acp.CLIENT_METHODS.elicitation_create, () => {
    asked.push("elicitation");
    return { action: "accept", content: { value: "entered" } };
  })
  .onRequest(acp.CLIENT_METHODS.fs_read_text_file, async ({ params }) => {
    asked.push("read");
    return { content: await readFile(params.path, "utf8") };
  })
  .onRequest(acp.CLIENT_METHODS.fs_write_text_file, async ({ params }) => {
    asked.push("write");
    await writeFile(params.path, params.content);
    return {};
  })
  .onRequest(acp.CLIENT_METHODS.terminal_create, ({ params }) => {
    asked.push("terminal");
    const running = spawn(params.command, params.args, { cwd: params.cwd });
    const terminal = { running, output: "" };
    running.stdout.on("data", (data) => (terminal.output += data));
    running.stderr.on("data", (data) => (terminal.output += data));
    terminal.ended = new Promise((resolve) =>
      running.on("close", (exitCode, signal) => resolve({ exitCode, signal })));
    terminals.set("t" + terminals.size, terminal);
    return { terminalId: "t" + (terminals.size - 1) };
  })
  .onRequest(acp.CLIENT_METHODS.terminal_wait_for_exit, ({ params }) => terminals.get(params.terminalId).ended)
  .onRequest(acp.CLIENT_METHODS.terminal_output, ({ params }) => ({
    output: terminals.get(params.terminalId).output, truncated: false,
  }))
  .onRequest(acp.CLIENT_METHODS.terminal_kill, ({ params }) => {
    terminals.get(params.terminalId).running.kill();
    return {};
  })
  .onRequest(acp.CLIENT_METHODS.terminal_release, () => ({}));

const text = (text) => [{ type: "text", text }];
const kinds = (sessionId) => updates.filter((it) => it.sessionId === sessionId).map((it) => it.update.sessionUpdate);

const report = await app.connectWith(stream, async (context) => {
  const M = acp.AGENT_METHODS;
  const ask = (method, params) => context.request(method, params);
  const result = {};
  const hello = await ask(M.initialize, {
    protocolVersion: acp.PROTOCOL_VERSION,
    clientCapabilities: {
      fs: { readTextFile: true, writeTextFile: true },
      terminal: true,
      elicitation: { form: {} },
      session: { notices: {}, compaction: {} },
    },
  });
  result.capabilities = hello.agentCapabilities;
  await ask(M.authenticate, { methodId: hello.authMethods[0].id });
  const opened = await ask(M.session_new, { cwd, mcpServers: [] });
  const sessionId = opened.sessionId;
  result.modes = opened.modes.availableModes.map((mode) => mode.id);
  result.stop = (await ask(M.session_prompt, { sessionId, prompt: text("work") })).stopReason;
  result.kinds = [...new Set(kinds(sessionId))].sort();
  await ask(M.session_set_mode, { sessionId, modeId: "high" });
  const set = await ask(M.session_set_config_option, { sessionId, configId: "thought_level", value: "low" });
  result.level = set.configOptions.find((option) => option.id === "thought_level").currentValue;
  const silent = ask(M.session_prompt, { sessionId, prompt: text("silence") });
  await context.notify(M.session_cancel, { sessionId });
  result.cancelled = (await silent).stopReason;
  if (hello.agentCapabilities.sessionCapabilities.list) {
    result.listed = (await ask(M.session_list, { cwd })).sessions.map((it) => it.sessionId === sessionId);
  }
  if (hello.agentCapabilities.sessionCapabilities.fork) {
    const fork = await ask(M.session_fork, { sessionId, cwd, mcpServers: [] });
    result.forked = fork.sessionId !== sessionId;
    await ask(M.session_close, { sessionId: fork.sessionId });
  }
  await ask(M.session_close, { sessionId });
  await ask(M.session_resume, { sessionId, cwd, mcpServers: [] });
  const before = updates.length;
  await ask(M.session_load, { sessionId, cwd, mcpServers: [] });
  const shown = updates.slice(before).map((it) => it.update);
  // Whether the prompt that was cancelled at once is part of the session depends on time.
  const prompts = shown.filter((it) => it.sessionUpdate === "user_message_chunk").map((it) => it.content.text);
  result.replayed = prompts.filter((it) => it !== "silence");
  if (hello.agentCapabilities.sessionCapabilities.delete) {
    await ask(M.session_delete, { sessionId });
    result.deleted = (await ask(M.session_list, { cwd })).sessions.every((it) => it.sessionId !== sessionId);
  }
  result.asked = [...new Set(asked)].sort();
  return result;
});
child.stdin.end();
console.log(JSON.stringify(report));
