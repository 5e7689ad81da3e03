// A program of somebody who has installed the package: it starts a server, and converses with it.
import { PiClient } from "pi-rpc-client/pi";

const client = await PiClient.spawn({ args: ["--no-session", "--model", "scripted/demo"] });
const { messages } = await client.prompt("Hello");
await client.close();
console.log(`${messages.length} messages`);
