// Plays extensions with servers, several at once. Reads what to do as JSON from its input:
//
// { "record": true: what is said is kept as expected; else it is compared with that,
//   "expected": a folder, "raw": a folder for what was said as it was said, "jobs": how many at once, "results": a file,
//   "page": a file for the page about all of them,
//   "servers": [{ "name", "extensions": a folder, "cases": a file with them, … as play.mjs wants it }], "only": names, if not all }

import * as fs from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { differences } from "./compare.mjs";
import { play } from "./play.mjs";
import { page } from "./table.mjs";

const here = (name) => fileURLToPath(new URL(name, import.meta.url));
const plan = JSON.parse(fs.readFileSync(0, "utf8"));

/** With a skill, so that what is said of skills in general is known, too: everybody says it in own words. */
const NOTHING = { agentFiles: { "skills/nothing/SKILL.md": "---\nname: nothing\ndescription: Nothing.\n---\nNothing.\n" } };

const results = {};
const jobs = plan.servers.flatMap(jobsOf);
await Promise.all(Array.from({ length: plan.jobs }, work));
for (const [name, list] of Object.entries(results)) results[name] = sorted(list);
if (plan.results) fs.writeFileSync(plan.results, JSON.stringify(results, null, "\t"));
if (plan.page) fs.writeFileSync(plan.page, page({ ...plan, results, known: read("known.json"), packages: read("packages.json"), versions: read("packages/package.json").dependencies }));

/** The lists come in the order in which the conversations end. */
function sorted(list) {
	return Object.fromEntries(Object.entries(list).sort(([a], [b]) => (a < b ? -1 : 1)));
}

function read(name) {
	return JSON.parse(fs.readFileSync(here(name), "utf8"));
}

async function work() {
	for (let job = jobs.shift(); job; job = jobs.shift()) await job();
}

/** What is to be done with a server; what there is without extensions is looked up once. */
function jobsOf(server) {
	results[server.name] = {};
	const cases = read(server.cases);
	const wanted = names(server, cases).filter((name) => plan.only?.includes(name) ?? true);
	const usual = once(async () => (await play(server, here("nothing.ts"), NOTHING, conversation({}))).usual);
	return wanted.map((name) => async () => {
		const task = { server, name, it: cases[name] ?? {}, usual: await usual() };
		results[server.name][name] = await (plan.record ? record : compare)(task);
	});
}

function once(make) {
	let made;
	return () => (made ??= make());
}

/** The examples there are, and the further cases of some: `<example>?<what is different>`; or all packages, or all counterparts. */
function names(server, cases) {
	if (server.cases !== "cases.json") return Object.keys(cases);
	const examples = fs.readdirSync(server.extensions).filter((name) => name !== "README.md");
	const more = Object.keys(cases).filter((name) => name.includes("?") && examples.includes(fileOf(name)));
	return [...examples, ...more].sort();
}

function fileOf(name) {
	return name.split("?")[0];
}

/** What is done with every extension, and what the case adds. */
function conversation(it) {
	const before = [{ type: "get_commands" }, { say: "Hello" }, { call: "bash", with: { command: "echo hi" } }];
	const after = [{ type: "new_session" }, { say: "Hello again" }];
	return [...before, ...(it.steps ?? []), ...after].map((what) => ({ do: what }));
}

function places({ server, name, it }) {
	const file = name.replace(/[^\w.-]+/g, "_");
	return {
		extension: join(server.extensions, fileOf(name), it.entry ?? ""),
		expected: join(plan.expected, server.name, `${file}.json`),
		raw: plan.raw && join(plan.raw, server.name, file),
	};
}

async function record(task) {
	const { extension, expected, raw } = places(task);
	const { says } = await play(task.server, extension, task.it, conversation(task.it), { usual: task.usual, raw });
	fs.mkdirSync(join(plan.expected, task.server.name), { recursive: true });
	fs.writeFileSync(expected, pretty(says));
	process.stderr.write(`${task.server.name} ${task.name}: ${says.steps.length} steps, exit ${says.exit}\n`);
	return {};
}

async function compare(task) {
	const { extension, expected, raw } = places(task);
	const wanted = JSON.parse(fs.readFileSync(expected, "utf8"));
	const steps = conversation(task.it).map((step, index) => ({ ...step, frames: frames(wanted.steps[index + 1]) }));
	const { says } = await play(task.server, extension, task.it, steps, { usual: task.usual, raw });
	if (raw) fs.writeFileSync(`${raw}.says`, pretty(says));
	return differences(wanted, says);
}

function frames(step) {
	if (!step) return 0;
	return ["responses", "ui", "events", "errors"].reduce((sum, lane) => sum + (step[lane]?.length ?? 0), 0);
}

/** JSON with a line for every step and every request. */
function pretty(says) {
	const list = (items) => `[\n${items.map((it) => `\t${JSON.stringify(it)}`).join(",\n")}\n]`;
	const parts = Object.entries(says).map(([key, value]) => {
		const text = Array.isArray(value) && value.length > 0 ? list(value) : JSON.stringify(value);
		return `"${key}": ${text}`;
	});
	return `{\n${parts.join(",\n")}\n}\n`;
}
