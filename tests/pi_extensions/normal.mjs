// The normal form of what a server says: what two servers say alike is the same text in it.
//
// Ids, times, paths and usage are masked. Prose is somebody else's: it is kept as a short hash, so that a difference is
// seen and nothing is copied; names, and the texts of our own cases, stay as they are.

import { createHash } from "node:crypto";

/** Fields that differ from run to run, or are told elsewhere. */
const PASSED_OVER = new Set([
	"id", "toolCallId", "timestamp", "usage", "cost", "responseId", "api", "createdAt", "startedAt", "endedAt",
	"updatedAt", "startTime", "endTime", "duration", "durationMs", "elapsed", "thinkingSignature", "textSignature", "parentId",
	"firstKeptEntryId", "tokensBefore", "responseModel", "cwd", "pid", "mtime", "version", "savedAt", "leafId", "fromId",
	"sha256", "estimatedTokensAfter", "diagnostics", "rateLimit", "ts", "targetId", "fetchCache", "stdoutFile", "stderrFile",
]);

const NAME = /^[\w@:./<>+=-]{0,48}$/;

export const brief = (text) => createHash("sha1").update(text).digest("hex").slice(0, 8);

/**
 * @param {{ places: [string, string][], own: Set<string>, usual: object }} world folders and what stands for them, longest
 *   first; the texts of the case; what there is without extensions
 */
