/** `pi.events`, by which extensions send data to each other. */
import { EventEmitter } from "node:events";

/** Channels with listeners. An error of a listener goes to stderr; the other listeners are called all the same. */
export class Bus {
  #emitter = new EventEmitter().setMaxListeners(0);

  /**
   * @param {string} channel
   * @param {unknown} data
   */
  emit(channel, data) {
    this.#emitter.emit(channel, data);
  }

  /**
   * @param {string} channel
   * @param {(data: any) => unknown} handler
   * @returns {() => void} Removes the handler.
   */
  on(channel, handler) {
    const listener = async (data) => {
      try {
        await handler(data);
      } catch (error) {
        console.error(`pi.events: a listener of ${channel} failed:`, error);
      }
    };
    this.#emitter.on(channel, listener);
    return () => this.#emitter.off(channel, listener);
  }

  /** Removes all listeners. */
  clear() {
    this.#emitter.removeAllListeners();
  }
}
