// A page's program: a session of a host by WebSocket. It prints what it has seen, where there is a console.
import { webSocket } from "pi-rpc-client/browser";
import { PiClient } from "pi-rpc-client/pi";

export async function converse(url: string, token: string): Promise<string> {
  const client = await PiClient.connect(webSocket(url, { token }));
  const { text, messages } = await client.prompt("Hello");
  const { sessionId } = await client.getState();
  await client.close();
  return `${messages.length} messages, ${text.length > 0}, ${sessionId.length > 0}`;
}
