/**
 * The host of pi's extensions: one process for all of them, which speaks the protocol of extensions with the server.
 *
 * What stdin and stdout were carries frames, descriptor 3 the answers that are waited for; stderr is for remarks.
 */
import { fileURLToPath } from "node:url";
import { Host } from "./host/host.mjs";
import { messageOf } from "./host/shapes.mjs";
import { Wire } from "./host/wire.mjs";

const BRIDGE = Symbol.for("pi-rpc.host");

/** Loading takes less, unless an extension waits for something: then the end of the input has to be noticed. */
const LISTEN_DELAY = 100;

enterWorkingDirectory();
redirectStdout();
const wire = new Wire();
const hello = wire.readFirst();
if (!hello) process.exit(0);
wire.maxFrame = hello.maxFrame;
setPiArguments(hello.arguments ?? []);
const host = new Host(wire, hello);
await start();

/** Bun is started elsewhere, so that it reads no files of the project by itself. */
function enterWorkingDirectory() {
  const { PI_RPC_DIRECTORY: directory } = process.env;
  delete process.env.PI_RPC_DIRECTORY;
  if (directory) process.chdir(directory);
}

async function start() {
  globalThis[BRIDGE] = {
    api: hello.api,
    version: hello.version,
    cwd: hello.cwd,
    agentDirectory: hello.agentDirectory,
    query: (about, more) => host.query(about, more),
    request: (frame, signal) => host.request(frame, signal),
  };
  process.on("unhandledRejection", (error) => reportUncaught(error));
  process.on("uncaughtException", (error) => reportUncaught(error));
  // What comes while the extensions are loaded waits, in its order.
  let onFrame = (frame) => early.push(frame);
  const early = [];
  let listening = false;
  const listen = () => {
    if (!listening) wire.listen((frame) => onFrame(frame), () => process.exit(0));
    listening = true;
  };
  setTimeout(listen, LISTEN_DELAY);
  await host.start(await importLoader());
  for (const frame of early) host.handleFrame(frame);
  onFrame = (frame) => host.handleFrame(frame);
  listen();
}

/** A Node.js that is too old, say, loads nothing: each extension is told of. */
async function importLoader() {
  try {
    const loader = await import("./loader.mjs");
    await loader.prepare({ cwd: hello.cwd, agentDirectory: hello.agentDirectory });
    return loader;
  } catch (error) {
    return {
      load: () => {
        throw error;
      },
    };
  }
}

/** The command line as extensions of pi know it: Node, pi, and the options of this process. */
function setPiArguments(words) {
  const hasMode = words.some((word) => word === "--mode" || word.startsWith("--mode="));
  const pi = fileURLToPath(new URL("./pi", import.meta.url));
  process.argv = [process.execPath, pi, ...(hasMode ? words : ["--mode", "rpc", ...words])];
  process.execArgv = [];
}

/** Frames are all that stdout is for: what extensions print goes to stderr. */
function redirectStdout() {
  Object.defineProperty(process, "stdout", { configurable: true, enumerable: true, get: () => process.stderr });
}

/** An error that nobody has caught ends nothing; whose it is, its trace says. */
function reportUncaught(error) {
  const { members = [] } = hello;
  const trace = messageOf(error?.stack ?? "");
  const owner = members.find(({ path }) => trace.includes(path)) ?? members[0];
  host.reportError(owner?.path ?? "<runtime>", "unhandled", messageOf(error));
}
