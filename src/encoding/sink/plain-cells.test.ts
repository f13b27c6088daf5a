/**
 * In a load in one pass (docs/decisions/0027) the encoder takes the cells whose class is certain, and the inference does not see
 * them. The result must be the same as that of a pass in which both see each cell.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type RandomNumbers, randomNumbers } from '../../../test/support/random-numbers.ts';
import { sized } from '../../../test/support/sized.ts';
import * as kind from '../../core/cells/cell-kind.ts';
import { ColumnMatcher } from '../columns/column-matching.ts';
import type { LoadColumn } from '../columns/load-column.ts';
import { columnEncoder } from '../encoders/column-encoder.ts';
import { TypeInference } from '../infer/infer-types.ts';
import { Problems } from '../problems/problems.ts';
import { EncodingSink } from './encoding-sink.ts';

/** The types that inference gives, except those whose encoder takes no plain cells, and one of these. */
const oids = { bigint: 20, numeric: 1700, boolean: 16, date: 1082, timestamp: 1114, timestamptz: 1184 };
const types = Object.entries({ ...oids, uuid: 2950, text: 25, jsonb: 3802 });

const columns: LoadColumn[] = types.map(([name, oid], index) => ({
  id: index + 1,
  name,
  type: { oid, name, typmod: -1, kind: 'base' },
  bareType: name,
  isNullable: true,
  default: 'none',
  isGenerated: false,
  identity: 'none',
}));

interface Cell {
  kind: number;
  bytes: Buffer;
  end: number;
}

/** One way to read the cells: the inference and the encoder. */
class Way {
  readonly inference = new TypeInference({ maxColumns: 100, maxRows: 1_000_000 }, () => {});
  readonly problems = new Problems();
  readonly sink: EncodingSink;
  rows = '';
  plainCells = 0;

