import type { TestContext } from "node:test";
import { PiClient, type Pi } from "../../src/generated/pi.js";
import { OmpClient, type Omp } from "../../src/generated/omp.js";
import { Pi1Client, type Pi1 } from "../../src/generated/pi-1.js";
import type { Options } from "../../src/index.js";

/**
 * A server that is a few lines of JavaScript: `say(frame)` writes one, `heard(frame)` is called with each command. It ends
 * with the test.
 */
export async function scripted(t: TestContext, code: string, options: Options<Pi> = {}): Promise<PiClient> {
  const command = [process.execPath, "--eval", `${PRELUDE}\n${code}`];
  const client = await PiClient.spawn({ ...options, command });
  t.after(() => client.close({ graceMs: 0 }));
  return client;
}

/** The same for one that says when it has settled. */
export async function settling(t: TestContext, code: string, options: Options<Pi1> = {}): Promise<Pi1Client> {
  const command = [process.execPath, "--eval", `${PRELUDE}\n${code}`];
  const client = await Pi1Client.spawn({ ...options, command });
  t.after(() => client.close({ graceMs: 0 }));
  return client;
}

/** The same for one that offers versions of the protocol, and accepts the second; `fail(frame, error)` refuses a command. */
export async function offering(t: TestContext, code: string, options: Options<Omp> = {}): Promise<OmpClient> {
  const command = [process.execPath, "--eval", `${PRELUDE}\n${OFFER}\n${code}`];
  const client = await OmpClient.spawn({ ...options, command });
  t.after(() => client.close({ graceMs: 0 }));
  return client;
}

const OFFER = `
  const fail = ({ id, type }, error) => say({ id, type: "response", command: type, success: false, ...error });
  const LIMITS = { maxFrameBytes: 1048576, maxReassembledFrameBytes: 67108864 };
  say({ type: "ready", protocolVersion: 1, supportedProtocolVersions: [1, 2], ...LIMITS });
`;

/** Answers `get_state` as an idle session does, and keeps the rest for the code. */
const PRELUDE = `
  const STATE = { isStreaming: false, isCompacting: false };
  const say = (frame) => process.stdout.write(JSON.stringify(frame) + "\\n");
  const answer = ({ id, type }, data) => say({ id, type: "response", command: type, success: true, data });
  let heard = () => {};
  require("node:readline").createInterface({ input: process.stdin }).on("line", (line) => {
    const frame = JSON.parse(line);
    if (frame.type === "get_state") answer(frame, STATE);
    else if (frame.type === "negotiate_protocol") answer(frame, { protocolVersion: frame.protocolVersion });
    else heard(frame);
  });
`;
