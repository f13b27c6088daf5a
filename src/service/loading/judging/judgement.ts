import type { ClientBase } from 'pg';
import type { Problems } from '../../../encoding/problems/problems.ts';
import type { RowRule } from '../staged/row-rules.ts';
import type { StagedLoad } from '../staged/staged-load.ts';
import type { LoadTarget } from '../target/load-target.ts';
import type { FaultyRows } from './faulty-rows.ts';

/** The staged rows that are judged, and what is known about them so far. */
export interface Judgement {
  client: ClientBase;
  target: LoadTarget;
  load: StagedLoad;
  /** The rules of the table. */
  rules: RowRule[];
  /** Counts the rows with problems. */
  faulty: FaultyRows;
  /** Gets the problems of these rows. */
  problems: Problems;
  /** The upload is refused if a row has a problem. So the rows need to be moved only to find problems. */
  refusesAll: boolean;
}
