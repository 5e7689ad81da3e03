// What a server says otherwise than was expected.

/**
 * @returns {{ loads: boolean, registers: string[], says: string[] }} `registers` and `says` name what is otherwise
 */
export function differences(expected, got) {
	const loads = loaded(got);
	return {
		loads,
		expected: loaded(expected),
		registers: [
			...unlike("registered", expected.probe?.registered, got.probe?.registered),
			...unlike("tools", expected.probe?.tools, got.probe?.tools),
			...unlike("active tools", expected.probe?.active, got.probe?.active),
			...unlike("commands", expected.probe?.commands, got.probe?.commands),
		],
		says: [
			...steps(expected.steps, got.steps),
			// What does not end by itself under pi may end under others.
			...(expected.exit === "killed" ? [] : unlike("exit", expected.exit, got.exit)),
			...unlike("requests", expected.requests, got.requests),
			...unlike("sessions", expected.sessions, got.sessions),
		],
	};
}

/** The probe comes after the extension; it is told that the extension does not load. */
function loaded(says) {
	return Boolean(says.probe) && typeof says.probe.registered?.failure !== "string";
}

function steps(expected, got) {
	const found = [];
	for (let index = 0; index < Math.max(expected.length, got.length); index += 1) {
		const [wanted = {}, is = {}] = [expected[index], got[index]];
		const name = JSON.stringify(wanted.do ?? is.do);
		for (const lane of ["responses", "ui", "errors", "events"]) found.push(...unlike(`${name} ${lane}`, once(wanted[lane], is[lane]), is[lane]));
	}
	return found;
}

/**
 * From 0.73 on pi tells extensions twice that a session has started when it was changed over RPC, and what they show then
 * comes twice. Once is as good.
 */
function once(expected = [], got = []) {
	const more = expected.length - got.length;
	const isRepeated = more > 0 && more <= got.length && mixes(expected, got, got.slice(-more));
	return isRepeated ? got : expected.length > 0 ? expected : undefined;
}

/** Whether `all` is `one` and `other`, each in its order. */
function mixes(all, one, other) {
	const text = (list) => list.map((it) => JSON.stringify(it));
	const [wanted, first, second] = [text(all), text(one), text(other)];
	// How many of `first` the beginning may have used.
	let used = new Set([0]);
	for (const [index, it] of wanted.entries()) {
		const next = new Set();
		for (const count of used) {
			if (first[count] === it) next.add(count + 1);
			if (second[index - count] === it) next.add(count);
		}
		used = next;
	}
	return used.has(first.length);
}

function unlike(what, expected, got) {
	if (JSON.stringify(expected) === JSON.stringify(got)) return [];
	return [`${what}: ${first(expected, got)}`];
}

/** The first place where two values differ. */
function first(expected, got, place = "") {
	const both = [expected, got];
	const objects = both.every((it) => it !== null && typeof it === "object");
	if (!objects) return `${place || "it"} is ${short(got)} instead of ${short(expected)}`;
	const keys = [...new Set(both.flatMap(Object.keys))];
	for (const key of keys) {
		if (JSON.stringify(expected[key]) !== JSON.stringify(got[key])) return first(expected[key], got[key], `${place}/${key}`);
	}
	return `${place || "it"} has its fields in another order`;
}

function short(value) {
	const text = JSON.stringify(value) ?? "nothing";
	return text.length > 160 ? `${text.slice(0, 160)}…` : text;
}
