/** Where Citus puts a table that will be created. */
export type Placement = (OrdinaryPlacement | ColumnPlacement) & {
  /** The table must be created in sequential mode (`workSequentially`). */
  isSequential: boolean;
};

/**
 * `local`: an ordinary table at the coordinator. `schema`: Citus distributes the schema, and places the table itself when it is created.
 * `reference`: every node has a copy.
 */
export interface OrdinaryPlacement {
  kind: 'local' | 'schema' | 'reference';
}

/** The value of one column decides on which node a row is. */
export interface ColumnPlacement {
  kind: 'column';
  column: string;
  /** The number of shards; undefined: that of `colocateWith`, or the setting of the server. */
  shards: number | undefined;
  /** A table, quoted, whose rows with the same value must be on the same node; undefined: Citus chooses. */
  colocateWith: string | undefined;
}

/** Returns whether Citus keeps the rows of the table in shards. Citus accepts fewer statements for such a table. */
export function isSharded(placement: Placement | undefined): boolean {
  return placement !== undefined && placement.kind !== 'local';
}

/**
 * Returns whether each constraint of a new table must be added by its own statement, sent in its own message. This is so in every
 * database with Citus, also for an ordinary table, because its foreign key can make Citus manage the table.
 */
export function needsStatementsApart(placement: Placement | undefined): boolean {
  return placement !== undefined;
}
