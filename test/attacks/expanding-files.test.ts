/**
 * Files and bodies that say little and mean much: every way in which a file repeats bytes without having them, in random sizes. Each one is
 * loaded as it is, or refused with the limit, while the service takes little memory and answers others.
 */
import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { type ChildWithDatabase, startChildWithDatabase } from '../support/child-service.ts';
import { assertProblem } from '../support/problem.ts';
import { type RandomNumbers, randomNumbers } from '../support/random-numbers.ts';
import { recordingSteps, takeSteps } from '../support/record-loop-steps.ts';
import type { TestAnswer } from '../support/service.ts';
import { sized } from '../support/sized.ts';
import { buildXlsb, cell, rowHeader, uint32, wideString } from '../support/xlsb-builder.ts';
import { buildWorkbook, buildZip } from '../support/xlsx-builder.ts';

const mib = 2 ** 20;
const mostMemory = 300 * mib;
/** Processor time, so that a busy machine does not change it. A slow machine may need several times the measured time. */
const mostStepMs = 100;
const mostUsualStepMs = 20;

const seed = Number(process.env.SEED ?? 20_261);
const rounds = sized(2, 6);

let folder: string;
let service: ChildWithDatabase;

before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'tablewright-expanding-'));
  service = await startChildWithDatabase(recordingSteps(folder));
});
after(async () => {
  await service?.stop('SIGKILL');
  await rm(folder, { recursive: true, force: true });
});

interface TableSent {
  columns: { name: string; type: string; default?: string }[];
}

/** An upload with a text column `a`, and what it must become if it is loaded. */
interface Expanding {
  file: Buffer;
  /** The definition with which the file is loaded in any case. */
  table?: TableSent;
  /** The file is a body of JSON. */
  isJson?: boolean;
  rows: number;
  /** The length of all texts. */
  characters: number;
}

/** Returns a whole number up to `most`: small, middle and large ones, and more of the large ones. */
function anySize(random: RandomNumbers, most: number): number {
  const place = random(1000) / 1000;
  return Math.max(1, Math.floor(2 ** (Math.sqrt(place) * Math.log2(most))));
}

const odsNames = ['office', 'table', 'text'].map(
  (name) => `xmlns:${name}="urn:oasis:names:tc:opendocument:xmlns:${name}:1.0"`,
);
const odsType = 'application/vnd.oasis.opendocument.spreadsheet';

function ods(rows: string): Buffer {
  const manifest = `<manifest:manifest xmlns:manifest="urn:oasis:names:tc:opendocument:xmlns:manifest:1.0"><manifest:file-entry manifest:full-path="/" manifest:media-type="${odsType}"/></manifest:manifest>`;
  const sheet = `<table:table table:name="S">${odsRow(odsCell('a'))}${rows}</table:table>`;
  return buildZip([
    { name: 'mimetype', data: odsType, isStored: true },
    {
      name: 'content.xml',
      data: `<?xml version="1.0"?><office:document-content ${odsNames.join(' ')}><office:body><office:spreadsheet>${sheet}</office:spreadsheet></office:body></office:document-content>`,
    },
    { name: 'META-INF/manifest.xml', data: `<?xml version="1.0"?>${manifest}` },
  ]);
}

function odsCell(paragraph: string, attributes = '', element = 'table-cell'): string {
  return `<table:${element} office:value-type="string" ${attributes}><text:p>${paragraph}</text:p></table:${element}>`;
}

function odsRow(cells: string, attributes = ''): string {
  return `<table:table-row ${attributes}>${cells}</table:table-row>`;
}

function xlsxRows(count: number, cells: (row: number) => string): string {
  let rows = '';
  for (let row = 2; row < count + 2; row++) rows += `<row r="${row}">${cells(row)}</row>`;
  return rows;
}

const xlsxHeader = '<row r="1"><c r="A1" t="inlineStr"><is><t>a</t></is></c></row>';

