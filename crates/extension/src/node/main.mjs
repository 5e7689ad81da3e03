/**
 * The Node host of pi's extensions: one process for all of them, which speaks the extension protocol with the server.
 *
 * The original stdin and stdout carry frames, descriptor 3 carries answers to queries, stderr is for messages.
 */
import { fileURLToPath } from "node:url";
import { Host } from "./host/host.mjs";
import { messageOf } from "./host/shapes.mjs";
import { Wire } from "./host/wire.mjs";

const BRIDGE = Symbol.for("pi-rpc.host");

/** Milliseconds after which the input is read although extensions are still loading, to notice its end. */
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

/** Enters the working directory: Bun is started elsewhere, so that it reads no files of the project by itself. */
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
  // Frames that come while the extensions are loaded are handled afterwards, in order.
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

/** The loader; if it cannot be prepared, one that fails for each extension with the reason. */
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

/** Sets the command line that extensions of pi expect: Node, pi, and the options of the server. */
function setPiArguments(words) {
  const hasMode = words.some((word) => word === "--mode" || word.startsWith("--mode="));
  const pi = fileURLToPath(new URL("./pi", import.meta.url));
  process.argv = [process.execPath, pi, ...(hasMode ? words : ["--mode", "rpc", ...words])];
  process.execArgv = [];
}

/** Redirects what extensions print on stdout to stderr. */
function redirectStdout() {
  Object.defineProperty(process, "stdout", { configurable: true, enumerable: true, get: () => process.stderr });
}

/** Reports an uncaught error for the extension in its stack trace; the process goes on. */
function reportUncaught(error) {
  const { members = [] } = hello;
  const trace = messageOf(error?.stack ?? "");
  const owner = members.find(({ path }) => trace.includes(path)) ?? members[0];
  host.reportError(owner?.path ?? "<runtime>", "unhandled", messageOf(error));
}
