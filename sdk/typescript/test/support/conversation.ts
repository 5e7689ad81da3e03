import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { ClosedError, IllegalCommandError, RpcError, type ToolCall } from "../../src/index.js";
import { CLIENTS, PI_RPC, type AnyClient } from "./clients.js";
import { Comparison } from "./compare.js";
import { Heard } from "./heard.js";
import { assertGone } from "./processes.js";
import { assertHas } from "./values.js";

/** A file of `sdk/conversations`. */
export interface Conversation {
  readonly title: string;
  readonly dialects?: readonly string[];
  readonly script?: object;
  readonly options?: readonly string[];
  readonly files?: { readonly [path: string]: string };
  readonly hazards?: string;
  readonly steps: readonly Step[];
}

type Json = { readonly [member: string]: unknown };
type Text = string | { readonly repeat: string; readonly times: number };
type Step = Json & { readonly as?: string; readonly times?: number; readonly with?: Json; readonly anyway?: boolean };
type Answers = readonly { readonly update?: string; readonly result?: string; readonly error?: string }[];

/** Plays it once; gives up when `signal` says so. */
export async function play(
  conversation: Conversation,
  dialect: string,
  hazard: readonly string[],
  signal: AbortSignal,
): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), "conversation-"));
  try {
    for (const [path, text] of Object.entries(conversation.files ?? {})) {
      mkdirSync(dirname(join(folder, path)), { recursive: true });
      writeFileSync(join(folder, path), text);
    }
    if (conversation.script !== undefined) {
      writeFileSync(join(folder, "script.json"), JSON.stringify(conversation.script));
    }
    const model = conversation.script === undefined ? "scripted/demo" : "scripted/script.json";
    const options = ["serve", "--dialect", dialect, "--no-session", "--model", model, ...hazard];
    const client = await CLIENTS.get(dialect)?.({
      command: [PI_RPC, ...options, ...(conversation.options ?? [])],
      cwd: folder,
      env: { PATH: process.env["PATH"], HOME: folder },
    });
    assert(client !== undefined);
    signal.addEventListener("abort", () => void client.close({ graceMs: 0 }));
    const player = new Player(client, folder);
    const comparison = new Comparison(client);
    try {
      for (const step of conversation.steps) await player.step(step);
      await player.finish();
      comparison.check();
    } finally {
      await client.close({ graceMs: 0 });
    }
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** What was started and is waited for later. */
type Started = readonly PromiseSettledResult<unknown>[];

class Player {
  readonly #client: AnyClient;
  readonly #home: string;
  readonly #heard = new Heard();
  readonly #eventsEnd: Promise<void>;
  readonly #started = new Map<string, Promise<Started>>();
  /** What the host's tools were asked, and which calls were called off. */
  readonly #tools = new Heard();
  #isOver = false;

  /** `home`: of the server. */
  constructor(client: AnyClient, home: string) {
    this.#client = client;
    this.#home = home;
    this.#eventsEnd = this.#heard.read(client.events());
  }

  /** Does a step: the member that names it says which. */
  async step(step: Step): Promise<void> {
    const name = Object.keys(STEPS).find((name) => name in step);
    assert(name !== undefined, `no step: ${JSON.stringify(step)}`);
    await STEPS[name]?.(this, step);
  }

  /** What comes behind the last step. */
  async finish(): Promise<void> {
    if (!this.#isOver) await this.close({ status: 0 });
  }

  async call(step: Step): Promise<void> {
    const started = Promise.allSettled(
      Array.from({ length: step.times ?? 1 }, () => this.#command(step["call"] as string, step.with ?? {}, step)),
    );
    if (step.as === undefined) check(await started, step);
    else this.#started.set(step.as, started);
  }

  async await(step: Step): Promise<void> {
    const started = this.#started.get(step["await"] as string);
    assert(started !== undefined);
    this.#started.delete(step["await"] as string);
    check(await started, step);
  }

  async prompt(step: Step): Promise<void> {
    const { images } = step as { images?: [] };
    const fields = { message: text(step["prompt"] as Text), ...(images === undefined ? {} : { images }) };
    const [run] = await Promise.allSettled([this.#client.prompt(fields, { anyway: step.anyway })]);
    if ("fails" in step) return check([run], step);
    assert(run.status === "fulfilled", String((run as PromiseRejectedResult).reason));
    if ("says" in step) assert.equal(run.value.text, text(step["says"] as Text));
  }

  async refused(step: Step): Promise<void> {
    const command = step["refused"] as "prompt";
    const refusal = this.#client.refusal(command, step.with as never);
    assert(refusal !== undefined);
    await assert.rejects(
      this.#command(command, step.with ?? {}, step),
      (error) => error instanceof IllegalCommandError && error.reason === refusal,
    );
  }

  async event({ event, having = {} }: Step): Promise<void> {
    await this.#heard.next({ type: event as string, ...(having as Json) });
  }

  async idle(): Promise<void> {
    await this.#client.waitForIdle();
  }

  async queue(command: string, message: Text): Promise<void> {
    await this.#command(command, { message: text(message) }, {});
  }

  async dialogs(answers: { readonly [method: string]: Json }): Promise<void> {
    const answer = ({ value, confirmed }: Json) => () => (value ?? confirmed) as never;
    const handlers = Object.entries(answers).map(([method, said]) => [method, answer(said)]);
    this.#client.onDialog(Object.fromEntries(handlers));
  }

  async asked(question: Json): Promise<void> {
    await this.#heard.some({ type: "extension_ui_request", ...question });
  }

  async lend(tools: readonly (Json & { readonly name: string; readonly answers: Answers })[]): Promise<void> {
    const lent = tools.map(({ answers, ...definition }) => ({
      ...definition,
      run: async (args: unknown, { signal, update }: ToolCall) => {
        const { name } = definition;
        this.#tools.add({ called: { name, arguments: args } });
        signal.addEventListener("abort", () => this.#tools.add({ cancelled: name }));
        return answer(answers, update);
      },
    }));
    await (this.#client as unknown as { lendTools(tools: object): Promise<void> }).lendTools(lent);
  }

  async called(step: Step): Promise<void> {
    await this.#tools.some(step);
  }

  async kill(): Promise<void> {
    const { pid } = this.#client;
    assert(pid !== undefined);
    process.kill(pid, "SIGKILL");
    for (const results of await Promise.all(this.#started.values())) {
      for (const result of results) assert(result.status === "rejected" && result.reason instanceof ClosedError);
    }
    await assert.rejects(this.#command("get_state", {}, {}), ClosedError);
    assert.equal((await this.#client.exited).signal, "SIGKILL");
    await this.#over(pid);
  }

  async close({ status }: { readonly status: number }): Promise<void> {
    const { pid } = this.#client;
    assert(pid !== undefined);
    // A server that ends of itself may take long on a busy machine.
    const exit = await this.#client.close({ graceMs: 120_000 });
    assert.deepEqual([exit.code, exit.signal], [status, null], exit.stderr);
    await this.#over(pid, this.#home);
  }

  /** The events have ended, and nothing is left of the server; of one that was killed, tools may be left. */
  async #over(pid: number, home?: string): Promise<void> {
    this.#isOver = true;
    await this.#eventsEnd;
    await assertGone(pid, home);
  }

  /** Calls the method that the SDK has for a command. */
  async #command(command: string, fields: Json, { anyway }: Pick<Step, "anyway">): Promise<unknown> {
    const name = command.replace(/_(.)/g, (_, letter: string) => letter.toUpperCase());
    const method = name === "prompt" ? "sendPrompt" : name;
    const call = (this.#client as unknown as Record<string, (...args: unknown[]) => Promise<unknown>>)[method];
    assert(call !== undefined, `there is no method ${method}`);
    // One that has no members takes the options alone.
    return call.call(this.#client, ...(call.length === 1 ? [] : [fields]), { anyway });
  }
}

const STEPS: { readonly [name: string]: (player: Player, step: Step) => Promise<void> } = {
  call: (player, step) => player.call(step),
  await: (player, step) => player.await(step),
  prompt: (player, step) => player.prompt(step),
  refused: (player, step) => player.refused(step),
  event: (player, step) => player.event(step),
  idle: (player) => player.idle(),
  steer: (player, step) => player.queue("steer", step["steer"] as Text),
  follow_up: (player, step) => player.queue("follow_up", step["follow_up"] as Text),
  dialogs: (player, step) => player.dialogs(step["dialogs"] as never),
  asked: (player, step) => player.asked(step["asked"] as Json),
  host_tools: (player, step) => player.lend(step["host_tools"] as never),
  called: (player, step) => player.called(step),
  cancelled: (player, step) => player.called(step),
  kill: (player) => player.kill(),
  close: (player, step) => player.close(step["close"] as never),
};

/** Whether each of these calls came to what the step says. */
function check(results: Started, step: Step): void {
  for (const result of results) {
    if ("fails" in step) {
      assert(result.status === "rejected" && result.reason instanceof RpcError, JSON.stringify(result));
      const { contains } = step["fails"] as { contains?: string };
      if (contains === undefined) assert.equal(result.reason.error, step["fails"]);
      else assert(result.reason.error.includes(contains), result.reason.error);
    } else {
      if (result.status === "rejected") throw result.reason;
      if ("returns" in step) assertHas(result.value ?? null, step["returns"]);
    }
  }
}

async function answer(answers: Answers, update: ToolCall["update"]): Promise<string> {
  for (const { update: soFar, result, error } of answers) {
    if (soFar !== undefined) update(soFar);
    else if (result !== undefined) return result;
    else if (error !== undefined) throw new Error(error);
    else await new Promise(() => {});
  }
  throw new Error("the conversation has no answer left");
}

function text(text: Text): string {
  return typeof text === "string" ? text : text.repeat.repeat(text.times);
}