/** Returns a body whose first row has NULL in each of the other columns, so that each empty row after it is sent with all of them. */
function jsonRows(table: TableSent, rows: number): Pick<Expanding, 'file' | 'isJson'> {
  const first = Object.fromEntries(table.columns.slice(1).map(({ name }) => [name, null]));
  const file = Buffer.from(
    `{"table":${JSON.stringify(table)},"data":[${JSON.stringify(first)}${',{}'.repeat(rows - 1)}]}`,
  );
  return { file, isJson: true };
}

const kinds: Record<string, (random: RandomNumbers) => Expanding> = {
  'an .ods whose cells have spaces as a count': (random) => {
    const rows = anySize(random, 20_000);
    const spaces = anySize(random, 16_000_000);
    const file = ods(odsRow(odsCell(`<text:s text:c="${spaces}"/>x`)).repeat(rows));
    return { file, rows, characters: rows * (spaces + 1) };
  },
  'an .ods whose cells have many counts of spaces, tabs and line breaks': (random) => {
    const rows = anySize(random, 200);
    const pieces = anySize(random, 2000);
    const spaces = anySize(random, 4000);
    const piece = `<text:s text:c="${spaces}"/><text:tab/><text:line-break/>`;
    const file = ods(odsRow(odsCell(`x${piece.repeat(pieces)}`)).repeat(rows));
    return { file, rows, characters: rows * (1 + pieces * (spaces + 2)) };
  },
  'an .ods whose rows are repeated': (random) => {
    const rows = anySize(random, 1_000_000);
    const text = 'y'.repeat(anySize(random, 100_000));
    const file = ods(odsRow(odsCell(text), `table:number-rows-repeated="${rows}"`));
    return { file, rows, characters: rows * text.length };
  },
  'an .ods that repeats a row whose cell has spaces as a count': (random) => {
    const rows = anySize(random, 100_000);
    const spaces = anySize(random, 1_000_000);
    const cells = odsCell(`<text:s text:c="${spaces}"/>&amp;`);
    const file = ods(odsRow(cells, `table:number-rows-repeated="${rows}"`));
    return { file, rows, characters: rows * (spaces + 1) };
  },
  'an .ods with spaces as a count beneath merged cells': (random) => {
    const rows = anySize(random, 20_000);
    const spaces = anySize(random, 16_000_000);
    const covered = odsCell(`<text:s text:c="${spaces}"/>x`, '', 'covered-table-cell');
    const file = ods(odsRow(odsCell('y') + covered).repeat(rows));
    return { file, rows, characters: rows };
  },
  'an .ods whose cells repeat over columns without a name': (random) => {
    const columns = anySize(random, 250);
    const text = 'z'.repeat(anySize(random, 40_000));
    const rows = anySize(random, 100);
    const cells = odsCell('y') + odsCell(text, `table:number-columns-repeated="${columns}"`);
    return { file: ods(odsRow(cells).repeat(rows)), rows, characters: rows };
  },
  'an .xlsx whose cells name the same shared string': (random) => {
    const rows = anySize(random, 200_000);
    const text = 'x'.repeat(anySize(random, 32_000));
    const file = buildWorkbook({
      sharedStrings: `<si><t>${text}</t></si>`,
      sheets: [{ name: 'S', xml: xlsxHeader + xlsxRows(rows, (row) => `<c r="A${row}" t="s"><v>0</v></c>`) }],
    });
    return { file, rows, characters: rows * text.length };
  },
  'an .xlsx whose cells name a shared string of white space': (random) => {
    const rows = anySize(random, 50_000);
    const text = ' '.repeat(anySize(random, 2_000_000));
    const file = buildWorkbook({
      sharedStrings: `<si><t xml:space="preserve">${text}</t></si>`,
      sheets: [
        {
          name: 'S',
          xml:
            xlsxHeader +
            xlsxRows(rows, (row) => `<c r="A${row}" t="str"><v>y</v></c><c r="B${row}" t="s"><v>0</v></c>`),
        },
      ],
    });
    return { file, rows, characters: rows };
  },
  'an .xlsx whose rows name a shared string in many columns': (random) => {
    const rows = anySize(random, 500);
    const columns = anySize(random, 250);
    const text = 'x'.repeat(anySize(random, 32_000));
    const others = '<c t="s"><v>0</v></c>'.repeat(columns);
    const cells = (row: number): string => `<c r="A${row}" t="str"><v>y</v></c>${others}`;
    const file = buildWorkbook({
      sharedStrings: `<si><t>${text}</t></si>`,
      sheets: [{ name: 'S', xml: xlsxHeader + xlsxRows(rows, cells) }],
    });
    return { file, rows, characters: rows };
  },
  'an .xlsx whose numbers are padded with zeros': (random) => {
    const rows = anySize(random, 200_000);
    const digits = 2 + random(1000);
    const file = buildWorkbook({
      formats: ['0'.repeat(digits)],
      sheets: [{ name: 'S', xml: xlsxHeader + xlsxRows(rows, (row) => `<c r="A${row}" s="1"><v>7</v></c>`) }],
    });
    return { file, rows, characters: rows * digits };
  },
  'an .xlsx with long shared strings in other sheets': (random) => {
    const text = 'x'.repeat(anySize(random, 1_000_000));
    const rows = anySize(random, 2000);
    const others = Array.from({ length: anySize(random, 20) }, (_, sheet) => ({
      name: `T${sheet}`,
      xml: xlsxHeader + xlsxRows(rows, (row) => `<c r="A${row}" t="s"><v>0</v></c>`),
    }));
    const file = buildWorkbook({
      sharedStrings: `<si><t>${text}</t></si>`,
      sheets: [{ name: 'S', xml: `${xlsxHeader}<row r="2"><c r="A2" t="str"><v>y</v></c></row>` }, ...others],
    });
    return { file, rows: 1, characters: 1 };
  },
  'an .xlsb whose cells name the same shared string': (random) => {
    const rows = anySize(random, 200_000);
    const text = 'x'.repeat(anySize(random, 32_000));
    const records = [rowHeader(1), cell(6, 0, 0, wideString('a'))];
    for (let row = 2; row < rows + 2; row++) records.push(rowHeader(row), cell(7, 0, 0, uint32(0)));
    return {
      file: buildXlsb({ rows: records, sharedStrings: [text] }),
      rows,
      characters: rows * text.length,
    };
  },
  'a .csv whose rows leave out columns with defaults': (random) => {
    const rows = anySize(random, 200_000);
    const defaultBytes = anySize(random, 1000);
    const table = tableOf(columnsOf(random, defaultBytes), defaultBytes);
    return { file: Buffer.from(`a\n${'x\n'.repeat(rows)}`), table, rows, characters: rows };
  },
  'a JSON body of empty rows for a table of many columns': (random) => {
    const rows = anySize(random, 200_000);
    const table = tableOf(anySize(random, 1500), 0);
    return { ...jsonRows(table, rows), rows, characters: rows };
  },
  'a JSON body of empty rows for a table of defaults': (random) => {
    const rows = anySize(random, 200_000);
    const defaultBytes = anySize(random, 1000);
    const table = tableOf(columnsOf(random, defaultBytes), defaultBytes);
    return { ...jsonRows(table, rows), rows, characters: rows };
  },
  'a .csv whose rows are shorter than its header': (random) => {
    const columns = 1 + anySize(random, 1500);
    const rows = anySize(random, 100_000);
    const names = Array.from({ length: columns - 1 }, (_, column) => `,c${column}`);
    return { file: Buffer.from(`a${names.join('')}\n${'x\n'.repeat(rows)}`), rows, characters: rows };
  },
};

