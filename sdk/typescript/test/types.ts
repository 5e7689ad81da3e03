// What the compiler refuses, and what it knows. Nothing here is run: `tsc` is the test.
import { XcshClient, type HostToolDefinition } from "../src/generated/xcsh.js";
import { PiClient, type Model, type PromptCommand, type SessionState } from "../src/generated/pi.js";
import { IllegalCommandError, RpcError } from "../src/index.js";

declare const pi: PiClient;
declare const xcsh: XcshClient;

/** Compiles if both are the same type. */
function same<A, B extends A>(_: A, ..._same: [A] extends [B] ? [] : [never]): void {}

export async function commands(): Promise<void> {
  same<Model, Model>(await pi.setModel({ provider: "anthropic", modelId: "it" }));
  same<SessionState, SessionState>(await pi.getState());
  same<void, void>(await pi.abort());
  await pi.compact();
  await pi.compact({ customInstructions: "short" });
  await pi.call("set_thinking_level", { level: "high" }, { timeoutMs: 10, signal: AbortSignal.timeout(5) });

  // @ts-expect-error A member is missing.
  await pi.setModel({ provider: "anthropic" });
  // @ts-expect-error There is no such level.
  await pi.setThinkingLevel({ level: "enormous" });
  // @ts-expect-error There is no such member.
  await pi.bash({ command: "true", cwd: "/" });
  // @ts-expect-error What is optional may be absent, not undefined.
  await pi.compact({ customInstructions: undefined });
  // @ts-expect-error Ids are the client's.
  await pi.abort({ id: "1" });
  // @ts-expect-error pi has no such command.
  await pi.setTodos({ phases: [] });
  // @ts-expect-error Nor this one.
  await pi.call("branch", { entryId: "it" });
  // @ts-expect-error xcsh calls it branch.
  await xcsh.fork({ entryId: "it" });
  await xcsh.branch({ entryId: "it" });
}

export async function prompts(): Promise<void> {
  await pi.prompt("Hello", { signal: AbortSignal.timeout(1000) });
  const { text, messages } = await pi.prompt({ message: "Hello", images: [], streamingBehavior: "followUp" });
  same<string, string>(text);
  for (const message of messages) {
    if (message.role === "assistant") same<"stop" | "length" | "toolUse" | "error" | "aborted", typeof message.stopReason>(message.stopReason);
  }
  same<PromptCommand["streamingBehavior"], "steer" | "followUp" | undefined>(undefined);
  same<string | undefined, string | undefined>(pi.refusal("prompt", { message: "Hello", streamingBehavior: "steer" }));
  // @ts-expect-error There are two ways to wait.
  await pi.prompt({ message: "Hello", streamingBehavior: "later" });
}

export async function events(): Promise<void> {
  for await (const event of pi.events()) {
    // @ts-expect-error Not every event has messages.
    event.messages;
    switch (event.type) {
      case "agent_end":
        event.messages.at(0)?.role;
        break;
      case "message_update":
        if (event.assistantMessageEvent.type === "text_delta") event.assistantMessageEvent.delta.trim();
        // @ts-expect-error Not every update has a delta.
        event.assistantMessageEvent.delta;
        break;
      case "extension_ui_request":
        if (event.method === "select") event.options.at(0)?.trim();
        break;
      case "unknown":
        same<Readonly<Record<string, unknown>>, Readonly<Record<string, unknown>>>(event.frame);
        break;
      // @ts-expect-error pi does not say this.
      case "ready":
        break;
    }
  }
}

export function callbacks(): void {
  pi.onDialog({
    select: async ({ options }, { signal }) => (signal.aborted ? undefined : options[0]),
    confirm: ({ message }) => message.endsWith("?"),
  });
  // @ts-expect-error Yes or no is asked for.
  pi.onDialog({ confirm: () => "yes" });
  // @ts-expect-error Nothing answers a notice.
  pi.onDialog({ notify: () => undefined });
  void PiClient.spawn({ onDialog: { select: ({ options }) => options[0] } });
  // @ts-expect-error Yes or no is asked for.
  void PiClient.spawn({ onDialog: { confirm: () => "yes" } });
}

export async function tools(): Promise<void> {
  const definition: HostToolDefinition = { name: "look_up", description: "Says what it is", parameters: {} };
  await xcsh.lendTools([{ ...definition, run: ({ word }, { update }) => (update("…"), `${word}?`) }]);
  await xcsh.lendTools([{ ...definition, run: async () => {} }]);
  // @ts-expect-error A text or a result is to be returned.
  await xcsh.lendTools([{ ...definition, run: () => 3 }]);
  // @ts-expect-error A tool has to be carried out.
  await xcsh.lendTools([definition]);
  // @ts-expect-error pi knows no tools of the host.
  await pi.lendTools([]);
}

export function errors(error: unknown): string {
  if (error instanceof RpcError) return `${error.command}: ${error.error}`;
  if (error instanceof IllegalCommandError) return `${error.command} in ${error.state}: ${error.reason}`;
  return "";
}
