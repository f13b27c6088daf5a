/**
 * What the endpoints that take a spreadsheet share: its parameters, its parts, and the way from them to a source.
 */
import type { FastifyRequest } from 'fastify';
import Type, { type Static, type TObject } from 'typebox';
import { AppError, type ErrorCode } from '../errors.ts';
import { Spool } from '../sources/spool.ts';
import { openSpreadsheet } from '../sources/spreadsheet/open-spreadsheet.ts';
import type { SheetSource } from '../sources/spreadsheet/sheet-source.ts';
import type { SpreadsheetOptions } from '../sources/spreadsheet/spreadsheet-options.ts';
import type { HttpContext } from './context.ts';
import { type DefinitionLimits, parseDefinitionBody } from './definition-body.ts';
import { readSpreadsheetUpload } from './multipart.ts';
import { readBody } from './request-body.ts';
import type { AdmittedRequest } from './table-request.ts';

export const spreadsheetParameters = {
  sheet: Type.Optional(
    Type.String({ description: 'Name or 1-based number of the sheet. Default: the first visible one.' }),
  ),
  header_row: Type.Optional(
    Type.Integer({
      minimum: 1,
      description: 'The row with the column names. Default: the first that has a value.',
    }),
  ),
  range: Type.Optional(Type.String({ description: 'Only these cells, as in `B3:F200`. Default: all.' })),
  column_names: Type.String({
    enum: ['exact', 'snake_case'],
    default: 'exact',
    description: '`exact`: the header text, trimmed. `snake_case`: lower case with underscores.',
  }),
  cell_errors: Type.String({
    enum: ['fail', 'null'],
    default: 'fail',
    description:
      'What error cells (`#N/A`), formulas without a stored result and date-formatted numbers outside of the calendar become. `fail`: a problem. `null`: NULL, with a warning for each column.',
  }),
};

const spreadsheetQuery = Type.Object(spreadsheetParameters);
export type SpreadsheetQuery = Static<typeof spreadsheetQuery>;

export const filePart = Type.String({
  // OpenAPI 3.1 needs `contentMediaType` only; most generators of clients still look for 3.0's `format`.
  format: 'binary',
  contentMediaType: 'application/octet-stream',
  description:
    'An .xlsx, .xlsm, .xlsb, .xls, .ods, .csv or .tsv file. It is recognized by its content; its name does not matter.',
});

export const spreadsheetErrors: ErrorCode[] = [
  'too-many-uploads',
  'request-timeout',
  'limit-exceeded',
  'unsupported-media-type',
  'invalid-parameter',
  'invalid-multipart',
  'invalid-json',
  'invalid-definition',
  'invalid-file',
  'unsupported-file',
];

export interface OpenedSpreadsheet {
  source: SheetSource;
  /** The same file with another sheet chosen. */
  openSheet: (sheet: string) => Promise<SheetSource>;
  spool: Spool;
  /** The value of `table` in the part `body`; undefined: none. */
  definition: unknown;
}

/**
 * Receives both parts and opens the file for `use`; the file is gone afterwards, whatever happens.
 *
 * @param admitted its signal ends the opening, which may take as long as a reading
 * @param reading what of the file will be read
 */
export function withSpreadsheet<Result>(
  request: FastifyRequest,
  context: HttpContext,
  query: SpreadsheetQuery,
  { grants: { subject }, signal }: AdmittedRequest,
  reading: Pick<SpreadsheetOptions, 'allSheets'>,
  use: (opened: OpenedSpreadsheet) => Promise<Result>,
): Promise<Result> {
  return context.lines.uploads.use(subject ?? '', signal, () =>
    receiveSpreadsheet(request, context, query, signal, reading, use),
  );
}

function queryParametersOf({ routeOptions }: FastifyRequest): string[] {
  const query = routeOptions.schema?.querystring as TObject | undefined;
  return Object.keys(query?.properties ?? {});
}

async function receiveSpreadsheet<Result>(
  request: FastifyRequest,
  context: HttpContext,
  query: SpreadsheetQuery,
  signal: AbortSignal,
  reading: Pick<SpreadsheetOptions, 'allSheets'>,
  use: (opened: OpenedSpreadsheet) => Promise<Result>,
): Promise<Result> {
  const { limits } = context.config;
  const spool = new Spool({ maxBytes: limits.maxBodyBytes });
  try {
    const chunks = readBody(
      request,
      { ...limits, setting: 'MAX_BODY_BYTES', othersWait: () => context.lines.uploads.isFull },
      context.stopping,
    );
    const { body } = await readSpreadsheetUpload(
      request.headers,
      chunks,
      spool,
      limits.maxDefinitionBytes,
      queryParametersOf(request),
    );
    const definition = body && definitionOf(body, limits);
    const options = { ...optionsOf(query), ...reading };
    const open = (sheet: Pick<SpreadsheetOptions, 'sheet' | 'allSheets'>) =>
      openSpreadsheet(
        spool,
        { ...options, ...sheet },
        { ...limits, maxRatio: limits.maxUnpackRatio, readerSlots: context.readerSlots },
        signal,
      );
    const source = await open({});
    const openSheet = async (sheet: string) => source.openSheet?.(sheet) ?? open({ sheet, allSheets: false });
    return await use({ source, openSheet, spool, definition });
  } finally {
    await spool.close();
  }
}

function definitionOf(body: Buffer, limits: DefinitionLimits): unknown {
  try {
    return parseDefinitionBody(body, limits);
  } catch (error) {
    if (!(error instanceof AppError) || error.code !== 'invalid-json') throw error;
    const remedy =
      'It must be {"table": …}; with curl, a file is named after an @: -F body=@definition.json.';
    throw new AppError('invalid-json', `The part body is not JSON. ${error.detail} ${remedy}`);
  }
}

function optionsOf(query: SpreadsheetQuery): SpreadsheetOptions {
  return {
    ...(query.sheet !== undefined && { sheet: query.sheet }),
    ...(query.header_row !== undefined && { headerRow: query.header_row }),
    ...(query.range !== undefined && { range: query.range }),
    columnNames: query.column_names as SpreadsheetOptions['columnNames'],
    cellErrors: query.cell_errors === 'null' ? 'null' : 'problem',
  };
}
