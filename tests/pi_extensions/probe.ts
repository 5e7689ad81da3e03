// Tells what an extension registers, and what an agent then has: loaded after the extension, it writes one file.
//
// `PROBE_EXTENSION` names the extension, `PROBE_FILE` the file. The extension's factory is called once more, with an API
// that keeps what it is told and does nothing: flags and shortcuts cannot be asked for otherwise.

import { createHash } from "node:crypto";
import { existsSync, writeFileSync } from "node:fs";

/** A hash of what a text says, wherever the home is. */
const brief = (text: unknown) => {
	const plain = String(text ?? "").split(process.env.HOME ?? "~").join("~");
	return createHash("sha1").update(plain).digest("hex").slice(0, 8);
};

/** The same text for the same value, whatever the order of its fields. */
function canonical(value: any): any {
	if (Array.isArray(value)) return value.map(canonical);
	if (value === null || typeof value !== "object") return value;
	return Object.fromEntries(Object.keys(value).sort().map((key) => [key, canonical(value[key])]));
}

const shape = (value: unknown) => brief(JSON.stringify(canonical(value ?? null)));

const toolOf = (tool: any) => ({
	name: tool.name,
	description: brief(tool.description),
	parameters: shape(tool.parameters),
});

/** What the factory registers with an API that does nothing. */
async function registered(factory: any) {
	const kept: Record<string, any[]> = {};
	const keep = (list: string, value: any) => (kept[list] ??= []).push(value);
	const known: Record<string, (...args: any[]) => any> = {
		on: (event) => keep("handlers", event),
		registerTool: (tool) => keep("tools", toolOf(tool)),
		registerCommand: (name, options) => keep("commands", { name, description: brief(options?.description) }),
		registerFlag: (name, options) => keep("flags", { name, type: options?.type, default: options?.default }),
		registerShortcut: (key) => keep("shortcuts", String(key)),
		registerMessageRenderer: (type) => keep("renderers", type),
		registerProvider: (name, config) =>
			keep("providers", {
				name: typeof name === "string" ? name : name?.id,
				api: config?.api,
				models: config?.models?.map((model: any) => model.id),
				streams: typeof config?.streamSimple === "function",
				login: Boolean(config?.oauth),
			}),
	};
	const inert = { on: () => () => {}, emit: () => {} };
	const api = new Proxy({}, { get: (_, name: string) => (name === "events" ? inert : (known[name] ?? (() => undefined))) });
	if (typeof factory !== "function") return { failure: "no factory" };
	try {
		await factory(api);
	} catch (error: any) {
		kept.failure = [error?.name ?? "Error"];
	}
	return kept;
}

export default async function (pi: any) {
	const file = process.env.PROBE_FILE;
	const extension = process.env.PROBE_EXTENSION;
	if (!file || !extension) return;
	let own: any;
	try {
		const module: any = await import(extension);
		own = await registered(module.default?.default ?? module.default ?? module);
	} catch {
		own = { failure: "does not load" };
	}
	pi.on("session_start", () => {
		if (existsSync(file)) return;
		const named = (list: any[] | undefined) => list?.map((it) => ({ name: it.name, source: it.source }));
		const tools = pi.getAllTools?.().map((tool: any) => (typeof tool === "string" ? { name: tool } : toolOf(tool)));
		const says = { registered: own, tools, active: pi.getActiveTools?.(), commands: named(pi.getCommands?.()) };
		writeFileSync(file, JSON.stringify(says));
	});
}
