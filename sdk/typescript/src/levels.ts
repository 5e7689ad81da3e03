import type { LevelTables } from "./tables.js";
import { isObject, valueAt } from "./values.js";

/** Thinking levels of models, as far as known. */
export class Levels {
  readonly #tables: LevelTables;

  constructor(tables: LevelTables) {
    this.#tables = tables;
  }

  /**
   * Level that results from a requested one; `wanted` undefined: from the current one, which the model may not support.
   * Null: none is set. Undefined: unknown.
   */
  clamp(wanted: unknown, level: unknown, model: unknown, list: unknown): unknown {
    if (wanted === undefined || wanted === null) {
      // In dialects in which each model has a level of its own, the result is unknown.
      if (this.#tables.followsModel || level === undefined) return undefined;
      wanted = level;
    }
    if (valueAt(model, ["reasoning"]) === false) return this.#tables.withoutThinking;
    if (wanted === null) return isObject(model) ? null : undefined;
    const levels = Array.isArray(list) ? { certain: list as string[], possible: [] } : this.#of(model);
    return levels === undefined ? undefined : this.#nearest(String(wanted), levels);
  }

  /** Levels that a model certainly supports, and those that it may support. */
  #of(model: unknown): { readonly certain: readonly string[]; readonly possible: readonly string[] } | undefined {
    if (!isObject(model)) return undefined;
    const { all, extra } = this.#tables;
    const { thinking, thinkingLevelMap: map } = model;
    if (isObject(thinking)) {
      const [least, most] = [thinking["minLevel"], thinking["maxLevel"]].map((level) => all.indexOf(String(level)));
      const within = all.filter((level, place) => level === "off" || (place >= (least ?? 0) && place <= (most ?? -1)));
      const isCertain = (level: string): boolean => level === "off" || [least, most].includes(all.indexOf(level));
      return { certain: within.filter(isCertain), possible: within.filter((level) => !isCertain(level)) };
    }
    if (!isObject(map)) return { certain: [], possible: all };
    const takes = (level: string): boolean => (level in map ? map[level] !== null : !extra.includes(level));
    return { certain: all.filter(takes), possible: [] };
  }

  /** The level itself, else the next higher, else the next lower; undefined if several are possible. */
  #nearest(wanted: string, { certain, possible }: { readonly certain: readonly string[]; readonly possible: readonly string[] }): unknown {
    const { all } = this.#tables;
    const place = (level: string): number => all.indexOf(level);
    const order = [...all.slice(place(wanted)), ...all.slice(0, place(wanted)).reverse()];
    const first = order.find((level) => certain.includes(level) || possible.includes(level));
    return first !== undefined && certain.includes(first) ? first : undefined;
  }
}
