/** `GET /api/v1/loads/{id}/faulty-rows`: the rows with problems of a load as they were sent, as a file with the reasons. */
import type { FastifyInstance } from 'fastify';
import Type from 'typebox';
import { AppError } from '../../../core/errors.ts';
import { amountInWords } from '../../../core/limit-exceeded.ts';
import { rowsFileFormats } from '../../../engine/loading/faulty-rows/format-fit.ts';
import { formatOfRows, rowsFile } from '../../../engine/loading/faulty-rows/rows-file.ts';
import type { SentTable } from '../../../engine/loading/faulty-rows/sent-rows.ts';
import { keptRowLimits } from '../../../engine/loading/faulty-rows/wanted-rows.ts';
import type { LoadView } from '../../loads/load-view.ts';
import { LoadPath } from '../answers/load-answers.ts';
import { admitListRequest } from '../answers/load-lists.ts';
import type { HttpContext } from '../context.ts';
import { acceptedFormat, contentTypes, xlsxType } from '../exports/export-parameters.ts';
import { sendOrBreakOff } from '../exports/send-file.ts';
import { operation, problemResponses, tokenErrors } from '../openapi/openapi.ts';
import { choice, queryParser } from '../query.ts';

const Query = Type.Object({
  format: Type.Optional(
    choice(rowsFileFormats, {
      description:
        'The format of the file. Without it `Accept` decides, or else the file is like the one that was sent: CSV for text files, NDJSON for JSON, and a workbook for all others.',
    }),
  ),
});

const completeHeader = 'faulty-rows-complete';

const documentation = {
  ...operation('loads', 'readFaultyRows'),
  description: `Sends the rows with problems of a load that was refused, of a dry run, or of a load that left out rows, as a file: all columns as they were sent, and the reasons in the column \`_problem\`, which uploads leave out. In a workbook the cells with problems are filled. Repair the file and send it again. Only the issuer and the subject that sent the upload may read it. At most ${amountInWords(keptRowLimits.rows, 'rows')} and ${amountInWords(keptRowLimits.bytes, 'bytes')} of each load are stored.`,
  params: LoadPath,
  querystring: Query,
  response: {
    200: {
      description: `A file of the type \`text/csv\`, \`application/x-ndjson\` or \`${xlsxType}\`.`,
      headers: {
        'Content-Disposition': {
          type: 'string',
          description: 'The name of the file. It ends with `-incomplete` if more rows have problems.',
        },
        'Faulty-Rows-Complete': {
          type: 'string',
          enum: ['true', 'false'],
          description: '`false`: more rows have problems than the file has.',
        },
      },
      // Client generators make one type for each answer, so the other files are described in words.
      content: { 'text/csv': { schema: { type: 'string' } } },
    },
    ...problemResponses(
      ...tokenErrors,
      'invalid-parameter',
      'load-not-found',
      'no-faulty-rows',
      'limit-exceeded',
      'database-busy',
      'not-enabled',
    ),
  },
};

export function faultyRowsRoute(app: FastifyInstance, context: HttpContext): void {
  const parseQuery = queryParser(Query);
  app.get('/api/v1/loads/:id/faulty-rows', { schema: documentation }, async (request, reply) => {
    const query = parseQuery(request.query);
    const { loads, view, inLine, signal } = await admitListRequest(request, reply, context, true);
    const readPiece = (number: number) => inLine(() => loads.reader.readPiece(view.id, number));
    const first = view.faultyRows === 0 ? undefined : await readPiece(0);
    if (first === undefined) throw noFaultyRows(view);
    const table = JSON.parse(first.toString()) as SentTable;
    const accepted = acceptedFormat(request.headers.accept);
    const format = query.format ?? (accepted === 'json' ? undefined : accepted) ?? formatOfRows(table);
    reply.headers({ 'cache-control': 'no-store', [completeHeader]: String(table.isComplete) });
    const fileName = `${view.table}-faulty-rows${table.isComplete ? '' : '-incomplete'}.${format}`;
    const bytes = rowsFile(table, piecesFrom(readPiece, table.pieces), format);
    await sendOrBreakOff(reply, { bytes, contentType: contentTypes[format], fileName }, signal);
  });
}

/** Yields the pieces after the first one. @throws AppError `no-faulty-rows` if the rows are removed meanwhile */
async function* piecesFrom(
  readPiece: (number: number) => Promise<Buffer | undefined>,
  pieces: number,
): AsyncGenerator<Buffer> {
  for (let number = 1; number <= pieces; number++) {
    const piece = await readPiece(number);
    if (piece === undefined) throw removed();
    yield piece;
  }
}

function noFaultyRows(view: LoadView): AppError {
  if (view.endedAt === null)
    return new AppError('no-faulty-rows', 'The load has not ended, so its faulty rows are not known yet.');
  if (view.problemsFound === 0) return new AppError('no-faulty-rows', 'No row of the load has a problem.');
  return removed();
}

function removed(): AppError {
  const detail =
    'No faulty rows of this load are stored. Its problems concern the whole upload and not single rows, or its body was not kept (a long JSON body for a new table without keys: send it with dry_run=true or faulty_rows=leave_out), or newer loads have taken their place.';
  return new AppError('no-faulty-rows', detail);
}
