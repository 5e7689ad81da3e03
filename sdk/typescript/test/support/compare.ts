import assert from "node:assert/strict";
import type { AnyClient } from "./clients.js";

/** How often a value that was known, and not an empty list, was told, over all conversations, by member. */
export const COMPARED = new Map<string, number>();

type Values = { readonly [name: string]: unknown };

/**
 * Compares what is known of a session with what the server says of it, after every frame: it is asked as soon as the answer
 * before is there. What a response tells is compared where no frame came between that may have changed it.
 */
export class Comparison {
  readonly #client: AnyClient;
  readonly #wrong: string[] = [];
  #isAsking = false;
  #isWanted = false;

  constructor(client: AnyClient) {
    this.#client = client;
    client.session.onMismatch = (member, known, told) => this.#differ(member, known, told);
    void this.#follow();
  }

  /** Fails if anything differed. */
  check(): void {
    assert.deepEqual(this.#wrong, []);
  }

  async #follow(): Promise<void> {
    for await (const _ of this.#client.events()) void this.#ask();
  }

  async #ask(): Promise<void> {
    this.#isWanted = true;
    if (this.#isAsking) return;
    this.#isAsking = true;
    while (this.#isWanted) {
      this.#isWanted = false;
      // A server that has ended says nothing more.
      await Promise.all([this.#compare("get_state"), this.#compare("get_messages")]).catch(() => {});
    }
    this.#isAsking = false;
  }

  async #compare(command: string): Promise<void> {
    const { session } = this.#client;
    const [before, changes] = [session.getSnapshot() as Values, session.flow.changes];
    const told = (await this.#client.request(command, {})) as Values;
    const after = session.getSnapshot() as Values;
    const same = (name: string): boolean => before[name] !== undefined && before[name] === after[name];
    for (const name of Object.keys(after).filter((name) => same(name) && name in told)) {
      if (name === "isStreaming" || name === "isCompacting") continue;
      this.#count(name, !Array.isArray(after[name]) || after[name].length > 0);
    }
    if (command !== "get_state") return;
    if (same("steering") && same("followUp")) {
      const waiting = [before["steering"], before["followUp"]].flat().length;
      const count = told["pendingMessageCount"] ?? told["queuedMessageCount"];
      this.#count("waiting", waiting > 0);
      if (count !== waiting) this.#differ("steering and followUp", waiting, count);
    }
    // What a server prepares or goes on with by itself, frames do not tell.
    for (const flag of ["isStreaming", "isCompacting"]) {
      const isSure = session.flow.changes === changes && after[flag] === true && same(flag);
      this.#count(flag, isSure);
      if (isSure && told[flag] !== true) this.#differ(flag, true, told[flag]);
    }
  }

  #count(name: string, isSomething: boolean): void {
    if (isSomething) COMPARED.set(name, (COMPARED.get(name) ?? 0) + 1);
  }

  #differ(member: string, known: unknown, told: unknown): void {
    this.#wrong.push(`${member}: known ${JSON.stringify(known)}, told ${JSON.stringify(told)}`);
  }
}
