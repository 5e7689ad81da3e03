// The page about all extensions: how each does here, beside the real pi.

import * as fs from "node:fs";
import { join } from "node:path";

const HEAD = `# pi's own extensions, here and under the real pi

\`cargo bless pi_extensions\` writes this page anew.

Every extension has the same conversation with the real pi of its version (once, recorded in \`expected/\`) and with this
server: a prompt, a call of bash, a call of each of its tools, each of its commands, a new session and another prompt.
What it registers is compared (tools with their parameters, commands, flags, shortcuts, handlers), and everything that is
said: responses, events, dialogs and other calls of the user interface, errors, what the model is asked, and the session
files. No pi is installed where the extensions look for one: their imports of its packages find our stand-ins.

*same*: loads, registers the same and says the same. *otherwise*: loads and registers the same, but says something else;
the reason is in the last column. What its prompts and tools say is never compared in words, but by hash.
`;

/** The words of a cell. */
function outcome(result) {
	if (!result) return "–";
	if (!result.expected) return result.loads ? "loads, not under pi" : "loads nowhere";
	if (!result.loads) return "does not load";
	if (result.registers.length > 0) return "registers otherwise";
	return result.says.length > 0 ? "otherwise" : "same";
}

/** What an extension does in RPC mode, as the real pi's show it. */
function does(recorded) {
	const says = recorded.map((it) => JSON.stringify(it.steps));
	const kinds = {
		tools: recorded.some((it) => it.probe?.registered.tools?.length > 0),
		commands: recorded.some((it) => it.probe?.registered.commands?.length > 0),
		"user interface": recorded.some((it) => it.steps.some((step) => step.ui)),
		entries: says.concat(recorded.map((it) => JSON.stringify(it.sessions))).some((text) => /"customType"|"type":"label"/.test(text)),
		instructions: recorded.some((it) => it.requests.some((request) => request.added?.length > 0)),
		flags: recorded.some((it) => it.probe?.registered.flags?.length > 0),
		providers: recorded.some((it) => it.probe?.registered.providers?.length > 0),
	};
	const found = Object.keys(kinds).filter((kind) => kinds[kind]);
	return found.join(", ") || "nothing to be seen";
}

/**
 * @param {{ results: object, expected: string, known: Record<string, string>, packages: object, versions: Record<string, string> }} of
 *   `known`: why an extension differs, by its name or by `<server>/<name>`
 */
export function page({ results, expected, known, packages, versions }) {
	const { packages: published = {}, ...examples } = results;
	const servers = Object.keys(examples);
	const read = (server, name) => {
		const file = join(expected, server, `${name.replace(/[^\w.-]+/g, "_")}.json`);
		return fs.existsSync(file) ? [JSON.parse(fs.readFileSync(file, "utf8"))] : [];
	};
	const why = (name, among) => {
		const off = among.filter((server) => results[server][name] && !["same", "loads nowhere"].includes(outcome(results[server][name])));
		const nowhere = among.filter((server) => outcome(results[server][name]) === "loads nowhere");
		const reasons = off.concat(nowhere).map((server) => known[`${server}/${name}`] ?? known[name] ?? "unexplained");
		return [...new Set(reasons)].join(" ");
	};
	const lines = [HEAD];
	lines.push(row(["", "Extensions", "Load", "Register the same", "Say the same"]), row(Array(5).fill("---")));
	for (const [server, list] of Object.entries(results)) lines.push(sums(server, Object.values(list)));

	lines.push("", "## The examples of pi", "", row(["Example", ...servers, "What it has in RPC mode", "Why not the same"]), row(Array(servers.length + 3).fill("---")));
	const names = [...new Set(servers.flatMap((server) => Object.keys(examples[server])))].sort();
	for (const name of names) {
		const recorded = servers.flatMap((server) => read(server, name));
		lines.push(row([`\`${name}\``, ...servers.map((server) => outcome(examples[server][name])), does(recorded), why(name, servers)]));
	}

	lines.push("", "## Packages of the npm registry", "", "With pi 1.5.2; downloads of a month, as they were when the packages were picked.", "");
	lines.push(row(["Package", "Version", "Downloads", "Used", "Outcome", "What it has in RPC mode", "Why not the same"]), row(Array(7).fill("---")));
	for (const [name, result] of Object.entries(published)) {
		const { downloads, steps } = packages[name];
		const used = steps.map((step) => (typeof step === "string" ? `\`${step}\`` : `\`${step.call ?? step.type ?? step.say}\``)).join(", ");
		lines.push(row([`\`${name}\``, versions[name], downloads, used, outcome(result), does(read("packages", name)), why(name, ["packages"])]));
	}
	return `${lines.join("\n")}\n`;
}

function sums(server, list) {
	const wanted = list.filter((it) => it.expected);
	const loads = wanted.filter((it) => it.loads);
	const registers = loads.filter((it) => it.registers.length === 0);
	const says = registers.filter((it) => it.says.length === 0);
	const name = server === "packages" ? "Packages, as under 1.5.2" : `Examples of ${server}`;
	return row([name, `${list.length}${list.length > wanted.length ? `, ${wanted.length} load under pi` : ""}`, loads.length, registers.length, says.length]);
}

function row(cells) {
	return `| ${cells.map((cell) => String(cell).replaceAll("|", "\\|")).join(" | ")} |`;
}
