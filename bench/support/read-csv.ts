/**
 * `node bench/support/read-csv.ts duckdb|udsv|csv-parse file [copy]`: runs another reader of CSV in a separate process. It prints the number of rows
 * and the memory in MiB. With `copy` it also writes what it has read, as CSV without a header.
 */
import { once } from 'node:events';
import { createReadStream, createWriteStream, type WriteStream } from 'node:fs';
import { DuckDBInstance } from '@duckdb/node-api';
import { parse } from 'csv-parse';
import { inferSchema, initParser, type Parser } from 'udsv';

const [reader = '', file = '', copy] = process.argv.slice(2);
const readers: Record<string, () => Promise<number>> = {
  duckdb: readByDuckDb,
  udsv: readByUdsv,
  'csv-parse': readByCsvParse,
};
const rows = await readers[reader]!();
process.stdout.write(`${rows} ${Math.round(process.resourceUsage().maxRSS / 1024)}\n`);

/** Infers the types, and loads the rows into a table of its own in memory. */
async function readByDuckDb(): Promise<number> {
  const database = await (await DuckDBInstance.create(':memory:')).connect();
  await database.run(`CREATE TABLE bench AS SELECT * FROM read_csv('${file}')`);
  if (copy !== undefined) await database.run(`COPY bench TO '${copy}' (HEADER false)`);
  const counted = await database.runAndReadAll('SELECT count(*)::integer FROM bench');
  return Number(counted.getRows()[0]![0]);
}

/** Makes an array of texts for each row. */
async function readByUdsv(): Promise<number> {
  const target = openCopy();
  let count = 0;
  let parser: Parser | undefined;
  for await (const chunk of createReadStream(file, { encoding: 'utf8', highWaterMark: 1 << 20 })) {
    parser ??= initParser(inferSchema(chunk));
    parser.chunk<string[]>(chunk, parser.stringArrs, (row) => {
      count += 1;
      target?.write(lineOf(row));
    });
  }
  parser?.end();
  await endCopy(target);
  return count;
}

/** Makes an array of texts for each row. */
async function readByCsvParse(): Promise<number> {
  const target = openCopy();
  let count = 0;
  for await (const row of createReadStream(file, { highWaterMark: 1 << 20 }).pipe(parse({ from_line: 2 }))) {
    count += 1;
    target?.write(lineOf(row));
  }
  await endCopy(target);
  return count;
}

/** No field of the measured shape needs quotes. */
function lineOf(row: string[]): string {
  return `${row.join(',')}\n`;
}

function openCopy(): WriteStream | undefined {
  return copy === undefined ? undefined : createWriteStream(copy, { highWaterMark: 1 << 20 });
}

async function endCopy(target: WriteStream | undefined): Promise<void> {
  if (target === undefined) return;
  target.end();
  await once(target, 'finish');
}
