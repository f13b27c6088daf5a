import type { ClientBase } from 'pg';
import type { Problems } from '../../../encoding/problems/problems.ts';
import type { RowRule } from '../../tables/rules/row-rules.ts';
import type { StagedLoad } from '../staged/staged-load.ts';
import type { LoadTarget } from '../target/load-target.ts';
import type { FaultyRows } from './faulty-rows.ts';

/** The staged rows that are checked for problems, and what is known about them so far. */
export interface Judgement {
  client: ClientBase;
  target: LoadTarget;
  load: StagedLoad;
  /** The rules of the table. */
  rules: RowRule[];
  /** Counts the rows with problems. */
  faulty: FaultyRows;
  /** Collects the problems of these rows. */
  problems: Problems;
  /** The upload is refused if any row has a problem (`faulty_rows=fail`), so rows are moved only to find more problems. */
  refusesAll: boolean;
}
