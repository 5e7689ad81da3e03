import { readdirSync } from "node:fs";
import type { Client, Options } from "../../src/index.js";
import type { Pi } from "../../src/generated/pi.js";

/** The program that the tests start. */
export const PI_RPC = process.env["PI_RPC_BIN"] ?? "pi-rpc";

/** A client of any dialect, as far as tests of all dialects use it: what they call beyond that, they find by name. */
export type AnyClient = Client<Pi>;

type Spawn = (options: Options<Pi>) => Promise<AnyClient>;

/** The generated clients by dialect: every file that generate.mjs has written. */
export const CLIENTS: ReadonlyMap<string, Spawn> = new Map(
  await Promise.all(
    readdirSync(new URL("../../src/generated/", import.meta.url))
      .filter((file) => file.endsWith(".js") && !/\.(types|session)\.js$/.test(file))
      .map(async (file): Promise<[string, Spawn]> => {
        const module = (await import(`../../src/generated/${file}`)) as Record<string, { spawn: Spawn }>;
        const [client] = Object.values(module);
        if (client === undefined) throw new Error(`${file} has no client`);
        return [file.slice(0, -3), (options) => client.spawn(options)];
      }),
  ),
);
