/** The rows with problems of a check or a load: saving them as a file, and loading the repaired file. */

import { type RepairFormat, repairedReading, repairedTarget } from '../derived/faulty-rows.ts';
import { collectFile } from '../file/collect-file.ts';
import { saveFile } from '../save-file.ts';
import { openFile } from './file.ts';
import type { Page } from './page.ts';
import { wasStopped } from './requests.ts';

/** The longest file that the page collects. The service keeps a few MiB of rows, which are longer as text. */
const maxBytes = 200_000_000;

export async function saveFaultyRows(
  page: Page,
  load: string,
  table: string,
  format: RepairFormat,
): Promise<void> {
  page.set({ faultyRowsOf: load });
  await page.remote('faultyRows', async (signal) => {
    const { body, isComplete } = await page.client.faultyRows(load, { format, signal });
    const content = await collectFile(body, { maxBytes, signal, onBytes: () => page.connection.hear() });
    const name = `${table}-faulty-rows${isComplete ? '' : '-incomplete'}.${format}`;
    if (!wasStopped(signal)) saveFile(content, name);
    return { name, isComplete };
  });
}

/** Reads the repaired file with the settings of the file whose rows it has. */
export function chooseRepaired(page: Page, content: File): void {
  const { file: first, reading, columns, target, rows } = page.state;
  if (first === undefined) return;
  const kept = { columns, ...repairedTarget({ target, rows }), isTargetChosen: true };
  openFile(page, content, kept, repairedReading(reading, first, content));
}