  constructor(typesAreInferred: boolean) {
    this.sink = new EncodingSink({
      targets: columns.map((column) => ({
        column,
        encoder: columnEncoder(column.type)!,
        fill: Buffer.from([0xff, 0xff, 0xff, 0xff]),
      })),
      matcher: new ColumnMatcher(columns, 'exact', 'fail'),
      locate: () => ({}),
      problems: this.problems,
      output: {
        write: async (shape, bytes) => {
          this.rows += `${shape.join()}:${bytes.toString('hex')}\n`;
        },
      },
      maxRows: 1_000_000,
      maxRowBytes: 1_000_000,
      writtenLimits: { maxWrittenBytes: 1e9, maxUnpackRatio: 1 },
      typesAreInferred,
      onTooManyRows: () => assert.fail(),
    });
    for (const { name } of columns) {
      this.inference.column(this.#names, name);
      this.sink.column(this.#names++, name);
    }
  }

  #names = 0;

  both(column: number, cell: Cell): void {
    if (isMoment(cell)) {
      this.inference.moment(column, cell.kind, 9000, cell.end);
      this.sink.moment(column, cell.kind, 9000, cell.end);
      return;
    }
    this.inference.cell(column, cell.kind, cell.bytes, 1, cell.end);
    this.sink.cell(column, cell.kind, cell.bytes, 1, cell.end);
  }

  plain(column: number, cell: Cell): void {
    if (isMoment(cell)) {
      const isKnown = this.inference.isMomentKnown(column, cell.kind);
      if (!isKnown) this.inference.moment(column, cell.kind, 9000, cell.end);
      this.sink.moment(column, cell.kind, 9000, cell.end);
      if (isKnown) this.plainCells++;
      return;
    }
    const classes = this.inference.classesKnown(column, cell.kind);
    if (this.sink.plainCell(column, cell.kind, cell.bytes, 1, cell.end, classes)) this.plainCells++;
    else this.both(column, cell);
  }

  /** The complete result of the inference, as text. */
  get inferred(): string {
    const { inference } = this;
    const facts = columns.map((_, column) => [
      inference.firstRow(column),
      inference.firstValueRow(column),
      inference.hasMinusZero(column),
    ]);
    return JSON.stringify([inference.columns(), facts, inference.changes, inference.rowCount], undefined, 1);
  }

  get told(): string {
    const { sink, problems } = this;
    return JSON.stringify([
      problems.count,
      problems.listed(),
      problems.groups(),
      sink.lossWarnings(),
      sink.pointWarnings(),
    ]);
  }
}

function isMoment(cell: Cell): boolean {
  return cell.kind >= kind.DATE && cell.kind <= kind.INTERVAL;
}

const digits = (pick: RandomNumbers, count: number) =>
  Array.from({ length: count }, (_, at) => (at === 0 ? 1 + pick(9) : pick(10))).join('');

const day = (pick: RandomNumbers) => `${pick(3)}0${10 + pick(89)}-${10 + pick(4)}-${10 + pick(22)}`;
const time = (pick: RandomNumbers) => `${10 + pick(15)}:${10 + pick(51)}:${10 + pick(51)}`;
const fraction = (pick: RandomNumbers) => ['', `.${digits(pick, 1 + pick(8))}`][pick(2)];

/** Texts of the types, most of them as they are usually written. */
const usual: Record<string, (pick: RandomNumbers) => string> = {
  bigint: (pick) => `${pick(3) === 0 ? '-' : ''}${pick(3) === 0 ? 0 : digits(pick, 1 + pick(20))}`,
  numeric: (pick) => `${pick(3) === 0 ? '-' : ''}${pick(300)}.${digits(pick, 1 + pick(20))}`,
  boolean: (pick) => ['true', 'false', 'true', 'false', 'TRUE', 't', 'yes'][pick(7)]!,
  date: (pick) => day(pick),
  timestamp: (pick) => `${day(pick)}${'TTTTTTT t'[pick(9)]}${time(pick)}${fraction(pick)}`,
  timestamptz: (pick) =>
    `${day(pick)}T${time(pick)}${fraction(pick)}${['Z', 'Z', 'Z', '+02:00', '-00:00', '+16:00', 'z'][pick(7)]}`,
  uuid: (pick) =>
    `0192f7a8-0000-7000-8000-00000000${'abcdefABCDEF'[pick(pick(3) === 0 ? 12 : 6)]}${100 + pick(89)}`,
  text: (pick) =>
    ['n/a', 'word', '1,234', '12 %', '10:30', ' 7', 'a\u0000b', '', '1.234,5', '"x"', 'é'][pick(11)]!,
  grouped: (pick) => `${1 + pick(300)}.${digits(pick, 3)}`,
  odd: (pick) =>
    ['0.0', '-0.00', '-0', '0', '-0.5', '0.05', '10.', '1e3', '-0e5', '007', '00.5', '1.234'][pick(12)]!,
};
const writersOfAll = Object.values(usual);

const jsonNumber = /^-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?$/;
const signs = '0123456789-+.:TZz eE_,aAfF{\u0000';

/** Changes, adds or removes a character. */
function almost(text: string, pick: RandomNumbers): string {
  const at = pick(text.length + 1);
  return text.slice(0, at) + ['', signs[pick(signs.length)]][pick(2)] + text.slice(at + pick(2));
}

function cellOf(write: (pick: RandomNumbers) => string, isTextFile: boolean, pick: RandomNumbers): Cell {
  let text = write(pick);
  if (pick(6) === 0) text = almost(text, pick);
  if (pick(8) === 0) return cell(kind.NULL, '');
  if (isTextFile) return text === '' ? cell(kind.NULL, '') : cell(kind.TEXT, text);
  if (jsonNumber.test(text) && pick(4) !== 0) {
    return pick(3) === 0 && /^[^eE]+$/.test(text) ? rounded(text, pick) : cell(kind.NUMBER, text);
  }
  if (text === 'true') return cell(kind.TRUE, text);
  if (text === 'false') return cell(kind.FALSE, text);
  if (pick(20) === 0)
    return cell([kind.OBJECT, kind.ARRAY][pick(2)]!, ['{"a":1}', '[{"a":1,"a":2}]'][pick(2)]!);
  if (pick(20) === 0) return { kind: kind.DATE + pick(4), bytes: Buffer.alloc(0), end: pick(2) * 1000 };
  return cell(kind.STRING, text);
}

function cell(cellKind: number, text: string): Cell {
  const bytes = Buffer.from(` ${text}9.e"-`);
  return { kind: cellKind, bytes, end: 1 + Buffer.byteLength(text) };
}

function rounded(text: string, pick: RandomNumbers): Cell {
  const bytes = Buffer.from(` ${text}${text}${text.includes('.') ? digits(pick, 1 + pick(3)) : ''}\0`);
  return { kind: kind.ROUNDED_NUMBER, bytes, end: 1 + text.length };
}

test('the inference and the rows are the same if the encoder takes the plain cells alone', async () => {
  let plainCells = 0;
  for (let seed = 1; seed <= sized(150, 3000); seed++) {
    const pick = randomNumbers(seed * 1_000_003);
    const isTextFile = seed % 2 === 0;
    const both = new Way(seed % 3 > 0);
    const plain = new Way(seed % 3 > 0);
    const anyWriter = () => writersOfAll[pick(writersOfAll.length)]!;
    const writers = columns.map(({ name }) => (pick(3) > 0 && usual[name]) || anyWriter());
    const isMixed = pick(3) === 0;
    for (let row = 1; row <= 60; row++) {
      for (const { inference, sink } of [both, plain]) {
        inference.beginRow(row);
        sink.beginRow(row);
      }
      for (const [column, writer] of writers.entries()) {
        if (pick(15) === 0) continue;
        const write = pick(isMixed ? 4 : 40) === 0 ? anyWriter() : writer;
        const next = cellOf(write, isTextFile, pick);
        both.both(column, next);
        plain.plain(column, next);
        const shown = `seed ${seed}, row ${row}, ${columns[column]!.name}: ${next.kind} ${next.bytes.subarray(1, next.end)}`;
        assert.equal(plain.inferred, both.inferred, shown);
      }
      for (const { sink } of [both, plain]) sink.endRow();
      for (const { sink } of [both, plain]) await sink.finish();
      assert.equal(plain.rows, both.rows, `seed ${seed}, row ${row}`);
    }
    assert.equal(plain.told, both.told, `seed ${seed}`);
    plainCells += plain.plainCells;
  }
  assert.ok(plainCells > 1000, `${plainCells} plain cells`);
});
