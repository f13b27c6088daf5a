/** `tablewright export`: writes the rows of a table into a file, or to the standard output. */
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { open, rename, rm } from 'node:fs/promises';
import { extname } from 'node:path';
import process from 'node:process';
import { ConnectionError, type ExportOptions, ProblemError } from '../client/client.ts';
import { type CommandLine, exportFormats } from './commands.ts';
import { withClient } from './connect.ts';
import { awaitEndSignal, Interrupted } from './end-signals.ts';
import { exitCodes, WrongUse } from './exit-codes.ts';
import { note } from './print.ts';
import { showProgress } from './progress.ts';

type Write = (chunk: Uint8Array) => Promise<unknown>;

export async function exportTable(line: CommandLine): Promise<number> {
  const { positionals, options } = line;
  if (positionals.length !== 1) throw new WrongUse('Name one table.');
  const [name = ''] = positionals;
  const { output, schema, columns, order, limit } = options as Record<string, string | undefined>;
  const format = formatOf(options.format, output);
  if (format === 'xlsx' && output === undefined)
    throw new WrongUse(
      'A workbook needs a file: --output orders.xlsx, or --output - for the standard output.',
    );
  const query = { format, schema, columns, order, limit } as unknown as ExportOptions;
  // The signal aborts the request, and the unfinished file is removed.
  const signal = awaitEndSignal();
  return withClient(
    line,
    async ({ client }) => {
      const rows = await client.exportRows(name, { ...query, signal });
      const progress = showProgress(name, undefined, options.quiet === true, 'received');
      let bytes = 0;
      const copy = async (write: Write): Promise<void> => {
        for await (const chunk of rows as unknown as AsyncIterable<Uint8Array>) {
          await write(chunk);
          bytes += chunk.byteLength;
          progress.sent(bytes);
        }
      };
      try {
        await (output === undefined || output === '-' ? copy(writeOut) : intoFile(output, copy));
      } catch (error) {
        if (signal.aborted) throw new Interrupted();
        throw error instanceof ProblemError || isOfFile(error) ? error : brokenOff(error);
      } finally {
        progress.stop();
      }
      if (output !== undefined && output !== '-' && !options.quiet) note(`${name} → ${output}`);
      return exitCodes.done;
    },
    true,
  );
}

function formatOf(format: string | boolean | undefined, output = ''): ExportOptions['format'] {
  const extension = extname(output).slice(1).toLowerCase();
  return (format ?? exportFormats.find((one) => one === extension) ?? 'csv') as ExportOptions['format'];
}

async function writeOut(chunk: Uint8Array): Promise<void> {
  if (!process.stdout.write(chunk)) await once(process.stdout, 'drain');
}

/** Writes a file that exists under its name only when it is complete. */
export async function intoFile(path: string, copy: (write: Write) => Promise<void>): Promise<void> {
  const part = `${path}.${randomBytes(4).toString('hex')}.part`;
  const file = await open(part, 'wx');
  try {
    await copy((chunk) => file.writeFile(chunk));
    await file.close();
    await rename(part, path);
  } catch (error) {
    await file.close().catch(() => {});
    await rm(part, { force: true });
    throw error;
  }
}

/** Returns whether the error is about the file on this machine. */
export function isOfFile(error: unknown): boolean {
  return (
    (error as NodeJS.ErrnoException).syscall !== undefined &&
    (error as NodeJS.ErrnoException).code !== 'ECONNRESET'
  );
}

export function brokenOff(cause: unknown): ConnectionError {
  const detail = `The export broke off, so the rows are not complete: ${(cause as Error).message}. The log of the service has the reason.`;
  return new ConnectionError(detail, { cause });
}