/** Returns a definition of the column `a` and many others, with defaults of this length that the rows leave out. */
function tableOf(columns: number, defaultBytes: number): TableSent {
  const others = Array.from({ length: columns }, (_, column) => ({
    name: `c${column}`,
    type: 'text',
    ...(defaultBytes > 0 && { default: `'${'d'.repeat(defaultBytes)}'` }),
  }));
  return { columns: [{ name: 'a', type: 'text', default: "'y'" }, ...others] };
}

/** Returns the number of columns with defaults of this length that PostgreSQL can store in a row. */
function columnsOf(random: RandomNumbers, defaultBytes: number): number {
  return anySize(random, Math.min(1500, Math.floor(7500 / (defaultBytes + 4))));
}

const queries = ['', 'faulty_rows=leave_out', 'dry_run=true'];

for (const [name, make] of Object.entries(kinds)) {
  test(`${name} is loaded as it is or refused, in bounded memory and short steps`, async (context) => {
    const random = randomNumbers(seed + name.length * 7919 + name.charCodeAt(6));
    let longestMs = 0;
    let peak = 0;
    const outcomes: string[] = [];
    for (let round = 0; round < rounds; round++) {
      const expanding = make(random);
      const isDefined = expanding.table !== undefined || expanding.isJson;
      const way = isDefined ? 0 : random(queries.length + 2);
      const told = `seed ${seed}, round ${round}, ${expanding.file.length} bytes, ${expanding.rows} rows, ${expanding.characters} characters`;
      await service.database.pool.query('DROP TABLE IF EXISTS expanding');
      await takeSteps(service, folder);
      service.resetPeakMemory();
      const answer = await send(expanding, way);
      const steps = await takeSteps(service, folder);
      const memory = service.peakMemoryBytes() ?? 0;
      outcomes.push(`${answer.status}`);
      context.diagnostic(
        `${told}: ${answer.status}, ${steps.count} steps, p99.9 ${steps.p999Ms.toFixed(1)} ms, longest ${steps.longestMs.toFixed(1)} ms, ${(memory / mib).toFixed(0)} MiB`,
      );
      longestMs = Math.max(longestMs, steps.longestMs);
      peak = Math.max(peak, memory);
      assert.ok(memory < mostMemory, `${told}: ${Math.round(memory / mib)} MiB`);
      assert.ok(steps.longestMs < mostStepMs, `${told}: a step of ${steps.longestMs} ms`);
      // Among fewer steps one or two decide, which a busy machine makes longer.
      if (steps.count >= 5000) assert.ok(steps.p999Ms < mostUsualStepMs, `${told}: ${steps.p999Ms} ms`);
      if (answer.status === 413)
        assert.match(assertProblem(answer, 413, 'limit-exceeded').detail, /the limit is [\d,]+/);
      else await assertLoaded(expanding, way, answer, told);
    }
    context.diagnostic(
      `${outcomes.join(' ')}; longest ${longestMs.toFixed(1)} ms, ${(peak / mib).toFixed(0)} MiB`,
    );
  });
}

