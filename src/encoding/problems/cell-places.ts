import type { LocateCell } from '../../core/cells/cell-sink.ts';

/** Finds the place of a problem from the number of its data row. */
export interface CellPlaces {
  locate: LocateCell;
  /** Returns the column of the data that goes into this column of the table; -1: there is none. */
  sourceColumn: (name: string) => number;
}
