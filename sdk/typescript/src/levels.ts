import type { LevelTables } from "./tables.js";
import { isObject, valueAt } from "./values.js";

/** The thinking levels of models, as far as models tell them. */
export class Levels {
  readonly #tables: LevelTables;

  constructor(tables: LevelTables) {
    this.#tables = tables;
  }

  /**
   * What a level becomes that was asked for; `wanted` undefined: the one that is set, which the model may not take. Null: none
   * is set. Undefined: that is not known.
   */
  clamp(wanted: unknown, level: unknown, model: unknown, list: unknown): unknown {
    if (wanted === undefined || wanted === null) {
      // Where each model brings a level of its own, that is not known.
      if (this.#tables.followsModel || level === undefined) return undefined;
      wanted = level;
    }
    if (valueAt(model, ["reasoning"]) === false) return this.#tables.withoutThinking;
    if (wanted === null) return isObject(model) ? null : undefined;
    const levels = Array.isArray(list) ? { certain: list as string[], possible: [] } : this.#of(model);
    return levels === undefined ? undefined : this.#nearest(String(wanted), levels);
  }

  /** The levels that a model takes for certain, and those that it may take. */
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

  /** The level itself, else the next higher, else the next lower; undefined where more than one may be. */
  #nearest(wanted: string, { certain, possible }: { readonly certain: readonly string[]; readonly possible: readonly string[] }): unknown {
    const { all } = this.#tables;
    const place = (level: string): number => all.indexOf(level);
    const order = [...all.slice(place(wanted)), ...all.slice(0, place(wanted)).reverse()];
    const first = order.find((level) => certain.includes(level) || possible.includes(level));
    return first !== undefined && certain.includes(first) ? first : undefined;
  }
}