/** Uploads the file with inferred types, with a definition, or inspects it. */
function send({ file, table: own, isJson }: Expanding, way: number): Promise<TestAnswer> {
  const headers = { 'content-type': 'application/json' };
  if (isJson) return service.request('POST', '/table/expanding/upload/json', { headers, body: file });
  if (own !== undefined) return service.upload('/table/expanding/upload/excel', file, { table: own });
  if (way === queries.length) return service.upload('/api/v1/inspect/excel', file);
  const table = { columns: [{ name: 'a', type: 'text' }] };
  const path = '/table/expanding/upload/excel';
  if (way > queries.length) return service.upload(`${path}?extra_columns=ignore`, file, { table });
  return service.upload(`${path}?${queries[way]}`, file);
}

async function assertLoaded(
  { rows, characters }: Expanding,
  way: number,
  { status, body }: TestAnswer,
  told: string,
): Promise<void> {
  const shown = `${told}: ${JSON.stringify(body).slice(0, 500)}`;
  if (way === queries.length) {
    assert.equal(status, 200, shown);
    return;
  }
  assert.equal(status, way === 2 ? 200 : 201, shown);
  assert.equal(body.load.rows, rows, shown);
  if (way === 2) return;
  const { rows: found } = await service.database.pool.query(
    'SELECT count(*)::int AS rows, sum(length(a::text))::float8 AS characters FROM expanding',
  );
  assert.deepEqual(found, [{ rows, characters }], told);
}
