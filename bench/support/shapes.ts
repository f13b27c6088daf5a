/** The rows that benchmarks load, as JSON and as CSV. They are the same in every run. */

import { once } from 'node:events';
import { createWriteStream } from 'node:fs';

export interface Shape {
  name: string;
  rows: number;
  columns: { name: string; type: string }[];
  /** The values of a row as JSON would have them: strings, numbers, booleans, null, arrays and objects. */
  row: (index: number) => unknown[];
}

const words = 'amber birch cedar delta ember fjord grain haven inlet joule käse lemon måne north ocean'.split(
  ' ',
);

/** Returns a number that depends only on its index, because benchmarks must not differ from run to run. */
function mix(index: number, salt: number): number {
  let value = Math.imul(index ^ (salt * 0x9e3779b1), 0x85ebca6b);
  value = Math.imul(value ^ (value >>> 13), 0xc2b2ae35);
  return (value ^ (value >>> 16)) >>> 0;
}

const word = (index: number, salt: number) => words[mix(index, salt) % words.length]!;
const two = (number: number) => String(number).padStart(2, '0');
const date = (index: number, salt: number) => {
  const value = mix(index, salt);
  return `${1990 + (value % 35)}-${two(1 + ((value >>> 8) % 12))}-${two(1 + ((value >>> 16) % 28))}`;
};
const hex = (index: number, salt: number, digits: number) =>
  mix(index, salt).toString(16).padStart(8, '0').slice(0, digits);

const mixed: Shape = {
  name: 'mixed',
  rows: 1_000_000,
  columns: [
    { name: 'id', type: 'bigint' },
    { name: 'key', type: 'uuid' },
    { name: 'name', type: 'text' },
    { name: 'email', type: 'varchar(80)' },
    { name: 'amount', type: 'numeric(12,2)' },
    { name: 'ratio', type: 'double precision' },
    { name: 'is_active', type: 'boolean' },
    { name: 'created_at', type: 'timestamptz' },
    { name: 'born', type: 'date' },
    { name: 'visits', type: 'integer' },
  ],
  row: (i) => [
    i + 1,
    `${hex(i, 1, 8)}-${hex(i, 2, 4)}-4${hex(i, 3, 3)}-8${hex(i, 4, 3)}-${hex(i, 5, 8)}${hex(i, 6, 4)}`,
    `${word(i, 7)} ${word(i, 8)}`,
    `${word(i, 9)}.${i}@example.com`,
    (mix(i, 10) % 10_000_000) / 100,
    mix(i, 11) / 4294967296,
    mix(i, 12) % 2 === 0,
    `${date(i, 13)}T${two(mix(i, 14) % 24)}:${two(mix(i, 15) % 60)}:${two(mix(i, 16) % 60)}Z`,
    date(i, 17),
    mix(i, 18) % 1000,
  ],
};

export const shapes: Shape[] = [
  mixed,
  { ...mixed, name: 'shorter', rows: 100_000 },
  {
    name: 'narrow',
    rows: 5_000_000,
    columns: [
      { name: 'id', type: 'bigint' },
      { name: 'label', type: 'text' },
      { name: 'value', type: 'integer' },
    ],
    row: (i) => [i + 1, word(i, 1), mix(i, 2) % 100_000],
  },
  {
    name: 'wide',
    rows: 20_000,
    columns: Array.from({ length: 500 }, (_, column) => ({
      name: `c${column}`,
      type: ['integer', 'text', 'double precision', 'date', 'boolean'][column % 5]!,
    })),
    row: (i) =>
      Array.from({ length: 500 }, (_, column) => {
        if (column % 5 === 0) return mix(i, column) % 1_000_000;
        if (column % 5 === 1) return word(i, column);
        if (column % 5 === 2) return (mix(i, column) % 1_000_000) / 1000;
        if (column % 5 === 3) return date(i, column);
        return mix(i, column) % 2 === 0;
      }),
  },
  {
    name: 'nested',
    rows: 100_000,
    columns: [
      { name: 'id', type: 'bigint' },
      { name: 'body', type: 'text' },
      { name: 'attributes', type: 'jsonb' },
      { name: 'tags', type: 'jsonb' },
    ],
    row: (i) => [
      i + 1,
      Array.from({ length: 120 }, (_, at) => word(i, at)).join(at(i)),
      {
        kind: word(i, 200),
        size: mix(i, 201) % 1000,
        owner: { name: word(i, 202), since: date(i, 203) },
        flags: [true, null, 1.5],
      },
      Array.from({ length: 8 }, (_, at) => word(i, 300 + at)),
    ],
  },
];

/** Returns the separator of two words: mostly a space, sometimes a character that JSON and CSV must escape. */
function at(index: number): string {
  return index % 10 === 0 ? ' "\n' : ' ';
}

/** Writes `{"table": …, "data": […]}`, without `table` if `withDefinition` is false. */
export async function writeJson(shape: Shape, path: string, withDefinition: boolean): Promise<void> {
  const names = shape.columns.map((column) => JSON.stringify(column.name));
  const table = withDefinition ? `"table":${JSON.stringify({ columns: shape.columns })},` : '';
  await writeLines(path, shape.rows, `{${table}"data":[\n`, '\n]}', ',\n', (index) => {
    const row = shape.row(index);
    return `{${row.map((value, column) => `${names[column]}:${JSON.stringify(value)}`).join(',')}}`;
  });
}

export async function writeCsv(shape: Shape, path: string, hasHeader = false): Promise<void> {
  const header = hasHeader ? `${shape.columns.map(({ name }) => csvField(name)).join(',')}\n` : '';
  await writeLines(path, shape.rows, header, '\n', '\n', (index) => shape.row(index).map(csvField).join(','));
}

function csvField(value: unknown): string {
  if (value === null) return '';
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  return /[",\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

async function writeLines(
  path: string,
  count: number,
  head: string,
  tail: string,
  separator: string,
  line: (index: number) => string,
): Promise<void> {
  const file = createWriteStream(path, { highWaterMark: 1 << 20 });
  file.write(head);
  for (let start = 0; start < count; start += 1000) {
    const lines: string[] = [];
    for (let index = start; index < Math.min(count, start + 1000); index += 1) lines.push(line(index));
    if (!file.write((start > 0 ? separator : '') + lines.join(separator))) await once(file, 'drain');
  }
  file.end(tail);
  await once(file, 'finish');
}
