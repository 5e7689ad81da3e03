// Requests to the server that this page comes from. Addresses are relative: the token is in the page's own.

/** @import {Problem} from "./contract" */

/** A request that was refused, with what the server says about it. */
export class RequestError extends Error {
  /**
   * @param {string} message
   * @param {Problem[]} problems
   * @param {number} status
   */
  constructor(message, problems, status) {
    super(message);
    this.problems = problems;
    this.status = status;
  }
}

/**
 * Reads JSON.
 * @template Answer
 * @param {string} path such as `api/session`
 * @param {Record<string, string | number | boolean | undefined>} [query]
 * @returns {Promise<Answer>}
 */
export async function get(path, query = {}) {
  return (await request(withQuery(path, query), {})).json();
}

/**
 * Reads a text.
 * @param {string} path
 * @returns {Promise<string>}
 */
export async function getText(path) {
  return (await request(path, {})).text();
}

/**
 * Reads bytes.
 * @param {string} path
 * @returns {Promise<ArrayBuffer>}
 */
export async function getBytes(path) {
  return (await request(path, {})).arrayBuffer();
}

/**
 * Sends JSON and reads the answer.
 * @template Answer
 * @param {"POST" | "PUT" | "DELETE"} method
 * @param {string} path
 * @param {unknown} [body]
 * @returns {Promise<Answer>}
 */
export async function send(method, path, body) {
  const headers = { "content-type": "application/json" };
  const answer = await request(path, { method, headers, body: body === undefined ? null : JSON.stringify(body) });
  const text = await answer.text();
  return JSON.parse(text === "" ? "null" : text);
}

/**
 * @param {string} path
 * @param {Record<string, string | number | boolean | undefined>} query
 */
export function withQuery(path, query) {
  const given = Object.entries(query).filter(([, value]) => value !== undefined && value !== "" && value !== false);
  if (given.length === 0) return path;
  const pairs = given.map(([key, value]) => [key, value === true ? "1" : String(value)]);
  return `${path}?${new URLSearchParams(pairs)}`;
}

/**
 * @param {string} path
 * @param {RequestInit} options
 */
async function request(path, options) {
  const answer = await fetch(path, { cache: "no-store", ...options });
  if (answer.ok) return answer;
  const text = await answer.text();
  let message = text.slice(0, 500) || `${path}: status ${answer.status}`;
  /** @type {Problem[]} */
  let problems = [];
  try {
    const failure = JSON.parse(text);
    message = String(failure.error ?? message);
    problems = Array.isArray(failure.problems) ? failure.problems : [];
  } catch {
    // The body is no JSON: it is shown as it is.
  }
  throw new RequestError(message, problems, answer.status);
}
