/**
 * Remembers the tables that small uploads were appended to: for each table and role, all facts that such an upload needs, and a fingerprint that proves
 * them (tables/loading/table-proof.ts). The facts are used only after this proof in the same transaction, so nothing must be removed when a table changes.
 */
import type { TargetColumn } from '../../../encoding/sink/target-column.ts';
import type { TableDescription } from '../../tables/definition.ts';
import type { ExistingTable } from '../target/load-target.ts';

export interface KnownTable {
  oid: number;
  fingerprint: string;
  /** An insert into the table runs no code of other users (no triggers, functions or casts that they created). */
  runsNoCode: boolean;
  /** The role owns the table. */
  isOwned: boolean;
  /** See tables/loading/schema-version.ts. */
  schemaVersion: string;
  /** How much memory PostgreSQL keeps for the table until the connection ends (`noteKeptBytes`). */
  keptBytes: number;
  /** The table has changed since it was read, so it must be read again. */
  isStale: boolean;
  target: ExistingTable;
  /** The columns of the target with their encoders and fills. */
  targets: TargetColumn[];
  description: TableDescription;
}

/** The maximum number of columns of all known tables. A column takes about a kilobyte. */
const maxColumns = 20_000;
/** How long the facts about a table are kept, and how long it is remembered that a table is unsuitable. */
const knownMs = 600_000;
const unsuitableMs = 60_000;

interface Entry {
  /** undefined: the facts about the table cannot be proved. */
  table: KnownTable | undefined;
  columns: number;
  untilMs: number;
}

export class KnownTables {
  readonly #entries = new Map<string, Entry>();
  #columns = 0;

  /** Returns the table; undefined: it is not known; 'unsuitable': the facts about it cannot be proved. */
  get(key: string): KnownTable | 'unsuitable' | undefined {
    const entry = this.#entries.get(key);
    if (entry === undefined) return undefined;
    this.#remove(key, entry);
    if (entry.untilMs < performance.now() || entry.table?.isStale) return undefined;
    // The first entry of the map is always the one that was used least recently.
    this.#add(key, entry);
    return entry.table ?? 'unsuitable';
  }

  /** @param table undefined: the facts about it cannot be proved */
  set(key: string, table: KnownTable | undefined): void {
    const before = this.#entries.get(key);
    if (before !== undefined) this.#remove(key, before);
    const columns = table === undefined ? 1 : table.targets.length;
    this.#add(key, { table, columns, untilMs: performance.now() + (table ? knownMs : unsuitableMs) });
    for (const [oldest, entry] of this.#entries) {
      if (this.#columns <= maxColumns) break;
      this.#remove(oldest, entry);
    }
  }

  #add(key: string, entry: Entry): void {
    this.#entries.set(key, entry);
    this.#columns += entry.columns;
  }

  #remove(key: string, entry: Entry): void {
    this.#entries.delete(key);
    this.#columns -= entry.columns;
  }
}
