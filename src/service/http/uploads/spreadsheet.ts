/**
 * The parts that all endpoints for spreadsheets share, and the function that opens the file.
 */
import Type from 'typebox';
import { QUOTE } from '../../../core/bytes/ascii.ts';
import { AppError, type ErrorCode, wrongParameter } from '../../../core/errors.ts';
import type { LimitsConfig } from '../../../core/settings/config.ts';
import { readEmptyCellsAsNull } from '../../../engine/loading/inputs/empty-cells.ts';
import type { LoadInput } from '../../../engine/loading/inputs/load-input.ts';
import { parsePatch } from '../../../engine/loading/patch/cell-patch.ts';
import { patchCells } from '../../../engine/loading/patch/patch-cells.ts';
import { optionalText } from '../../../engine/tables/name-schemas.ts';
import { encodingOf, usualEncodings } from '../../../readers/bytes/text-encoding.ts';
import { Spool } from '../../../readers/spool.ts';
import { maxPasswordLength } from '../../../readers/spreadsheet/encryption/passwords.ts';
import { openSpreadsheet, supportedExtensions } from '../../../readers/spreadsheet/open-spreadsheet.ts';
import { unpackFile } from '../../../readers/spreadsheet/packed/unpack-file.ts';
import type { SheetSource } from '../../../readers/spreadsheet/sheet-source.ts';
import type { SpreadsheetOptions, TextDialect } from '../../../readers/spreadsheet/spreadsheet-options.ts';
import { maxLinkLength } from '../../fetching/fetch-file.ts';
import type { HttpContext } from '../context.ts';
import { type FetchLink, readSpreadsheetUpload } from '../wire/multipart.ts';
import type { UploadBody } from './admit-upload.ts';
import { namesIn } from './column-parameters.ts';
import { parseDefinitionBody } from './definition-body.ts';
import type { QueryOn } from './parameters.ts';

type SpreadsheetQuery = QueryOn<'inspect-excel'>;

export const filePart = Type.String({
  // OpenAPI 3.1 needs only `contentMediaType`. `format` is that of OpenAPI 3.0, which most client generators still use.
  format: 'binary',
  contentMediaType: 'application/octet-stream',
  description: `A spreadsheet or a text file (${supportedExtensions}). It is required unless \`source\` is sent. It is recognized by its content; its name matters only for \`provenance\`. It may be packed (.gz, .zst, .br, .zip).`,
});

export const sourcePart = Type.Object(
  { from_url: Type.String({ format: 'uri', maxLength: maxLinkLength }) },
  {
    additionalProperties: false,
    description:
      'Instead of `file`, the link of a file that the service fetches: an https URL without user name and password, such as a presigned one. It needs the scope `load:from-url`. Answers, records and logs show only its host and the name of the file.',
  },
);

export const passwordPart = Type.String({
  description:
    'The password of an encrypted workbook: .xlsx, .xlsm and .xlsb with agile or standard encryption, .xls with RC4. It has no effect on other files. Send it before `file`. The service does not record it.',
  // With this `format`, forms hide what a person types.
  format: 'password',
  maxLength: maxPasswordLength,
});

/** The corrections of an upload, in a form and in a JSON body. */
export const PatchSchema = Type.Array(
  Type.Object(
    {
      row: Type.Optional(
        Type.Integer({
          minimum: 1,
          description: 'The number of the data row, as `errors` name it. It needs `column`.',
        }),
      ),
      cell: optionalText('Instead of `row`, the address of the cell: `B4` or `Orders!B4`.'),
      column: optionalText('The header or the key.'),
      value: Type.Unknown({ description: 'A text, a number, true, false or null.' }),
    },
    { title: 'Correction' },
  ),
  {
    maxItems: 10_000,
    description:
      'Corrections of cells, at most 1 MiB. Each replaces the value of its cell before anything else is done, and is read as if it stood in the file. `load.corrected` lists them.',
  },
);

export const spreadsheetErrors: ErrorCode[] = [
  'too-many-uploads',
  'request-timeout',
  'limit-exceeded',
  'unsupported-media-type',
  'invalid-parameter',
  'invalid-multipart',
  'invalid-json',
  'invalid-content-encoding',
  'invalid-definition',
  'invalid-file',
  'unsupported-file',
  'password-required',
  'wrong-password',
  'link-refused',
  'link-failed',
];

export interface OpenedSpreadsheet {
  source: SheetSource;
  /** Opens the same file with another sheet. */
  openSheet: (sheet: string) => Promise<SheetSource>;
  spool: Spool;
  /** The name of the file that was sent, without folders; empty: none was sent. */
  fileName: string;
  /** The name of the file in the zip file that was sent; undefined: no zip file was sent. */
  fileInZip: string | undefined;
  /** The value of `table` in the part `body`; undefined: none. */
  definition: unknown;
  /** The JSON text of the part `patch`; undefined: none. */
  patch: Buffer | undefined;
}

