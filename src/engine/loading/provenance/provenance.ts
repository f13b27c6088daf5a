/** What the columns that say where a row came from can contain (`provenance`). */

/** For each choice: the type of its column. */
export const originTypes = {
  load_id: 'uuid',
  loaded_at: 'timestamp with time zone',
  source_file: 'text',
  source_sheet: 'text',
  source_row: 'bigint',
} as const;

export type Origin = keyof typeof originTypes;

/** The name of the column for each choice that the request makes, in its order. */
export type OriginColumns = ReadonlyMap<Origin, string>;

export interface Provenance {
  columns: OriginColumns;
  loadId: string;
  loadedAt: Date;
}

export function isOrigin(name: string): name is Origin {
  return Object.hasOwn(originTypes, name);
}

export function originNames(provenance: Provenance | undefined): string[] {
  return [...(provenance?.columns.values() ?? [])];
}

/** Returns the columns as a new table gets them. */
export function columnsToMake(provenance: Provenance | undefined): { name: string; type: string }[] {
  return [...(provenance?.columns ?? [])].map(([origin, name]) => ({ name, type: originTypes[origin] }));
}
