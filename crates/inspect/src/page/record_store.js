// Records by their position in the filtered list. Few of them are kept; the server finds and filters.

import { get } from "./api.js";

/** @import {RecordRow, RecordPage} from "./contract" */

/** Rows that are kept; the ones that came first go first. */
const KEPT = 6000;

/** Rows of one request. */
const BATCH = 200;

/** @typedef {Record<string, string | number | undefined>} Filter */

/** Rows of the list, and how many there are. */
export class RecordStore {
  /** @param {() => void} changed Is called when rows or matches have come. */
  constructor(changed) {
    this.changed = changed;
    /** Rows by their position. @type {Map<number, RecordRow>} */
    this.rows = new Map();
    /** @type {Filter} */
    this.filter = {};
    this.isFiltered = false;
    /** Matches so far. */
    this.matches = 0;
    /** Records that exist, and how many of them were scanned for matches. */
    this.records = 0;
    this.scanned = 0;
    this.isScanning = false;
    /** @type {unknown} The latest failure, such as an invalid regular expression. */
    this.failure = undefined;
    /** Changes with each filter, so that late answers are recognised. */
    this.generation = 0;
    /** First positions of the requests that are under way. @type {Set<number>} */
    this.loading = new Set();
  }

  /** Length of the list. */
  get total() {
    return this.isFiltered ? this.matches : this.records;
  }

  /** Whether every record was scanned. */
  get isComplete() {
    return !this.isFiltered || this.scanned >= this.records;
  }

  /**
   * The record at a position of the list, if it is known.
   * @param {number} position
   */
  recordAt(position) {
    return this.isFiltered ? this.rows.get(position)?.record : position + 1;
  }

  /**
   * The position of a record; -1 if the filter leaves it out.
   * @param {number} record
   */
  async positionOf(record) {
    if (!this.isFiltered) return record - 1;
    for (const [position, row] of this.rows) if (standsFor(row, record)) return position;
    const page = await this.read({ near: record, count: BATCH });
    return page?.rows[0] && standsFor(page.rows[0], record) ? (page.position ?? -1) : -1;
  }

  /** Forgets everything. */
  reset() {
    this.setFilter(this.filter);
  }

  /**
   * Filters the list.
   * @param {Filter} filter
   */
  setFilter(filter) {
    this.generation += 1;
    this.filter = filter;
    this.isFiltered = Object.values(filter).some((value) => value !== undefined && value !== "");
    this.rows.clear();
    this.loading.clear();
    this.matches = 0;
    this.scanned = 0;
    this.failure = undefined;
    this.isScanning = false;
    this.changed();
    void this.scan();
  }

  /**
   * Takes in new records, the newest of them with their rows.
   * @param {number} records
   * @param {RecordRow[]} rows
   */
  grow(records, rows) {
    this.records = records;
    if (!this.isFiltered) for (const row of rows) this.keep(row.record - 1, row);
    void this.scan();
  }

  /** Looks for matches among the records that were not scanned. */
  async scan() {
    if (this.isScanning || this.isComplete || this.failure) return;
    const { generation } = this;
    this.isScanning = true;
    while (generation === this.generation && !this.isComplete && !this.failure) {
      const { records } = this;
      // The last row may stand for more updates by now.
      const pos = this.filter["fold"] ? Math.max(0, this.matches - 1) : this.matches;
      const page = await this.read({ pos, count: BATCH });
      if (page?.complete && generation === this.generation) this.scanned = records;
    }
    if (generation === this.generation) {
      this.isScanning = false;
      this.changed();
    }
  }

  /**
   * Reads rows that are missing.
   * @param {number} from
   * @param {number} count
   */
  async ensure(from, count) {
    let position = from;
    while (position < from + count && this.rows.has(position)) position += 1;
    if (position >= from + count || this.loading.has(position) || this.failure) return;
    const { loading } = this;
    loading.add(position);
    await this.read(this.isFiltered ? { pos: position, count: BATCH } : { from: position + 1, count: BATCH });
    loading.delete(position);
  }

  /**
   * Reads a page and keeps its rows. Returns nothing if the filter has changed meanwhile, or it failed.
   * @param {Filter} place
   * @returns {Promise<RecordPage | undefined>}
   */
  async read(place) {
    const { generation } = this;
    try {
      /** @type {RecordPage} */
      const page = await get("api/records", { ...this.filter, ...place });
      if (generation !== this.generation) return undefined;
      page.rows.forEach((row, at) => this.keep(this.isFiltered ? (page.position ?? 0) + at : row.record - 1, row));
      if (this.isFiltered) this.matches = Math.max(this.matches, page.matches ?? 0);
      this.changed();
      return page;
    } catch (failure) {
      if (generation !== this.generation) return undefined;
      this.failure = failure;
      this.changed();
      return undefined;
    }
  }

  /**
   * @param {number} position
   * @param {RecordRow} row
   */
  keep(position, row) {
    this.rows.delete(position);
    this.rows.set(position, row);
    if (this.rows.size <= KEPT) return;
    for (const oldest of this.rows.keys()) {
      this.rows.delete(oldest);
      if (this.rows.size <= KEPT - BATCH) break;
    }
  }
}

/**
 * Whether a record is shown by a row.
 * @param {RecordRow} row
 * @param {number} record
 */
function standsFor(row, record) {
  return row.record <= record && record <= (row.last ?? row.record);
}