/** A request with a spreadsheet. */
export interface SpreadsheetRequest {
  query: SpreadsheetQuery;
  body: UploadBody;
  /** The key of the token's subject. */
  caller: string;
  /** Also ends the opening of the file, which may take as long as reading it. */
  signal: AbortSignal;
}

/** Reads the parts of a repeated request, only to compute its digest. */
export async function readSpreadsheetParts(
  { config: { limits } }: HttpContext,
  body: UploadBody,
  signal: AbortSignal,
): Promise<void> {
  const spool = new Spool({ maxBytes: limits.maxBodyBytes });
  try {
    const fetchNothing = async () => undefined;
    await readSpreadsheetUpload(body, body.chunks(signal), spool, limits.maxDefinitionBytes, fetchNothing);
  } finally {
    await spool.close();
  }
}

/** Checks the parameters for the sheet. @throws AppError `invalid-parameter` */
export function checkSpreadsheetQuery(query: SpreadsheetQuery): void {
  optionsOf(query);
}

/**
 * Receives the parts of the form and opens the file for `use`. The file is always removed afterwards.
 *
 * @param reading the part of the file that will be read
 */
export async function withSpreadsheet<Result>(
  context: HttpContext,
  { query, body, caller, signal }: SpreadsheetRequest,
  reading: Pick<SpreadsheetOptions, 'allSheets' | 'isOutlined'>,
  use: (opened: OpenedSpreadsheet) => Promise<Result>,
): Promise<Result> {
  const { limits } = context.config;
  // The parameters are checked before the body is read, so that an invalid one is refused early.
  const options = { ...optionsOf(query), ...reading };
  const sent = new Spool({ maxBytes: limits.maxBodyBytes });
  try {
    const { maxDefinitionBytes } = limits;
    const fetch: FetchLink | undefined = body.fetch && ((link) => body.fetch!(link, signal));
    const parts = await readSpreadsheetUpload(body, body.chunks(signal), sent, maxDefinitionBytes, fetch);
    const definition = parts.body && (await definitionOf(parts.body, limits));
    const sentBytes = body.bytesReceived();
    const { password, fileName, patch } = parts;
    const file = { sent, sentBytes, fileInZip: query.file_in_zip, password, isKept: false };
    return await withOpenedFile(context, file, options, { caller, signal }, (opened) =>
      use({ ...opened, definition, patch, fileName }),
    );
  } finally {
    await sent.close();
  }
}

/** A file that was received. */
export interface ReceivedFile {
  sent: Spool;
  /** The bytes that the client sent for the file. */
  sentBytes: number;
  /** The file of a zip file that the caller asks for. */
  fileInZip: string | undefined;
  password: string | undefined;
  /** The file is needed again, so it is not closed as soon as it is unpacked. */
  isKept: boolean;
}

/** Opens a received file for `use`. What it is unpacked into is always removed afterwards. */
export async function withOpenedFile<Result>(
  { config: { limits }, memoryBudget }: HttpContext,
  { sent, sentBytes, fileInZip, password, isKept }: ReceivedFile,
  options: SpreadsheetOptions,
  { caller, signal }: Pick<SpreadsheetRequest, 'caller' | 'signal'>,
  use: (opened: Omit<OpenedSpreadsheet, 'definition' | 'patch' | 'fileName'>) => Promise<Result>,
): Promise<Result> {
  let spool = sent;
  const memory = memoryBudget.forFile(caller);
  try {
    const resources = { ...limits, maxRatio: limits.maxUnpackRatio, memory };
    const unpacked = await unpackFile(sent, fileInZip, { ...resources, sentBytes }, signal);
    spool = unpacked.spool;
    if (spool !== sent && !isKept) await sent.close();
    // The parts of a workbook are packed once more.
    resources.maxRatio = Math.ceil(resources.maxRatio * Math.min(1, sentBytes / spool.size));
    const opening = password === undefined ? {} : { password };
    const open = (wanted: SpreadsheetOptions) =>
      openSpreadsheet(spool, { ...wanted, ...opening }, resources, signal);
    const source = await open(options);
    // `table_range` and a proposed header belong to one sheet, so they are not used for other sheets.
    const { tableRange: _, headerRow, ...others } = options;
    const ofOtherSheets = {
      ...others,
      ...(headerRow !== undefined && headerRow !== 'auto' && { headerRow }),
    };
    const openSheet = async (sheet: string) =>
      source.openSheet(sheet) ?? open({ ...ofOtherSheets, sheet, allSheets: false });
    return await use({ source, openSheet, ...unpacked });
  } finally {
    memory.close();
    if (spool !== sent) await spool.close();
  }
}

