// The socket with what happens now. An update is acknowledged once it is drawn, so that a busy or hidden page is sent less.

/** @import {FromServer} from "./contract" */

/** Milliseconds until the first attempt to connect again, and the longest time between two. */
const [FIRST_WAIT, LONGEST_WAIT] = [250, 4000];

/** Connects, and connects again, to the server. */
export class Live {
  /**
   * @param {(message: FromServer) => void} take
   * @param {(isConnected: boolean) => void} changed
   */
  constructor(take, changed) {
    this.take = take;
    this.changed = changed;
    this.wait = FIRST_WAIT;
  }

  connect() {
    const socket = new WebSocket(new URL("api/live", location.href.replace(/^http/, "ws")));
    socket.addEventListener("open", () => {
      this.wait = FIRST_WAIT;
      this.changed(true);
    });
    socket.addEventListener("message", (event) => {
      const message = /** @type {FromServer} */ (JSON.parse(String(event.data)));
      this.take(message);
      if (message.type === "update") requestAnimationFrame(() => acknowledge(socket));
    });
    socket.addEventListener("close", () => {
      this.changed(false);
      setTimeout(() => this.connect(), this.wait);
      this.wait = Math.min(this.wait * 2, LONGEST_WAIT);
    });
  }
}

/** @param {WebSocket} socket */
function acknowledge(socket) {
  if (socket.readyState === WebSocket.OPEN) socket.send('{"type":"ack"}');
}
