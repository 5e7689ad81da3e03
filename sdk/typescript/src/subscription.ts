import { LaggingError } from "./errors.js";
import { deferred, type Deferred } from "./wait.js";

interface Waiting<E> {
  readonly event: E;
  readonly size: number;
}

/** Subscription to events, until it is closed or the server exits; for one reader. */
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

  /** Size of the unread events, in characters of JSON. */
  get backlog(): number {
    return this.#backlog;
  }

  /** Whether more events may come. */
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

  /** @internal Ends the subscription. With an error, unread events are dropped and the reader gets the error. */
  end(error?: Error): void {
    if (!this.#open) return;
    this.#open = false;
    this.#error = error;
    if (error !== undefined) this.#drop();
    for (const reader of this.#readers.splice(0)) reader.resolve({ done: true, value: undefined });
  }

  /** Waits for the next event. */
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

  /** Closes the subscription, as leaving a `for await` early does. */
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

/** Multiple of the backlog that a subscription may be behind while a caller waits and everything is read. */
const OVERDRAFT = 8;

/** Subscriptions of a client. */
export class Subscriptions<E> {
  readonly #all = new Set<Subscription<E>>();
  readonly #changed: () => void;
  #backlog: number;
  /** Events before the first subscription, which gets them. */
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

  /** Stops collecting events for the first subscription. */
  begin(): void {
    this.#first = undefined;
  }

  /** Removes the limit for unread events. */
  keepAll(): void {
    this.#backlog = Infinity;
  }

  /** Passes an event to each subscription; one that is too far behind ends. */
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

  /** Whether a subscription is too far behind. */
  areBehind(): boolean {
    for (const subscription of this.#all) {
      if (!subscription.isOpen) this.#all.delete(subscription);
      else if (subscription.backlog > this.#backlog) return true;
    }
    return false;
  }
}
