/** Sends all rows of a file, as the service reads them, with their corrections. */
import type { FastifyReply } from 'fastify';
import { allRows } from '../../../engine/loading/faulty-rows/all-rows.ts';
import type { SentNotation } from '../../../engine/loading/faulty-rows/format-fit.ts';
import type { LoadInput } from '../../../engine/loading/inputs/load-input.ts';
import type { Lines } from '../admission/lines.ts';
import { enterLine } from '../admission/waiting-line.ts';
import { contentTypes } from './export-parameters.ts';
import { sendOrBreakOff } from './send-file.ts';

export interface RepairedFile {
  lines: Pick<Lines, 'longRows'>;
  caller: string;
  signal: AbortSignal;
  /** The name of the file that was sent, which may be empty. */
  sentName: string;
}

/** @param notation how the request reads texts; undefined: the file is NDJSON. @throws the errors of `allRows`, before the first byte of the answer */
export async function sendRepaired(
  reply: FastifyReply,
  input: LoadInput,
  notation: SentNotation | undefined,
  { lines, caller, signal, sentName }: RepairedFile,
): Promise<void> {
  let leave: (() => void) | undefined;
  const enterLongRow = async (ended: AbortSignal) => {
    leave = await enterLine(lines.longRows, { caller }, ended);
    return leave;
  };
  const bytes = await allRows(input, notation, signal, enterLongRow);
  const format = notation ? 'csv' : 'ndjson';
  reply.header('cache-control', 'no-store');
  const fileName = `${sentName.replace(/\.[^.]*$/, '') || 'rows'}-repaired.${format}`;
  try {
    await sendOrBreakOff(reply, { bytes, contentType: contentTypes[format], fileName }, signal);
  } finally {
    leave?.();
  }
}
