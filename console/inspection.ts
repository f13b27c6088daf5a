/** What the service has found in a file, as the page keeps it. */
import type { Problem } from '../client/client.ts';
import type { Warning } from './failure.ts';

/** The result of an inspection in one form for spreadsheets and JSON. */
export interface Inspection {
  sheets: {
    name: string;
    isHidden: boolean;
    rows: number;
    columns: number;
    problem: string | undefined;
    /** The size of the table with a header that the service has found in the sheet. */
    table: { rows: number; columns: number } | undefined;
  }[];
  sheet: string;
  headerRow: number | undefined;
  headerRows: number;
  range: string | undefined;
  proposals: { headerRow: number | undefined; headerRows: number; range: string; reasons: string[] }[];
  names: { name: string; sheet: string; range: string }[];
  arrays: { rowsAt: string; rows: number }[];
  rowsAt: string | undefined;
  header: string[];
  types: string[];
  counts: { letters: string | undefined; values: number; empty: number }[];
  rows: (string | null)[][];
  rowNumbers: number[] | undefined;
  rowCount: number;
  errors: Problem[];
  errorCount: number;
  warnings: Warning[];
}

export interface TopRows {
  sheet: string;
  letters: string[];
  rows: (string | null)[][];
  rowNumbers: number[];
}
