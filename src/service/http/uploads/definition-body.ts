/**
 * Reads `table` from the JSON body of Create Table, and from the part `body` of a spreadsheet upload.
 */
import type { FastifyRequest } from 'fastify';
import { AppError } from '../../../core/errors.ts';
import { pauseForOthers } from '../../../core/pause-for-others.ts';
import type { LimitsConfig } from '../../../core/settings/config.ts';
import { readDefinition } from '../../../engine/loading/inputs/read-definition.ts';
import { JsonUploadScanner } from '../../../readers/json/json-upload-scanner.ts';
import { holdBody } from '../admission/held-body.ts';
import type { AdmittedRequest } from '../admission/table-request.ts';
import type { HttpContext } from '../context.ts';
import { readBody } from '../wire/request-body.ts';

/**
 * Reads the whole body of a create.
 *
 * @throws AppError `limit-exceeded`, `request-timeout`; the errors of `holdBody`
 */
export async function readDefinitionText(
  request: FastifyRequest,
  context: Pick<HttpContext, 'config' | 'lines'>,
  admitted: Pick<AdmittedRequest, 'caller' | 'signal' | 'cancel'>,
  maxBodyBytes = context.config.limits.maxDefinitionBytes,
): Promise<Buffer> {
  const { config, lines } = context;
  const othersWait = () => lines.bodies.isFull;
  const limits = { ...config.limits, maxBodyBytes, setting: 'MAX_DEFINITION_BYTES', othersWait } as const;
  const body = readBody(request, limits, admitted.signal);
  const chunks: Buffer[] = [];
  try {
    await holdBody(context, admitted, async () => {
      const { value, done } = await body.next();
      if (done) return undefined;
      chunks.push(value);
      return value.length;
    });
  } finally {
    await body.return(undefined);
  }
  return Buffer.concat(chunks);
}

/**
 * Returns the value of `table` in the body of Create Table.
 *
 * @throws AppError `invalid-json` with the byte offset, `invalid-definition` if `table` is missing or the body has other members
 */
export async function requireDefinition(text: Buffer, limits: LimitsConfig): Promise<unknown> {
  const table = await parseDefinitionBody(text, limits);
  if (table === undefined) throw missingTable();
  return table;
}

/**
 * Parses a small body.
 *
 * @param form an example for the message
 * @throws AppError `invalid-json`
 */
export function parseSmallJson(text: Buffer, form: string): unknown {
  try {
    return JSON.parse(text.toString());
  } catch {
    throw new AppError('invalid-json', `The body is not JSON. Send ${form}.`);
  }
}

/** Returns the value of `table` in a JSON text `{"table": …}`; undefined: there is none. It works in turns. */
export async function parseDefinitionBody(text: Buffer, limits: LimitsConfig): Promise<unknown> {
  const bounds = {
    maxDepth: limits.maxJsonDepth,
    maxTableBytes: limits.maxDefinitionBytes,
    maxColumns: 0,
    maxCellBytes: 0,
    maxRowBytes: 0,
  };
  const scanner = new JsonUploadScanner(bounds, 'definition');
  await asDefinitionError(() => scanInTurns(text, scanner));
  return scanner.table === undefined ? undefined : readDefinition(scanner.table);
}

/** How much of a text is scanned in about a millisecond. */
const sliceBytes = 64 * 1024;

/** Scans a whole text. @throws the errors of the scanner */
export async function scanInTurns(
  text: Buffer,
  scanner: Pick<JsonUploadScanner, 'write' | 'end'>,
): Promise<void> {
  for (let start = 0; start < text.length; start += sliceBytes) {
    if (start > 0) await pauseForOthers();
    scanner.write(text, start, Math.min(start + sliceBytes, text.length));
  }
  scanner.end();
}

function missingTable(): AppError {
  const detail = 'The body must be {"table": {"columns": […]}}; `table` is missing.';
  return new AppError('invalid-definition', detail, {
    errors: [{ pointer: '/table', code: 'missing', detail }],
  });
}

/** Turns an `invalid-data` error of the upload scanner into `invalid-definition`, because the text is a definition here. */
async function asDefinitionError(scan: () => Promise<void>): Promise<void> {
  try {
    await scan();
  } catch (error) {
    if (!(error instanceof AppError) || error.code !== 'invalid-data') throw error;
    throw new AppError('invalid-definition', error.detail, { errors: error.errors ?? [] });
  }
}
