/** `pi.events`: extensions talk to each other. */
import { EventEmitter } from "node:events";

/** A bus of channels; what fails in a listener is remarked on, and nobody else notices. */
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
   * @returns {() => void} Takes it back.
   */
  on(channel, handler) {
    const listener = async (data) => {
      try {
        await handler(data);
      } catch (error) {
        console.error(`a listener of the channel ${channel} has failed:`, error);
      }
    };
    this.#emitter.on(channel, listener);
    return () => this.#emitter.off(channel, listener);
  }

  /** Nobody listens any more. */
  clear() {
    this.#emitter.removeAllListeners();
  }
}
