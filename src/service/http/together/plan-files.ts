/** Receives the files of a plan, and opens the rows of its tables. */
import { randomUUID } from 'node:crypto';
import { wrongParameter } from '../../../core/errors.ts';
import type { LoadInput } from '../../../engine/loading/inputs/load-input.ts';
import { readText } from '../../../engine/loading/inputs/read-text.ts';
import { renameColumns } from '../../../engine/loading/inputs/rename-columns.ts';
import { spreadsheetInput } from '../../../engine/loading/inputs/spreadsheet-input.ts';
import { patchCells } from '../../../engine/loading/patch/patch-cells.ts';
import { Spool } from '../../../readers/spool.ts';
import type { HttpContext } from '../context.ts';
import type { Upload, UploadBody } from '../uploads/admit-upload.ts';
import { endOfForm, headOfPart } from '../uploads/complete-form.ts';
import { emptyCellsOf, isSheetChosen, withOpenedFile } from '../uploads/spreadsheet.ts';
import { linkOf, partError, readForm } from '../wire/multipart.ts';
import { maxPlanBytes, type PlannedPart } from './plan.ts';

/** The name of the part with the plan. It is the first one of the form. */
export const planPart = 'plan';

/** The received files of a plan. The caller must close them. */
export interface PlanFiles {
  /** The contents of the files, by the names of their parts. */
  spools: Map<string, Spool>;
  /** The names of the files on the client's machine, by the names of their parts. */
  names: Map<string, string>;
  password: string | undefined;
  close(): Promise<void>;
}

/** Writes the files of a form into the spool folder, one after the other. */
interface FormFiles {
  /** Begins a file, when the one before has ended. */
  open(name: string, sentName: string): Pick<Spool, 'write'>;
}

/**
 * Receives the files, and fetches those of links. A link is a field of the form, like the part `source` of an upload.
 *
 * @param plan the text of the plan, for the digest
 * @throws AppError `invalid-multipart`, `limit-exceeded`, `invalid-parameter` (a file is missing, unknown or sent twice); the errors of `body.fetch`
 */
export async function receiveFiles(
  { config: { limits } }: HttpContext,
  body: UploadBody,
  chunks: AsyncGenerator<Buffer>,
  plan: Buffer,
  { parts, signal }: { parts: PlannedPart[]; signal: AbortSignal },
): Promise<PlanFiles> {
  const spools = new Map<string, Spool>();
  const names = new Map<string, string>();
  const close = async (): Promise<void> => {
    for (const spool of spools.values()) await spool.close();
  };
  const open = (name: string, sentName: string): Spool => {
    const spool = spools.get(name) ?? new Spool({ maxBytes: limits.maxBodyBytes });
    spools.set(name, spool);
    names.set(name, sentName);
    return spool;
  };
  try {
    const password = await readFiles(body, chunks, plan, { parts, signal }, { open });
    return { spools, names, password, close };
  } catch (error) {
    await close();
    throw error;
  }
}

/**
 * Returns the form with the files of its links, for an asynchronous load (see complete-form.ts). The digest of the request has the links.
 *
 * @throws when it is read: the errors of `receiveFiles`
 */
export function completePlan(
  body: UploadBody,
  chunks: AsyncGenerator<Buffer>,
  plan: Buffer,
  planned: { parts: PlannedPart[]; signal: AbortSignal },
): Pick<UploadBody, 'headers' | 'chunks' | 'digest'> {
  const boundary = `tablewright-${randomUUID()}`;
  const headers = { ...body.headers, 'content-type': `multipart/form-data; boundary=${boundary}` };
  async function* form(): AsyncGenerator<Buffer> {
    const { readable, writable } = new TransformStream<Buffer, Buffer>();
    const writer = writable.getWriter();
    const open = (name: string, sentName: string) => {
      writer.write(headOfPart(boundary, name, sentName)).catch(() => {});
      return writer;
    };
    const write = async (): Promise<void> => {
      await open(planPart, planPart).write(plan);
      const password = await readFiles(body, chunks, plan, planned, { open });
      if (password !== undefined) await open('password', 'password').write(Buffer.from(password));
      await writer.write(endOfForm(boundary));
      await writer.close();
    };
    write().catch((error) => writer.abort(error));
    yield* readable;
  }
  return { headers, chunks: form, digest: undefined };
}

/** Reads the parts of the form, and writes its files. Those of links come after the others. @returns the password */
async function readFiles(
  body: UploadBody,
  chunks: AsyncGenerator<Buffer>,
  plan: Buffer,
  { parts, signal }: { parts: PlannedPart[]; signal: AbortSignal },
  { open }: FormFiles,
): Promise<string | undefined> {
  const { digest } = body;
  const wanted = new Set(parts.map(({ file }) => file));
  const reserved = [planPart, 'password'].find((name) => wanted.has(name));
  if (reserved !== undefined)
    throw wrongParameter('plan', `A file of the plan cannot be named "${reserved}".`);
  const { parts: sent, password } = await readForm(body, chunks, {
    maxPartBytes: maxPlanBytes,
    maxParts: wanted.size + 2,
    names: [planPart, 'password', ...wanted],
    isFile: (name) => wanted.has(name),
    openFile: open,
    mayLink: true,
  });
  for (const name of wanted) {
    const source = sent.get(name);
    if (!sent.has(name))
      throw partError(name, 'missing-part', `The file "${name}" of the plan is missing in the form.`);
    if (source === undefined) continue;
    const link = linkOf(name, source);
    digest?.addToPart(name, source);
    const fetched = await body.fetch?.(link, signal);
    const file = open(name, fetched?.name ?? '');
    for await (const chunk of fetched?.chunks ?? []) await file.write(chunk);
  }
  digest?.addToPart(planPart, plan);
  digest?.endOfParts();
  return password;
}

/**
 * Returns a function that opens the rows of one table for `use`. The file stays open, because other tables may use it.
 *
 * @param areSheetsChosen several tables use the file, so there is no warning about its other sheets
 */
export function withRowsOf(
  context: HttpContext,
  { caller, signal, body }: Pick<Upload, 'caller' | 'signal' | 'body'>,
  { spools, names, password }: PlanFiles,
  { file, query, choices, options, patch }: PlannedPart,
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
      const corrected = patch.length === 0 ? sheet : patchCells(sheet, () => patch);
      const renamed = renameColumns(emptyCellsOf(query, corrected), choices.columns.rename);
      return use(readText(renamed, choices.textReading));
    });
}