async function definitionOf(body: Buffer, limits: LimitsConfig): Promise<unknown> {
  try {
    return await parseDefinitionBody(body, limits);
  } catch (error) {
    if (!(error instanceof AppError) || error.code !== 'invalid-json') throw error;
    const remedy =
      'It must be {"table": …}; with curl, a file is named after an @: -F body=@definition.json.';
    throw new AppError('invalid-json', `The part body is not JSON. ${error.detail} ${remedy}`);
  }
}

export function optionsOf(query: SpreadsheetQuery): SpreadsheetOptions {
  return {
    ...(query.sheet !== undefined && { sheet: query.sheet }),
    ...(query.header_row !== undefined && { headerRow: query.header_row }),
    headerRows: query.header_rows,
    ...(query.range !== undefined && { range: query.range }),
    ...(query.table_range !== undefined && { tableRange: query.table_range }),
    hidden: query.hidden,
    footer: query.footer,
    ...fillDownOf(query),
    hasHeader: query.header,
    ...textDialectOf(query),
    trim: query.trim,
    columnNames: query.column_names,
    cellErrors: query.cell_errors === 'null' ? 'null' : 'problem',
  };
}

/** The most columns that are filled. Each may make a short row of the file much longer. */
const maxFilledColumns = 10;

function fillDownOf({ fill_down }: SpreadsheetQuery): Pick<SpreadsheetOptions, 'fillDown'> {
  const fillDown = namesIn('fill_down', fill_down);
  if (fillDown === undefined) return {};
  if (fillDown.length > maxFilledColumns)
    throw wrongParameter('fill_down', `fill_down names at most ${maxFilledColumns} columns.`);
  return { fillDown };
}

/** Returns the input with its empty cells read as `empty_cells` says. */
export function emptyCellsOf(query: { empty_cells: string }, input: LoadInput): LoadInput {
  return query.empty_cells === 'null' ? readEmptyCellsAsNull(input) : input;
}

/** Returns the input with the corrections of the part `patch`. @throws the errors of `parsePatch` */
export function withCorrections(input: LoadInput, patch: Buffer | undefined): LoadInput {
  if (patch === undefined) return input;
  const corrections = parsePatch(patch);
  return patchCells(input, () => corrections);
}

/** Returns whether the request says which sheet is read. */
export function isSheetChosen({ sheet, table_range }: SpreadsheetQuery): boolean {
  return sheet !== undefined || table_range !== undefined;
}

/**
 * Returns how a text file is read.
 *
 * @throws AppError `invalid-parameter`
 */
function textDialectOf(query: SpreadsheetQuery): Pick<SpreadsheetOptions, 'text'> {
  const { delimiter, quote, quotes, escape: escapeSign, encoding, comment, quoted } = query;
  const text: TextDialect = {
    // COPY writes these signs, and a value that begins and ends with ' is no field in quotes.
    ...(quoted === 'exact' && { quote: QUOTE, escape: 0 }),
    ...(delimiter !== undefined && { delimiter: signOf('delimiter', delimiter) }),
    ...(quote !== undefined && { quote: quote === 'none' ? 0 : quote.charCodeAt(0) }),
    ...(quotes === 'strict' && { quotes }),
    ...(escapeSign !== undefined && { escape: escapeSign === 'none' ? 0 : escapeSign.charCodeAt(0) }),
    ...(encoding !== undefined && { encoding: namedEncoding(encoding) }),
    ...(comment !== undefined && { comment: signOf('comment', comment) }),
    ...(quoted !== 'any' && quoted !== undefined && { quoted }),
  };
  return Object.keys(text).length > 0 ? { text } : {};
}

function namedEncoding(label: string): string {
  const encoding = encodingOf(label);
  if (encoding !== undefined) return encoding;
  throw wrongParameter(
    'encoding',
    `encoding must be a label of the WHATWG Encoding Standard, such as ${usualEncodings.join(', ')}.`,
    { value: label.slice(0, 100) },
  );
}

const namedSigns: Record<string, string> = { tab: '\t', space: ' ' };

function signOf(parameter: string, text: string): number {
  const sign = namedSigns[text] ?? text;
  if (!/^[\t\x20-\x7e]$/.test(sign) || /[A-Za-z0-9"']/.test(sign)) {
    throw wrongParameter(
      parameter,
      `${parameter} must be one ASCII character that is not a letter, digit or quote, or \`tab\` or \`space\`.`,
      { value: text.slice(0, 100) },
    );
  }
  return sign.charCodeAt(0);
}
