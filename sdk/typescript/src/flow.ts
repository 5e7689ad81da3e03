import type { Frame, Outcome, Step, Tables, Trigger } from "./tables.js";
import { deferred } from "./wait.js";

/** Activity of the session, from the frames so far. */
export class Flow {
  readonly #tables: Tables;
  readonly #steps = new Map<string, Step[]>();
  #state: string;
  #changes = 0;
  #isTentative = false;
  #changed = deferred<void>();
  readonly #onMove: () => void;

  /** `onMove` is called after each change. */
  constructor(tables: Tables, onMove: () => void = () => {}) {
    this.#tables = tables;
    this.#onMove = onMove;
    this.#state = tables.idle;
    for (const step of tables.steps) {
      for (const type of new Set(step.on.map((trigger) => trigger.type))) {
        this.#steps.set(type, [...(this.#steps.get(type) ?? []), step]);
      }
    }
  }

  get state(): string {
    return this.#state;
  }

  get isIdle(): boolean {
    return this.#state === this.#tables.idle;
  }

  /** Whether a prompt was acknowledged whose run may not come. */
  get isTentative(): boolean {
    return this.#isTentative;
  }

  /** Whether the server reports when nothing follows by itself any more. */
  get settles(): boolean {
    return this.#tables.settles;
  }

  /** Number of changes of the state. */
  get changes(): number {
    return this.#changes;
  }

  /** Resolves at the next change; rejects at the end of the connection. */
  changed(): Promise<void> {
    return this.#changed.promise;
  }

  /** Ends the connection: no further changes. */
  fail(error: Error): void {
    this.#changed.reject(error);
  }

  /** Follows a frame. */
  see(frame: Frame): void {
    const steps = (this.#steps.get(frame.type) ?? []).filter((step) => step.on.some((on) => fits(on, frame)));
    const step = steps.find(({ from }) => from === this.#state) ?? steps.find((step) => this.#believes(step));
    if (step !== undefined && step.to !== this.#state) this.#go(step.to, frame.type === "response");
  }

  /** Resets to idle, as the server has reported that, contrary to the frames. */
  rest(): void {
    if (!this.isIdle) this.#go(this.#tables.idle, false);
  }

  /** Resets to idle, as the acknowledged prompt leads to no run. */
  drop(): void {
    if (this.#isTentative) this.rest();
  }

  #go(state: string, isAnswer: boolean): void {
    this.#state = state;
    this.#isTentative = isAnswer && !this.isIdle;
    this.#changes += 1;
    const changed = this.#changed;
    this.#changed = deferred();
    this.#onMove();
    changed.resolve();
  }

  /** Whether an unexpected frame is followed: if it opens something, or continues something open. */
  #believes({ from, to }: Step): boolean {
    const [before, after] = [whole(from), whole(to)];
    return before === undefined ? after !== undefined : before === whole(this.#state);
  }

  /** Disposition of a command now; undefined: the server decides. */
  outcome(command: string, fields: Frame): Outcome | undefined {
    if (this.#isTentative) return undefined;
    const rows = this.#tables.outcomes[command] ?? [];
    const row = rows.find((row) => row.in === undefined || row.in.includes(this.#state));
    return row?.outcomes.find(({ when }) => when === undefined || when.is.includes(String(fields[when.field])));
  }

  /** Error text with which a command would be refused now; undefined: it is accepted, or the server decides. */
  refusal(command: string, fields: Frame): string | undefined {
    return this.outcome(command, fields)?.refusal;
  }
}

/** Superstate, such as `streaming` of `streaming.tools`. */
function whole(state: string): string | undefined {
  const dot = state.indexOf(".");
  return dot === -1 ? undefined : state.slice(0, dot);
}

function fits({ where = {} }: Trigger, frame: Frame): boolean {
  const parts = [frame["data"], frame["message"], frame].filter((part) => typeof part === "object");
  const said: object = Object.assign({}, ...parts);
  return Object.entries(where).every(([member, value]) => said[member as keyof typeof said] === value);
}
