/** A load as a caller sees it. */
import type { RowCounts } from '../../engine/loading/request/row-change.ts';
import type { UsedProfile } from '../profiles/profile.ts';
import type { KeptAnswer, LoadedPart, LoadFacts } from './load-record.ts';
import type { LoadRun } from './load-run.ts';
import type { LoadState } from './load-state.ts';

export interface LoadView {
  id: string;
  state: LoadState;
  operation: LoadFacts['operation'];
  schema: string;
  table: string;
  dryRun: boolean;
  subject: string | null;
  profile: UsedProfile | null;
  fileName: string | null;
  /** undefined: they were not read. null: they are not known. */
  parameters?: Record<string, unknown> | null;
  /** The tables of the plan; null: the load has only one table. */
  parts: LoadedPart[] | null;
  bytesExpected: number | null;
  bytesReceived: number;
  rowsRead: number;
  problemsFound: number;
  /** The number of stored problems, which can be read. */
  problemsStored: number;
  /** undefined or null: the rows were not compared with those of the table, or the load has not ended. */
  changeCounts?: RowCounts | null | undefined;
  /** The oid of the table to which the changes and the keys in problems belong; undefined or null: it is not known. */
  changeTable?: number | null | undefined;
  changesStored: number;
  owner: Buffer;
  role: string | null;
  /** The number of stored rows with problems, which can be read. */
  faultyRows: number;
  cancelRequested: boolean;
  createdAt: Date;
  startedAt: Date | null;
  endedAt: Date | null;
  /** undefined: the answer was not read. null: there is none. */
  answer?: KeptAnswer | null;
}

/** Returns a load of this process as a caller sees it. */
export function viewOf(run: LoadRun): LoadView {
  const {
    process: _,
    digest: __,
    emptied: ___,
    facts,
    stored,
    changes,
    tableOid,
    ...snapshot
  } = run.snapshot();
  return {
    ...snapshot,
    ...facts,
    subject: facts.subject ?? null,
    profile: facts.profile ?? null,
    fileName: snapshot.fileName ?? null,
    parameters: facts.parameters ?? null,
    parts: facts.parts ?? null,
    bytesExpected: facts.bytesExpected ?? null,
    role: facts.role ?? null,
    problemsStored: stored?.count ?? 0,
    changeCounts: changes?.counts,
    changeTable: tableOid,
    changesStored: changes?.count ?? 0,
    faultyRows: stored?.rows ?? 0,
    cancelRequested: run.cancelled.aborted,
    startedAt: snapshot.startedAt ?? null,
    endedAt: snapshot.endedAt ?? null,
    answer: snapshot.answer ?? null,
  };
}
