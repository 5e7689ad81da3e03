// An `edit` in the place of the built-in one: its argument is one text, `path`, a line of `<<<`, what is to be replaced, a
// line of `===`, and what takes its place. Models that still write the arguments of the built-in one are understood, too.
//
// Uses pi's API as `unified-edit` of agent-stuff does; the code is our own.

import {
	type ExtensionAPI,
	generateDiffString,
	generateUnifiedPatch,
	renderDiff,
	withFileMutationQueue,
} from "@earendil-works/pi-coding-agent";
import { Container, Spacer, Text } from "@earendil-works/pi-tui";
import { access, constants, readFile, writeFile } from "node:fs/promises";
import { isAbsolute, resolve } from "node:path";

type Change = { path: string; before: string; after: string };

/** What arguments of whatever kind say, as the schema wants it. */
function prepare(given: unknown): { text: string } {
	if (typeof given === "string") return { text: given };
	const fields = (given ?? {}) as Record<string, unknown>;
	const text = [fields.text, fields.patch, fields.input].find((it) => typeof it === "string");
	if (text !== undefined) return { text: text as string };
	if (typeof fields.path === "string" && typeof fields.oldText === "string") {
		return { text: [fields.path, "<<<", fields.oldText, "===", fields.newText ?? ""].join("\n") };
	}
	return given as { text: string };
}

function parse(text: string): Change {
	const lines = text.split("\n");
	const [begin, middle] = [lines.indexOf("<<<"), lines.indexOf("===")];
	if (begin !== 1 || middle < begin) throw new Error("A path, <<<, the old lines, ===, the new lines: one of them is missing.");
	const between = (from: number, to?: number) => lines.slice(from, to).join("\n");
	return { path: lines[0], before: between(begin + 1, middle), after: between(middle + 1) };
}

export default function oneText(pi: ExtensionAPI) {
	pi.registerTool({
		name: "edit",
		label: "edit",
		description: "Replaces lines of a file. One text: the path, a line <<<, the old lines, a line ===, the new lines.",
		promptSnippet: "Replace lines of a file, by one text",
		promptGuidelines: ["Give edit as few old lines as name the place."],
		parameters: {
			type: "object",
			properties: { text: { type: "string", description: "The path, <<<, the old lines, ===, the new lines." } },
			required: ["text"],
			additionalProperties: false,
		} as any,
		renderShell: "self",
		prepareArguments: prepare,

		async execute(_id, { text }: { text: string }, signal, onUpdate, { cwd }) {
			const { path, before, after } = parse(text);
			const file = isAbsolute(path) ? path : resolve(cwd, path);
			return withFileMutationQueue(file, async () => {
				if (signal?.aborted) throw new Error("It was aborted.");
				await access(file, constants.R_OK | constants.W_OK);
				const old = await readFile(file, "utf8");
				if (old.split(before).length !== 2) throw new Error(`${path} does not have these lines once.`);
				const now = old.replace(before, () => after);
				onUpdate?.({ content: [{ type: "text", text: "Found." }], details: undefined });
				await writeFile(file, now);
				const { diff, firstChangedLine } = generateDiffString(old, now);
				const details = { diff, firstChangedLine, patch: generateUnifiedPatch(path, old, now) };
				return { content: [{ type: "text", text: `${path} is changed from line ${firstChangedLine} on.` }], details };
			});
		},

		renderCall(given, theme) {
			return new Text(theme.fg("toolTitle", `edit ${prepare(given).text?.split("\n")[0] ?? ""}`), 0, 0);
		},
		renderResult(result, _options, theme) {
			const shown = new Container();
			shown.addChild(new Text(theme.bold("edit"), 0, 0));
			shown.addChild(new Spacer(1));
			shown.addChild(new Text(renderDiff((result.details as { diff?: string })?.diff ?? ""), 0, 0));
			return shown;
		},
	});
}
