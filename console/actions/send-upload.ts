/** Sends the file, or several, as the page plans it, for a check or a load. */
import type { Load, LoadedTable, LoadedTables } from '../../client/client.ts';
import { sentFile } from '../derived/file.ts';
import { countedMissing } from '../derived/missing-rows.ts';
import { uploadPlan } from '../derived/request.ts';
import { planOf } from '../derived/together.ts';
import { jsonWithMembers } from '../file/json-with-members.ts';
import type { Page } from './page.ts';

/** The record of the load, or the answer of a service that keeps no records. */
export type Sent = Load | LoadedTable | LoadedTables;

export interface UploadOptions {
  dry_run: boolean;
  signal: AbortSignal;
  idempotencyKey?: string | undefined;
  onSent: (bytes: number) => void;
}

/** @returns the record of the load, or the table from a service that keeps no records */
export async function sendUpload(page: Page, options: UploadOptions): Promise<Load | LoadedTable> {
  const { state, client } = page;
  const { content } = state.file!;
  const { kind, schema, table, query, definition, patch } = uploadPlan(state);
  const sent = {
    ...(options.dry_run && countedMissing(state)),
    ...query,
    ...heard(page, options),
    schema,
    table,
    ...sentFile(state.file!),
  };
  if (kind === 'spreadsheet') return client.enqueue({ ...sent, definition, patch });
  // As a document, lines have the row numbers that corrections need: those without blank lines.
  if (kind === 'json' && (definition ?? patch) === undefined) return client.enqueue(sent);
  const file = await jsonWithMembers(content, kind, { table: definition, patch });
  return client.enqueue({ ...sent, file, kind: 'json' });
}

/** Sends the files of a load of several tables. @returns the record of the load, or the tables from a service that keeps no records */
export function sendPlan(page: Page, options: UploadOptions): Promise<Load | LoadedTables> {
  const { togetherFiles, together } = page.state;
  if (together.is !== 'ready') throw new Error('The files are not read yet.');
  return page.client.enqueueTables({ ...planOf(togetherFiles, together.value), ...heard(page, options) });
}

/** Notes that the connection works while bytes are sent. */
function heard({ connection }: Page, { onSent, ...options }: UploadOptions): UploadOptions {
  return {
    ...options,
    onSent(bytes) {
      connection.hear();
      onSent(bytes);
    },
  };
}
