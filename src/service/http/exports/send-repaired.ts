/** Sends all rows of a file, as the service reads them, with their corrections. */
import type { FastifyReply } from 'fastify';
import { allRows } from '../../../engine/loading/faulty-rows/all-rows.ts';
import type { CsvNotation } from '../../../engine/loading/faulty-rows/csv-fit.ts';
import type { LoadInput } from '../../../engine/loading/inputs/load-input.ts';
import { contentTypes } from './export-parameters.ts';
import { sendOrBreakOff } from './send-file.ts';

/** @param notation how the request reads texts; undefined: the file is NDJSON. @throws the errors of `allRows`, before the first byte of the answer */
export async function sendRepaired(
  reply: FastifyReply,
  input: LoadInput,
  notation: CsvNotation | undefined,
  sentName: string,
  signal: AbortSignal,
): Promise<void> {
  const bytes = await allRows(input, notation, signal);
  const format = notation ? 'csv' : 'ndjson';
  reply.header('cache-control', 'no-store');
  const fileName = `${sentName.replace(/\.[^.]*$/, '') || 'rows'}-repaired.${format}`;
  await sendOrBreakOff(reply, { bytes, contentType: contentTypes[format], fileName }, signal);
}
