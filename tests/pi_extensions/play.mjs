// Plays a case: a home of its own, a scripted model, a server with the extension, and what came of it in normal form.

import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import * as fs from "node:fs";
import { tmpdir } from "node:os";
import { basename, dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { normalizer } from "./normal.mjs";
import { Talk } from "./talk.mjs";

const PROBE = fileURLToPath(new URL("probe.ts", import.meta.url));
const PATH = "/usr/local/bin:/usr/bin:/bin";

/**
 * @typedef {string | { call: string, with?: object } | { say: string } | { type: string }} Step a command of the
 *   extension with its slash, a tool that the model calls, a prompt, or a command of the protocol
 * @typedef {{ steps?: Step[], options?: string[], answers?: object, model?: object[], files?: Record<string, string>,
 *   agentFiles?: Record<string, string>, env?: Record<string, string>, link?: string[], often?: string[], git?: boolean, inPlace?: boolean }} Case
 *   `link`: packages that it finds in the folder above; `often`: calls of the user interface that come as often as time passes;
 *   `inPlace`: a package that needs others beside it, and is not copied
 * @typedef {{ command: string[], env?: Record<string, string>, quietMs: number, mock: string, agentFolder: string,
 *   modules: string[] }} Server `modules`: where packages to link are
 */

/**
 * @param {Server} server
 * @param {string} extension a file or a folder; it is copied, so that nothing of the package around it is found
 * @param {Case} it
 * @param {{ do: Step, frames?: number }[]} steps with how many frames come at least
 * @param {{ usual?: Set<string>, raw?: string }} more the instructions without extensions, and where to keep what was said
 */
export async function play(server, extension, it, steps, { usual = NOTHING, raw } = {}) {
	const home = fs.realpathSync(fs.mkdtempSync(join(tmpdir(), "pi-extensions-")));
	const cwd = join(home, "work");
	const agent = join(home, server.agentFolder);
	const copy = it.inPlace ? extension : join(home, "extension", basename(extension));
	if (!it.inPlace) fs.cpSync(extension, copy, { recursive: true });
	for (const name of it.link ?? []) link(server.modules, name, join(home, "extension/node_modules"));
	const mock = await startModel(server.mock, home, script(it, steps));
	writeAll(cwd, { "notes.txt": "one\ntwo\nthree\n", ...it.files });
	writeAll(agent, { "models.json": models(mock.address), "settings.json": SETTINGS, ...it.agentFiles });
	writeAll(home, { ".profile": "", "tmp/empty": "" });
	if (it.git) repository(cwd, home);

	const env = {
		PATH, HOME: home, TMPDIR: join(home, "tmp"), LANG: "C.UTF-8", TERM: "dumb", TZ: "UTC", PI_OFFLINE: "1",
		PROBE_EXTENSION: entryOf(copy), PROBE_FILE: join(home, "probe.json"), ...server.env, ...it.env,
	};
	const command = [...server.command, "--mode", "rpc", "-e", copy, "-e", PROBE, ...(it.options ?? [])];
	const talk = new Talk({ command, env, cwd, quietMs: server.quietMs }, it.answers);
	const places = { [dirname(PROBE)]: "<probe>", [copy]: "<extension>", [agent]: "<agent>", [cwd]: "<cwd>", [home]: "<home>", [mock.address]: "<model>" };
	const normal = normalizer({ places: Object.entries(places), own: new Set(steps.map((step) => prompt(step.do))), usual });

	const says = { steps: [] };
	let since = 0;
	const taken = async (what, frames = 0) => {
		await talk.settled(() => told(talk.frames.slice(since), normal) >= frames);
		says.steps.push({ do: what, ...lanes(talk.frames.slice(since), normal, it.often ?? []) });
		since = talk.frames.length;
	};
	await talk.ask({ type: "get_state" });
	await taken("start");
	for (const step of steps) {
		if (talk.ended) break;
		await talk.ask(await protocol(step.do, talk));
		await taken(step.do, step.frames);
	}
	says.exit = await talk.end();
	await mock.end();
	const last = lanes(talk.frames.slice(since), normal, it.often ?? []);
	if (Object.keys(last).length > 0) says.steps.push({ do: "end", ...last });
	const probe = fs.existsSync(env.PROBE_FILE) ? JSON.parse(fs.readFileSync(env.PROBE_FILE, "utf8")) : undefined;
	if (probe) says.probe = unusual(probe, usual.probe);
	const asked = linesOf(mock.log).map((line) => line.body);
	says.requests = normal.requests(asked);
	says.sessions = sessions(agent, normal);
	if (raw) {
		const jsonl = (list) => list.map((one) => JSON.stringify(one)).join("\n");
		writeAll(dirname(raw), { [`${basename(raw)}.frames`]: jsonl(talk.frames), [`${basename(raw)}.requests`]: jsonl(asked), [`${basename(raw)}.stderr`]: [talk.stderr, ...talk.noise].join("\n") });
	}
	remove(home);
	return { says, stderr: talk.stderr, usual: { requests: asked[0] ? normal.usualOf(asked[0]) : NOTHING.requests, probe } };
}

/** What comes with no extension at all: nothing is known of it. */
const NOTHING = { requests: { instructions: [], tools: [] }, probe: undefined };

/** Tools and commands that are always there are not told. */
function unusual(probe, usual) {
	const known = (list, it) => list?.some((one) => JSON.stringify(one) === JSON.stringify(it));
	return {
		registered: probe.registered,
		tools: probe.tools?.filter((tool) => !known(usual?.tools, tool)),
		active: probe.active,
		commands: probe.commands?.filter((command) => !known(usual?.commands, command)),
	};
}

/** What the user says in a step, as the server has it. */
function prompt(step) {
	if (typeof step === "string") return step;
	return step.call ? `Call ${step.call} with ${JSON.stringify(step.with ?? {})}` : (step.say ?? "");
}

/** The command of a step; forks are at a prompt by its place, and switches to a session by the place of its first state. */
async function protocol(step, talk) {
	const asked = async (type) => (await talk.ask({ type }, `poll-${type}-${Date.now()}`))?.data;
	if (step.fork !== undefined) {
		const { messages = [] } = (await asked("get_fork_messages")) ?? {};
		return { type: "fork", entryId: messages[step.fork]?.entryId ?? "none" };
	}
	if (step.switch !== undefined) {
		const files = talk.frames.map((frame) => frame.data?.sessionFile).filter(Boolean);
		return { type: "switch_session", sessionPath: [...new Set(files)][step.switch] };
	}
	return step.type ? step : { type: "prompt", message: prompt(step) };
}

/** The script of the model: what the case says, then the calls of its steps. */
function script(it, steps) {
	const calls = steps.filter((step) => step.do.call).map(({ do: step }) => ({
		match: prompt(step), repeat: true, say: [{ tool: step.call, arguments: step.with ?? {} }],
	}));
	const summary = { match: "<conversation>", repeat: true, say: [{ text: "A summary." }] };
	const heard = { onResult: "", repeat: true, say: [{ text: "Heard." }] };
	return { model: { name: "Model" }, turns: [...(it.model ?? []), summary, heard, ...calls, { repeat: true, say: [{ text: "Yes." }] }] };
}

async function startModel(program, home, text) {
	const log = join(home, "requests.jsonl");
	writeAll(home, { "script.json": text });
	const words = ["mock-llm", "--lenient", "--exit-with-stdin", "--log", log, "--script", join(home, "script.json")];
	const child = spawn(program, words, { stdio: ["pipe", "pipe", "inherit"] });
	const line = await new Promise((resolve, reject) => {
		child.stdout.setEncoding("utf8").once("data", resolve);
		child.once("exit", () => reject(new Error("the scripted model does not start")));
	});
	const gone = once(child, "close");
	const end = () => {
		child.stdin.end();
		return gone;
	};
	return { address: /http:\S+/.exec(line)[0], log, end };
}

const SETTINGS = {
	defaultProvider: "mock", defaultModel: "first", defaultThinkingLevel: "off",
	compaction: { enabled: false, keepRecentTokens: 1 }, retry: { enabled: false },
};

function models(address) {
	const model = (id) => ({
		id, name: id, reasoning: true, input: ["text", "image"], contextWindow: 200_000, maxTokens: 8000,
		cost: { input: 3, output: 15, cacheRead: 0.3, cacheWrite: 3.75 },
	});
	return { providers: { mock: { baseUrl: address, apiKey: "key", api: "anthropic-messages", models: [model("first"), model("second")] } } };
}

/** How many frames are compared. */
function told(frames, normal) {
	return frames.filter((frame) => isOurs(frame) && normal.frame(frame)).length;
}

/** The polls of the harness are no part of the conversation. */
function isOurs(frame) {
	return !String(frame.id).startsWith("poll-");
}

/** The frames by what they are about; those about different things come in no certain order. */
function lanes(frames, normal, often) {
	const lanes = {};
	for (const frame of frames.filter(isOurs)) {
		const [lane, says] = normal.frame(frame) ?? [];
		if (!lane) continue;
		const list = (lanes[lane] ??= []);
		if (lane === "ui" && often.includes(says.method) && list.some((it) => it.method === says.method)) continue;
		list.push(lane === "ui" && often.includes(says.method) ? { method: says.method } : says);
	}
	return lanes;
}

/** The session files in the order in which they were begun. */
function sessions(agent, normal) {
	const folder = join(agent, "sessions");
	if (!fs.existsSync(folder)) return [];
	const files = fs.readdirSync(folder, { recursive: true }).filter((name) => name.endsWith(".jsonl"));
	return files.map((name) => linesOf(join(folder, name)))
		.sort(([a], [b]) => (String(a?.timestamp) < String(b?.timestamp) ? -1 : 1))
		.map((lines) => lines.map(normal.entry));
}

function linesOf(file) {
	if (!fs.existsSync(file)) return [];
	return fs.readFileSync(file, "utf8").split("\n").filter(Boolean).map((line) => JSON.parse(line));
}

/** A repository with one commit, by which nothing differs from run to run. */
function repository(cwd, home) {
	const who = { GIT_AUTHOR_NAME: "A", GIT_AUTHOR_EMAIL: "a@example.com", GIT_AUTHOR_DATE: "2026-01-01T00:00:00Z" };
	const same = Object.fromEntries(Object.entries(who).map(([name, value]) => [name.replace("AUTHOR", "COMMITTER"), value]));
	writeAll(home, { ".gitconfig": "[user]\n\tname = A\n\temail = a@example.com\n[init]\n\tdefaultBranch = main\n" });
	for (const words of [["init", "-q"], ["add", "-A"], ["commit", "-q", "-m", "Begin"]])
		execFileSync("git", words, { cwd, env: { PATH, HOME: home, ...who, ...same } });
}

function entryOf(path) {
	if (!fs.statSync(path).isDirectory()) return path;
	const manifest = join(path, "package.json");
	const [named] = fs.existsSync(manifest) ? (JSON.parse(fs.readFileSync(manifest, "utf8")).pi?.extensions ?? []) : [];
	if (named) return join(path, named);
	return ["index.ts", "index.js"].map((name) => join(path, name)).find(fs.existsSync) ?? path;
}

function link(folders, name, into) {
	const found = folders.map((folder) => join(folder, name)).find(fs.existsSync);
	if (!found) throw new Error(`${name} is not installed`);
	fs.mkdirSync(dirname(join(into, name)), { recursive: true });
	fs.symlinkSync(found, join(into, name));
}

/** What an extension has started on its own may still write there: then the folder stays behind, which changes no result. */
function remove(home) {
	try {
		fs.rmSync(home, { recursive: true, force: true, maxRetries: 10, retryDelay: 100 });
	} catch (error) {
		process.stderr.write(`${home} is left behind: ${error}\n`);
	}
}

function writeAll(folder, files) {
	for (const [name, what] of Object.entries(files)) {
		const file = join(folder, name);
		fs.mkdirSync(dirname(file), { recursive: true });
		fs.writeFileSync(file, typeof what === "string" ? what : JSON.stringify(what));
	}
}
