import { LaggingError } from "./errors.js";
import { deferred, type Deferred } from "./wait.js";

interface Waiting<E> {
  readonly event: E;
  readonly size: number;
}

/** Events as they come, from when it was made until it is closed or the server ends. Reading it is up to one reader. */
export class Subscription<E> implements AsyncIterableIterator<E> {
  readonly #changed: () => void;
  /** What came last, and what is read next, the other way round. */
  #came: Waiting<E>[] = [];
  #next: Waiting<E>[] = [];
  #backlog = 0;
  #readers: Deferred<IteratorResult<E>>[] = [];
  #open = true;
  #error: Error | undefined;

  /** `changed` is called when events were read, or none are wanted any more. */
  constructor(changed: () => void) {
    this.#changed = changed;
  }

  /** How much waits to be read, in characters of JSON. */
  get backlog(): number {
    return this.#backlog;
  }

  /** Whether more may come. */
  get isOpen(): boolean {
    return this.#open;
  }

  /** @internal */
  push(event: E, size: number): void {
    if (!this.#open) return;
    const reader = this.#readers.shift();
    if (reader !== undefined) return reader.resolve({ done: false, value: event });
    this.#came.push({ event, size });
    this.#backlog += size;
  }

  /** @internal Nothing more comes. With an error, what was not read is dropped, and the reader is told. */
  end(error?: Error): void {
    if (!this.#open) return;
    this.#open = false;
    this.#error = error;
    if (error !== undefined) this.#drop();
    for (const reader of this.#readers.splice(0)) reader.resolve({ done: true, value: undefined });
  }

  /** The next event. */
  async next(): Promise<IteratorResult<E>> {
    if (this.#next.length === 0) [this.#next, this.#came] = [this.#came.reverse(), []];
    const first = this.#next.pop();
    if (first !== undefined) {
      this.#backlog -= first.size;
      this.#changed();
      return { done: false, value: first.event };
    }
    const error = this.#error;
    this.#error = undefined;
    if (error !== undefined) throw error;
    if (!this.#open) return { done: true, value: undefined };
    const reader = deferred<IteratorResult<E>>();
    this.#readers.push(reader);
    return reader.promise;
  }

  /** Ends it: what a `for await` calls that is left early. */
  async return(): Promise<IteratorResult<E>> {
    this.end();
    this.#drop();
    this.#changed();
    return { done: true, value: undefined };
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.return();
  }

  #drop(): void {
    [this.#next, this.#came] = [[], []];
    this.#backlog = 0;
  }
}

/** How many times the backlog a subscription may be behind while everything is read, because somebody waits. */
const OVERDRAFT = 8;

/** All subscriptions of a client. */
export class Subscriptions<E> {
  readonly #all = new Set<Subscription<E>>();
  readonly #changed: () => void;
  #backlog: number;
  /** What comes before there is any: the first to be made. */
  #first: Subscription<E> | undefined;
  #isOver = false;

  /** `backlog`: how much one may be behind. `changed` is called when that may have become less. */
  constructor(backlog: number, changed: () => void) {
    this.#backlog = backlog;
    this.#changed = changed;
    this.#first = new Subscription<E>(changed);
  }

  add(): Subscription<E> {
    const subscription = this.#first ?? new Subscription<E>(this.#changed);
    this.#first = undefined;
    if (this.#isOver) subscription.end();
    else this.#all.add(subscription);
    return subscription;
  }

  /** From now on, also the first begins when it is made. */
  begin(): void {
    this.#first = undefined;
  }

  /** From now on they may be behind as far as they like. */
  keepAll(): void {
    this.#backlog = Infinity;
  }

  /** Hands an event to each; one that is far too far behind ends. */
  push(event: E, size: number): void {
    this.#first?.push(event, size);
    if ((this.#first?.backlog ?? 0) > this.#backlog) this.begin();
    for (const subscription of this.#all) {
      if (subscription.backlog <= this.#backlog * OVERDRAFT) subscription.push(event, size);
      else subscription.end(new LaggingError("the events were not read while something was waited for"));
    }
  }

  end(): void {
    this.#isOver = true;
    for (const subscription of this.#all) subscription.end();
  }

  /** Whether one is too far behind. */
  areBehind(): boolean {
    for (const subscription of this.#all) {
      if (!subscription.isOpen) this.#all.delete(subscription);
      else if (subscription.backlog > this.#backlog) return true;
    }
    return false;
  }
}
