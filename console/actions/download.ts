/** The page of a table: saving all rows of the table as a file. */
import { fileOfTable } from '../derived/table.ts';
import { sizeInWords } from '../derived/words.ts';
import { collectFile } from '../file/collect-file.ts';
import { saveFile } from '../save-file.ts';
import type { DownloadFormat, TableName } from '../state.ts';
import type { Page } from './page.ts';
import { wasStopped } from './requests.ts';

/**
 * The token is in a header, which a link of the browser cannot send. So the page collects the whole file, and gives it to the browser when it is
 * complete: a file that breaks off is never saved. The browser keeps the parts outside the memory of the page, but not every browser keeps them on disk.
 */
const maxBytes = 1_000_000_000;
const shownEveryMs = 250;

export async function download(page: Page, table: TableName, format: DownloadFormat): Promise<void> {
  const file = fileOfTable(table, format);
  let bytes = 0;
  const isSaved = await page.remote('download', async (signal, progress) => {
    const rows = await page.client.exportRows(table.name, { schema: table.schema, format, signal });
    let shownAt = 0;
    const onBytes = (received: number): void => {
      bytes = received;
      page.connection.hear();
      if (performance.now() - shownAt < shownEveryMs) return;
      shownAt = performance.now();
      progress({ sentBytes: received });
    };
    const content = await collectFile(rows, { maxBytes, signal, onBytes });
    if (!wasStopped(signal)) saveFile(content, file);
    return true;
  });
  if (!isSaved) return;
  const words = `${file} (${sizeInWords(bytes)}) is complete. The browser saves it.`;
  page.set({ dialog: undefined, done: { words, hash: location.hash }, announcement: words });
}

/** Closes the dialog, and stops a download that is running. */
export function closeDownload(page: Page): void {
  page.stop('download');
  page.set({ dialog: undefined, download: { is: 'none' } });
}
