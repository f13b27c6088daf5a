/** Sends the file as the page plans it, for a check or a load. */
import type { Load, LoadedTable } from '../../client/client.ts';
import { sentFile } from '../derived/file.ts';
import { countedMissing } from '../derived/missing-rows.ts';
import { uploadPlan } from '../derived/request.ts';
import { jsonWithMembers } from '../file/json-with-members.ts';
import type { Page } from './page.ts';

interface UploadOptions {
  dry_run: boolean;
  signal: AbortSignal;
  idempotencyKey?: string | undefined;
  onSent: (bytes: number) => void;
}

/** @returns the record of the load, or the table from a service that keeps no records */
export async function sendUpload(
  { state, client, connection }: Page,
  { onSent, ...options }: UploadOptions,
): Promise<Load | LoadedTable> {
  const { content } = state.file!;
  const { kind, schema, table, query, definition, patch } = uploadPlan(state);
  const sent = {
    ...(options.dry_run && countedMissing(state)),
    ...query,
    ...options,
    onSent(bytes: number) {
      connection.hear();
      onSent(bytes);
    },
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
