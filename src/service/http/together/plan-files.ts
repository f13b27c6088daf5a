/** Receives the files of a plan, and opens the rows of its tables. */
import { wrongParameter } from '../../../core/errors.ts';
import { Spool } from '../../../readers/spool.ts';
import type { LoadInput } from '../../loading/inputs/load-input.ts';
import { readText } from '../../loading/inputs/read-text.ts';
import { renameColumns } from '../../loading/inputs/rename-columns.ts';
import { spreadsheetInput } from '../../loading/inputs/spreadsheet-input.ts';
import type { HttpContext } from '../context.ts';
import { emptyCellsOf } from '../routes/upload-excel.ts';
import type { Upload, UploadBody } from '../uploads/admit-upload.ts';
import { isSheetChosen, withOpenedFile } from '../uploads/spreadsheet.ts';
import { partError, readForm } from '../wire/multipart.ts';
import { maxPlanBytes, type PlannedPart } from './plan.ts';

/** The name of the part with the plan. It is the first one of the form. */
export const planPart = 'plan';

/** The files of a plan, which must be closed. */
export interface PlanFiles {
  spools: Map<string, Spool>;
  /** The name of each file as the client says it. */
  names: Map<string, string>;
  password: string | undefined;
  close(): Promise<void>;
}

/**
 * Receives the files.
 *
 * @param plan the text of the plan, for the digest
 * @throws AppError `invalid-multipart`, `limit-exceeded`, `invalid-parameter` (a file is missing, unknown or sent twice)
 */
export async function receiveFiles(
  { config: { limits } }: HttpContext,
  body: UploadBody,
  chunks: AsyncGenerator<Buffer>,
  plan: Buffer,
  parts: PlannedPart[],
): Promise<PlanFiles> {
  const wanted = new Set(parts.map(({ file }) => file));
  const reserved = [planPart, 'password'].find((name) => wanted.has(name));
  if (reserved !== undefined)
    throw wrongParameter('plan', `A file of the plan cannot be named "${reserved}".`);
  const spools = new Map<string, Spool>();
  const names = new Map<string, string>();
  const close = async (): Promise<void> => {
    for (const spool of spools.values()) await spool.close();
  };
  try {
    const { password } = await readForm(body, chunks, {
      maxPartBytes: maxPlanBytes,
      maxParts: wanted.size + 2,
      names: [planPart, 'password', ...wanted],
      openFile: (name, sentName) => {
        if (!wanted.has(name)) return undefined;
        const spool = spools.get(name) ?? new Spool({ maxBytes: limits.maxBodyBytes });
        spools.set(name, spool);
        names.set(name, sentName);
        return spool;
      },
    });
    const missing = [...wanted].find((name) => !spools.has(name));
    if (missing !== undefined)
      throw partError(missing, 'missing-part', `The file "${missing}" of the plan is missing in the form.`);
    body.digest?.addToPart(planPart, plan);
    body.digest?.endOfParts();
    return { spools, names, password, close };
  } catch (error) {
    await close();
    throw error;
  }
}

/** Opens the rows of one table for `use`. The file stays, because other tables may use it. */
export function withRowsOf(
  context: HttpContext,
  { caller, signal, body }: Pick<Upload, 'caller' | 'signal' | 'body'>,
  { spools, names, password }: PlanFiles,
  { file, query, choices, options }: PlannedPart,
  areSheetsChosen: boolean,
): <Rows>(definition: unknown, use: (input: LoadInput) => Promise<Rows>) => Promise<Rows> {
  const sent = spools.get(file)!;
  const all = [...spools.values()].reduce((sum, { size }) => sum + size, 0);
  // The body may have been packed, so each file counts as its share of the bytes that the client sent.
  const sentBytes = Math.ceil((body.bytesReceived() * sent.size) / Math.max(all, 1));
  const received = { sent, sentBytes, fileInZip: query.file_in_zip, password, isKept: true };
  return (definition, use) =>
    withOpenedFile(context, received, options, { caller, signal }, (opened) => {
      const isChosen = areSheetsChosen || isSheetChosen(query);
      const sheet = spreadsheetInput({ ...opened, fileName: names.get(file) }, definition, isChosen);
      const renamed = renameColumns(emptyCellsOf(query, sheet), choices.columns.rename);
      return use(readText(renamed, choices.textReading));
    });
}
