// What a program of Node.js imports, compiled with the types of ES2022 and without `skipLibCheck`.
import { Client, type Exit, HostError } from "pi-rpc-client";
import { host } from "pi-rpc-client/node";
import { Pi1Client } from "pi-rpc-client/pi-1";
import { type TestServer, scripted } from "pi-rpc-client/testing";

export async function text(address: string): Promise<string> {
  const client: Pi1Client = await Pi1Client.connect(host(address, { token: "secret", reconnectMs: 1000 }));
  return (await client.prompt("Hello")).text;
}

export async function started(t: { after(close: () => Promise<void>): void }): Promise<Exit> {
  const server: TestServer = scripted(t, { turns: [] }, { dialect: "pi-1" });
  const client: Pi1Client = await server.start(Pi1Client, { timeoutMs: 1000 });
  return client.close();
}

export const kinds = [Client, HostError];
