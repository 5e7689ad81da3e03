// One conversation with a server that speaks pi's RPC mode, as a host application has it.

import { spawn } from "node:child_process";
import { once } from "node:events";

const TOO_LONG_MS = 45_000 * Number(process.env.PI_RPC_SLOWNESS ?? 1);

/** @typedef {{ command: string[], env: Record<string, string>, cwd: string, quietMs: number }} How */

export class Talk {
	/** Every frame that came, in order. */
	frames = [];
	/** Lines that are no frames. */
	noise = [];
	stderr = "";
	ended = false;
	#asked = 0;
	#wakers = new Set();
	#answers;

	/** @param {How} how; `answers` say what dialogs are answered with, by their method. */
	constructor(how, answers = {}) {
		this.how = how;
		this.#answers = structuredClone(answers);
		const [program, ...words] = how.command;
		this.child = spawn(program, words, { cwd: how.cwd, env: how.env, stdio: ["pipe", "pipe", "pipe"] });
		this.child.stdin.on("error", () => {});
		this.child.stderr.on("data", (data) => (this.stderr += data));
		let rest = "";
		this.child.stdout.setEncoding("utf8").on("data", (data) => {
			const lines = (rest + data).split("\n");
			rest = lines.pop();
			for (const line of lines) this.#hear(line);
		});
		this.gone = once(this.child, "close").then(([code]) => {
			this.ended = true;
			this.#wake();
			return code;
		});
	}

	/** Sends a command; gives its response, `undefined` if the server ends or takes too long. */
	async ask(command, id = `q${(this.#asked += 1)}`) {
		this.#send({ id, ...command });
		return this.#until(() => this.frames.find((frame) => frame.type === "response" && frame.id === id));
	}

	/** Until nothing goes on and nothing more comes; `enough`: what has come is all that is to come. */
	async settled(enough = () => true) {
		const begun = Date.now();
		for (let poll = 0; !this.ended && Date.now() - begun < TOO_LONG_MS; poll += 1) {
			const seen = this.frames.length;
			await this.#quiet();
			const state = (await this.ask({ type: "get_state" }, `poll-${poll}-${begun}`))?.data;
			const idle = state && !state.isStreaming && !state.isCompacting && !state.pendingMessageCount;
			const still = this.frames.slice(seen).every((frame) => String(frame.id).startsWith("poll-"));
			if (idle && still && (enough() || Date.now() - begun > 4_000)) return true;
		}
		return false;
	}

	/** Closes the server's input; its exit code, `"killed"` where it does not end. */
	async end() {
		this.child.stdin.end();
		let timer;
		const late = new Promise((resolve) => (timer = setTimeout(resolve, TOO_LONG_MS, "killed")));
		const code = await Promise.race([this.gone, late]);
		clearTimeout(timer);
		if (code === "killed") {
			this.child.kill("SIGKILL");
			await this.gone;
		}
		return code;
	}

	#send(frame) {
		if (!this.ended) this.child.stdin.write(`${JSON.stringify(frame)}\n`);
	}

	#hear(line) {
		if (line === "") return;
		let frame;
		try {
			frame = JSON.parse(line);
		} catch {
			this.noise.push(line);
			return;
		}
		this.frames.push(frame);
		if (frame.type === "extension_ui_request") this.#answer(frame);
		this.#wake();
	}

	/** What a case says of a method; else the first choice, yes, and a text. */
	#answer({ id, method, options, prefill }) {
		const usual = {
			select: () => ({ value: options?.[0] }),
			confirm: () => ({ confirmed: true }),
			input: () => ({ value: "typed in" }),
			editor: () => ({ value: `${prefill ?? ""} edited` }),
		};
		if (!usual[method]) return;
		const told = this.#answers[method];
		const answer = Array.isArray(told) ? told.shift() : told;
		if (!answer?.never) this.#send({ type: "extension_ui_response", id, ...(answer ?? usual[method]()) });
	}

	#wake() {
		for (const waker of this.#wakers) waker();
	}

	async #until(found) {
		const begun = Date.now();
		for (;;) {
			const it = found();
			const left = TOO_LONG_MS - (Date.now() - begun);
			if (it || this.ended || left <= 0) return it;
			await this.#changes(left);
		}
	}

	async #quiet() {
		for (;;) {
			const seen = this.frames.length;
			await this.#changes(this.how.quietMs);
			if (this.ended || this.frames.length === seen) return;
		}
	}

	/** Until something comes, at most that long. */
	#changes(ms) {
		return new Promise((resolve) => {
			const done = () => {
				clearTimeout(timer);
				this.#wakers.delete(done);
				resolve();
			};
			const timer = setTimeout(done, ms);
			this.#wakers.add(done);
		});
	}
}
