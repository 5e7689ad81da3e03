import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { after, describe, test } from "node:test";
import { CLIENTS } from "./support/clients.js";
import { COMPARED } from "./support/compare.js";
import { play, type Conversation } from "./support/conversation.js";

/** The conversations that all SDKs hold. */
const FOLDER = process.env["PI_RPC_CONVERSATIONS"] ?? "../conversations";

// Most of the time a server that is inconvenient lets one wait.
describe("conversations", { concurrency: 6 }, () => {
  after(() => console.log("compared", JSON.stringify(Object.fromEntries(COMPARED))));
  for (const [place, file] of readdirSync(FOLDER).filter((name) => name.endsWith(".json")).entries()) {
    const conversation = JSON.parse(readFileSync(join(FOLDER, file), "utf8")) as Conversation;
    const { title, dialects = [...CLIENTS.keys()], hazards = "all" } = conversation;
    for (const [turn, dialect] of dialects.entries()) {
      // The other clients have it with the other seed.
      const seed = 2 - ((place + turn) % 2);
      const hazard = hazards === "" ? [] : ["--hazard", hazards, "--seed", String(seed)];
      const name = `${file} (${[dialect, ...hazard].join(" ")}): ${title}`;
      test(name, { timeout: 240_000 }, ({ signal }) => play(conversation, dialect, hazard, signal));
    }
  }
});
