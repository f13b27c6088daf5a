/** The file to which the option `--faulty-rows-file` writes. */
import { extname } from 'node:path';
import { type Client, ProblemError } from '../client/client.ts';
import { brokenOff, intoFile, isOfFile } from './export.ts';
import { note } from './print.ts';
import { reportError } from './report-error.ts';

/** The extensions that decide the format. With another one, the file is like the one that was sent. */
const formats = ['csv', 'ndjson', 'xlsx'] as const;

/** Writes the rows with problems of the load into the file, if there is one. If this fails, prints the reason and returns false. */
export async function writeFaultyRows(
  client: Client,
  path: string | boolean | undefined,
  id: string | undefined,
): Promise<boolean> {
  if (typeof path !== 'string') return true;
  if (id === undefined) {
    note(`${path} was not written, because the service has no record of the load.`);
    return true;
  }
  const extension = extname(path).slice(1).toLowerCase();
  const format = formats.find((one) => one === extension);
  try {
    const { body, isComplete } = await client.faultyRows(id, format && { format });
    await intoFile(path, async (write) => {
      for await (const chunk of body as unknown as AsyncIterable<Uint8Array>) await write(chunk);
    }).catch((error: unknown) => {
      throw isOfFile(error) ? error : brokenOff(error);
    });
    note(
      isComplete
        ? `The rows with problems are in ${path}.`
        : `${path} does not have all rows with problems: the service stores only the first of them.`,
    );
    return true;
  } catch (error) {
    if (error instanceof ProblemError && error.code === 'no-faulty-rows') {
      note(`${path} was not written. ${error.detail}`);
      return true;
    }
    note(`The rows with problems of load ${id} could not be written into ${path}.`);
    reportError(error);
    return false;
  }
}
