/**
 * `node bench/support/read-workbook.ts exceljs
 * sheetjs file`: runs another reader in a separate process. It prints the number of rows and the memory in MiB.
 *
 * exceljs is not a dependency of this project. BENCH_MODULES names a folder in which it is installed.
 */
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';

const [reader = '', file = ''] = process.argv.slice(2);
const readers: Record<string, () => Promise<number>> = { exceljs: readByExceljs, sheetjs: readBySheetJs };
const rows = await readers[reader]!();
process.stdout.write(`${rows} ${Math.round(process.resourceUsage().maxRSS / 1024)}\n`);

async function readByExceljs(): Promise<number> {
  const folder = process.env.BENCH_MODULES ?? '';
  const { default: exceljs } = await import(createRequire(join(folder, 'package.json')).resolve('exceljs'));
  const options = {
    sharedStrings: 'cache',
    worksheets: 'emit',
    styles: 'cache',
    hyperlinks: 'ignore',
    entries: 'ignore',
  };
  let count = 0;
  for await (const sheet of new exceljs.stream.xlsx.WorkbookReader(file, options)) {
    for await (const row of sheet) if (row.getCell(1).value !== undefined) count++;
  }
  return count;
}

async function readBySheetJs(): Promise<number> {
  const { read } = await import('@e965/xlsx');
  const workbook = read(readFileSync(file), { dense: true });
  const sheet = workbook.Sheets[workbook.SheetNames[0]!]!;
  return (sheet['!data'] ?? []).length;
}