export function normalizer({ places, own, usual }) {
	const masked = (text) => {
		let out = text;
		for (const [place, name] of places) out = out.split(place).join(name);
		return out
			.replace(/\x1b\[[0-9;]*m/g, "")
			.replace(/\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b/g, "<uuid>")
			.replace(/\d{4}-\d\d-\d\dT\d\d[:-]\d\d[:-]\d\d[.-]\d+Z/g, "<time>")
			.replace(/\d{4}-\d\d-\d\d/g, "<day>")
			.replace(/\b\d{1,2}:\d\d(:\d\d)?( ?[AP]M)?\b/g, "<clock>")
			.replace(/\bpi-extensions-\w{6}\b/g, "<home>")
			.replace(/\bproc_[0-9a-f]{4}\b/g, "<process>")
			.replace(/\bpid \d+/gi, "<pid>")
			.replace(/\btoolu_\w+/g, "<call>")
			.replace(/\b(?=\w*\d)[0-9a-f]{8}\b/g, "<entry>")
			.replace(/\b\d{13}\b/g, "<ms>");
	};
	const text = (value) => {
		const plain = masked(value);
		return own.has(value) || NAME.test(plain) ? plain : `#${brief(plain)}`;
	};
	const value = (it) => {
		if (typeof it === "string") return text(it);
		if (typeof it === "number") return it > 1e11 ? "<ms>" : it;
		if (Array.isArray(it)) return it.map(value);
		if (it === null || typeof it !== "object") return it;
		const kept = Object.entries(it).filter(([key, inner]) => !PASSED_OVER.has(key) && inner !== undefined);
		return Object.fromEntries(kept.sort(([a], [b]) => (a < b ? -1 : 1)).map(([key, inner]) => [text(key), value(inner)]));
	};
	const content = (blocks) => {
		if (typeof blocks === "string") return text(blocks);
		return (blocks ?? []).map((block) => {
			if (block.type === "text") return text(block.text ?? "");
			if (block.type === "toolCall" || block.type === "tool_use")
				return { call: block.name, with: value(block.arguments ?? block.input) };
			if (block.type === "tool_result") return { result: content(block.content), isError: Boolean(block.is_error) };
			return block.type;
		});
	};
	const message = (it) => {
		const { role } = it;
		if (role === "assistant")
			return { role, says: content(it.content), stopReason: it.stopReason, error: it.errorMessage && text(it.errorMessage) };
		if (role === "toolResult")
			return { role, tool: it.toolName, says: content(it.content), isError: it.isError, details: value(it.details) };
		if (role === "system") return { role, sections: Object.keys(it.sections ?? {}), tools: it.toolsAdded?.map((tool) => tool.name) };
		if (role === "user") return { role, says: content(it.content) };
		const { content: said, ...rest } = it;
		return { ...value(rest), says: said === undefined ? undefined : content(said) };
	};
	const always = new Set(usual.probe?.commands?.map((it) => it.name));
	const roles = (list) => (list ?? []).map((it) => it.role);
	const response = (frame) => {
		const says = { command: frame.command, success: frame.success };
		if (frame.error !== undefined) says.error = text(String(frame.error));
		const { data } = frame;
		if (frame.command === "get_state" && data)
			says.data = value({
				model: data.model?.id, level: data.thinkingLevel, messages: data.messageCount,
				pending: data.pendingMessageCount, sessionName: data.sessionName,
			});
		else if (frame.command === "get_commands" && data)
			says.data = (data.commands ?? []).filter((it) => !always.has(it.name)).map((it) => `${it.source}:${it.name}`).sort();
		else if (data !== undefined && data !== null) says.data = value(data);
		return says;
	};

	/** The lane of a frame and what it says there; `undefined`: nothing that is compared. */
	const frame = (it) => {
		switch (it.type) {
			case "response":
				return ["responses", response(it)];
			case "extension_ui_request": {
				const { type, id, ...rest } = it;
				return ["ui", value(rest)];
			}
			case "extension_error":
				return ["errors", { path: text(it.extensionPath ?? ""), event: it.event, error: text(String(it.error)) }];
			case "message_update":
			case "tool_execution_update":
			case "ready":
				return undefined;
			case "message_start":
				return ["events", `${it.type} ${it.message?.role}`];
			case "message_end":
				return ["events", { ended: message(it.message ?? {}) }];
			case "tool_execution_start":
				return ["events", { type: it.type, tool: it.toolName, args: value(it.args) }];
			case "tool_execution_end":
				return ["events", `${it.type} ${it.toolName} ${it.isError ? "failed" : "fine"}`];
			case "turn_end":
				return ["events", `${it.type} ${it.toolResults?.length}`];
			case "agent_end":
				return ["events", `${it.type} ${roles(it.messages).join(" ")}`];
			default:
				return ["events", Object.keys(it).length > 1 ? value(it) : it.type];
		}
	};

	/** An entry of a session file. */
	const entry = (it) => {
		if (it.type === "session") return { type: it.type, parent: it.parentSession ? "<file>" : undefined };
		if (it.type === "message") return `${it.message?.role}${it.message?.customType ? ` ${it.message.customType}` : ""}`;
		const { content: said, ...rest } = it;
		return { ...value(rest), says: said === undefined ? undefined : content(said) };
	};

	/** What the requests to the model say, each beyond what those before it said. */
	const requests = (bodies) => {
		let before = {};
		return bodies.map((body) => {
			// What asks for a summary is in everybody's own words.
			const instructions = body.tools ? systemLines(body).map(masked) : usual.requests.instructions;
			const now = {
				model: body.model,
				tools: (body.tools ?? []).map(toolOf).map((tool) => (usual.requests.tools.includes(tool) ? tool.split(" ")[0] : tool)),
				added: instructions.filter((line) => !usual.requests.instructions.includes(line)).map((line) => `#${brief(line)}`),
				messages: (body.messages ?? []).map((it) => ({ role: it.role, says: content(it.content) })),
			};
			const says = {};
			for (const key of ["model", "tools", "added"]) if (!same(now[key], before[key])) says[key] = now[key];
			const { messages } = now;
			const kept = messages.findIndex((it, index) => !same(it, before.messages?.[index]));
			says.after = kept < 0 ? messages.length : kept;
			says.messages = messages.slice(says.after);
			before = now;
			return says;
		});
	};
	const toolOf = (tool) => `${tool.name} ${brief(JSON.stringify(value(tool.input_schema ?? {})))}`;
	const usualOf = (body) => ({ instructions: systemLines(body).map(masked), tools: (body.tools ?? []).map(toolOf) });

	return { frame, entry, requests, usualOf };
}

const same = (a, b) => JSON.stringify(a) === JSON.stringify(b);

/** The instructions of a request, line by line. */
function systemLines(body) {
	const { system } = body;
	const all = typeof system === "string" ? system : (system ?? []).map((block) => block.text ?? "").join("\n");
	return all.split("\n").filter((line) => line.trim() !== "");
}
