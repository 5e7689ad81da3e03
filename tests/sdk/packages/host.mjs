import { ClosedError, HostError, HostRefusedError } from "pi-rpc-client";
import { host } from "pi-rpc-client/node";
import { Pi1Client } from "pi-rpc-client/pi-1";

const [address, token] = process.argv.slice(2);
try {
  const client = await Pi1Client.connect(host(address, { token }));
  const { text } = await client.prompt("Hello");
  console.log(text);
  await client.close();
} catch (error) {
  if (error instanceof HostRefusedError) console.log("refused:", error.status, error.reason);
  else if (error instanceof HostError) console.log("nobody listens:", error.message);
  else if (error instanceof ClosedError) console.log("closed:", error.exit.code);
  else throw error;
}
