/** Sends all rows of a file, as the service reads them, with their corrections. */
import type { FastifyReply } from 'fastify';
import { allRows } from '../../../engine/loading/faulty-rows/all-rows.ts';
import type { LoadInput } from '../../../engine/loading/inputs/load-input.ts';
import { contentTypes } from './export-parameters.ts';
import { sendOrBreakOff } from './send-file.ts';

/** @throws the errors of `allRows`, before the first byte of the answer */
export async function sendRepaired(
  reply: FastifyReply,
  input: LoadInput,
  format: 'csv' | 'ndjson',
  sentName: string,
  signal: AbortSignal,
): Promise<void> {
  const bytes = await allRows(input, format, signal);
  reply.header('cache-control', 'no-store');
  const fileName = `${sentName.replace(/\.[^.]*$/, '') || 'rows'}-repaired.${format}`;
  await sendOrBreakOff(reply, { bytes, contentType: contentTypes[format], fileName }, signal);
}
