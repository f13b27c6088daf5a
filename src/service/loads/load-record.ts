/** The data of a load that the service stores in the table of loads. */
import type { ErrorCode } from '../../core/errors.ts';
import type { UsedProfile } from '../profiles/profile.ts';
import type { LoadState } from './load-state.ts';
import type { StoredChanges } from './stored-changes.ts';

/** A table into which a load writes. */
export interface LoadedInto {
  schema: string;
  table: string;
}

/** A table of a load of several tables. */
export interface LoadedPart extends LoadedInto {
  /** The name of its file, without folders; undefined: none was sent, or it has not arrived. */
  file?: string | undefined;
  /** The sheet of the file, as the plan names it. */
  sheet?: string | undefined;
  /** The file in the zip file, as the plan names it. */
  fileInZip?: string | undefined;
  /** The oid of the existing table; undefined: the load has not opened it, or makes a new one. */
  oid?: number | undefined;
}

/** What is known of a load when it begins. */
export interface LoadFacts extends LoadedInto {
  operation: 'upload-json' | 'upload-excel' | 'load-tables';
  /** All tables of the plan, in its order, if the load has several; `schema` and `table` are those of the first one. */
  parts?: LoadedPart[] | undefined;
  dryRun: boolean;
  /** Identifies the caller. Most tokens may see only the loads of their own caller. */
  owner: Buffer;
  /** The subject of the token, as people read it. */
  subject: string | undefined;
  /** The PostgreSQL role; undefined: the service's own. */
  role: string | undefined;
  /** The length of the body; undefined: it is not known. */
  bytesExpected: number | undefined;
  /** The parameters of the request, with those of its profile. Absent for a load from the queue, whose record has them already. */
  parameters?: Record<string, unknown>;
  /** The profile whose parameters the load has; undefined: none. */
  profile?: UsedProfile | undefined;
}

/** Returns the tables into which a load writes. */
export function tablesOf({
  schema,
  table,
  parts,
}: Pick<LoadFacts, 'schema' | 'table' | 'parts'>): LoadedInto[] {
  return parts ?? [{ schema, table }];
}

/** The answer to a request, as it is stored. */
export interface KeptAnswer {
  status: number;
  /** The headers that describe the body or belong to the operation. */
  headers: Record<string, string>;
  body: Buffer;
  /** The error code; undefined: there was no error. It is not stored separately, because the body contains it. */
  code?: ErrorCode;
}

/** The values for the row in the table of loads, as the process that runs the load knows them. */
export interface LoadSnapshot {
  id: string;
  /** The run was taken from the queue. */
  isTaken: boolean;
  state: LoadState;
  facts: LoadFacts;
  process: string;
  bytesReceived: number;
  rowsRead: number;
  problemsFound: number;
  createdAt: Date;
  startedAt: Date | undefined;
  endedAt: Date | undefined;
  answer: KeptAnswer | undefined;
  /** The number and the length of the problems and of the faulty rows that are stored with the row; undefined: none. */
  stored:
    | { count: number; bytes: number; rows: number | undefined; rowBytes: number | undefined }
    | undefined;
  /** The oid of the table of the load, to which its stored values belong; undefined: it has not been opened or created, or the load has several. */
  tableOid: number | undefined;
  /** The oids of the tables that the load has emptied (`if_exists=truncate`), if it is committed; undefined: none. */
  emptied: (number | undefined)[] | undefined;
  /** The changes that are stored with the row; undefined: the rows were not compared with those of the table. */
  changes: Omit<StoredChanges, 'pages'> | undefined;
  /** The name of the file, without folders; undefined: none was sent, or it has not arrived. */
  fileName: string | undefined;
  /** The digest of the file, if the load is committed. */
  digest: Buffer | undefined;
}

/** Longer bodies of answers are not stored. */
export const maxKeptAnswerBytes = 1024 * 1024;
