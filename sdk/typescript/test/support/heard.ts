import assert from "node:assert/strict";
import { has } from "./values.js";

/** What was heard, in order, and what one waits to hear. */
export class Heard {
  readonly #all: object[] = [];
  #next = 0;
  #isOver = false;
  #more: () => void = () => {};

  add(event: object): void {
    this.#all.push(event);
    this.#more();
  }

  /** Adds everything that comes; over when nothing comes any more. */
  async read(events: AsyncIterable<object>): Promise<void> {
    for await (const event of events) this.add(event);
    this.#isOver = true;
    this.#more();
  }

  /** The next one that has this; passes over others. */
  async next(expected: object): Promise<void> {
    this.#next = (await this.#find(expected, this.#next)) + 1;
  }

  /** Any that has this, be it that it still comes. */
  async some(expected: object): Promise<void> {
    await this.#find(expected, 0);
  }

  async #find(expected: object, from: number): Promise<number> {
    for (let at = from; ; at += 1) {
      while (at >= this.#all.length) {
        if (this.#isOver) assert.fail(`nothing came that has ${JSON.stringify(expected)}`);
        await new Promise<void>((resolve) => (this.#more = resolve));
      }
      if (has(this.#all[at], expected)) return at;
    }
  }
}
