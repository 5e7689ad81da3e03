import type { Frame, Outcome, Step, Tables, Trigger } from "./tables.js";
import { deferred } from "./wait.js";

/** Which state the session is in, as far as the frames tell that have come. */
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

  /** A run is expected, and may not come: a prompt was taken, which is all that is known. */
  get isTentative(): boolean {
    return this.#isTentative;
  }

  /** The server says when nothing follows by itself any more. */
  get settles(): boolean {
    return this.#tables.settles;
  }

  /** How often the state has changed. */
  get changes(): number {
    return this.#changes;
  }

  /** The next change; fails when none comes any more. */
  changed(): Promise<void> {
    return this.#changed.promise;
  }

  /** Nothing changes any more. */
  fail(error: Error): void {
    this.#changed.reject(error);
  }

  /** Goes where `frame` leads. */
  see(frame: Frame): void {
    const steps = (this.#steps.get(frame.type) ?? []).filter((step) => step.on.some((on) => fits(on, frame)));
    const step = steps.find(({ from }) => from === this.#state) ?? steps.find((step) => this.#believes(step));
    if (step !== undefined && step.to !== this.#state) this.#go(step.to, frame.type === "response");
  }

  /** Nothing goes on, against what the frames told. */
  rest(): void {
    if (!this.isIdle) this.#go(this.#tables.idle, false);
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

  /** Whether a frame out of place is believed: where it opens something, or goes on with what is open. */
  #believes({ from, to }: Step): boolean {
    const [before, after] = [whole(from), whole(to)];
    return before === undefined ? after !== undefined : before === whole(this.#state);
  }

  /** What becomes of a command now; undefined: the server has to say. */
  outcome(command: string, fields: Frame): Outcome | undefined {
    if (this.#isTentative) return undefined;
    const rows = this.#tables.outcomes[command] ?? [];
    const row = rows.find((row) => row.in === undefined || row.in.includes(this.#state));
    return row?.outcomes.find(({ when }) => when === undefined || when.is.includes(String(fields[when.field])));
  }

  /** The words with which a command would be refused now; undefined: it is taken, or the server has to say. */
  refusal(command: string, fields: Frame): string | undefined {
    return this.outcome(command, fields)?.refusal;
  }
}

/** The state that this one is a part of: `streaming` of `streaming.tools`. */
function whole(state: string): string | undefined {
  const dot = state.indexOf(".");
  return dot === -1 ? undefined : state.slice(0, dot);
}

function fits({ where = {} }: Trigger, frame: Frame): boolean {
  const parts = [frame["data"], frame["message"], frame].filter((part) => typeof part === "object");
  const said: object = Object.assign({}, ...parts);
  return Object.entries(where).every(([member, value]) => said[member as keyof typeof said] === value);
}
