/** `pi.events`, by which extensions send data to each other. */
import { EventEmitter } from "node:events";

/** Channels with listeners. An error of a listener is reported; the other listeners are called all the same. */
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
   * @param {(error: unknown) => void} failed Reports an error of the handler.
   * @returns {() => void} Removes the handler.
   */
  on(channel, handler, failed) {
    const listener = async (data) => {
      try {
        await handler(data);
      } catch (error) {
        failed(error);
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
