import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ColumnType } from '../columns/load-column.ts';
import { columnEncoder } from './column-encoder.ts';
import * as codes from './type-codes.ts';

function base(oid: number, typmod = -1): ColumnType {
  return { oid, name: `type ${oid}`, typmod, kind: 'base' };
}

test('a modifier becomes a limit', () => {
  assert.equal(columnEncoder(base(1043, 24))?.maxLength, 20);
  assert.equal(columnEncoder(base(1042, 5))?.maxLength, 1);
  assert.equal(columnEncoder(base(25))?.maxLength, -1);
  const limits = (typmod: number) => {
    const encoder = columnEncoder(base(1700, typmod))!;
    return [encoder.precision, encoder.scale];
  };
  assert.deepEqual(limits(-1), [-1, 0]);
  assert.deepEqual(limits(((12 << 16) | 2) + 4), [12, 2]);
  assert.deepEqual(limits(((3 << 16) | (-2 & 0x7ff)) + 4), [3, -2]);
});

test('types without an encoder, and arrays and domains over them, are staged', () => {
  const point = base(600);
  assert.equal(columnEncoder(point), undefined);
  assert.equal(columnEncoder({ ...base(1017), kind: 'array', element: point }), undefined);
  assert.equal(columnEncoder({ ...base(90_000), kind: 'domain', base: point }), undefined);
  assert.equal(columnEncoder({ ...base(90_000), kind: 'other' }), undefined);
});

test('an interval type with restricted fields is staged', () => {
  assert.equal(columnEncoder(base(1186, (0x7fff << 16) | 3))?.precision, 3);
  assert.equal(columnEncoder(base(1186, 0x7fff_ffff))?.precision, -1);
  assert.equal(columnEncoder(base(1186, (1024 << 16) | 0xffff)), undefined);
});

test('a domain is encoded as its base type, with its own oid', () => {
  const domain: ColumnType = { ...base(90_000), kind: 'domain', base: base(1043, 24), domainNotNull: true };
  const encoder = columnEncoder(domain)!;
  assert.deepEqual(
    [encoder.code, encoder.oid, encoder.maxLength, encoder.notNull],
    [codes.TEXT, 90_000, 20, true],
  );
  const array = columnEncoder({ ...base(90_001), kind: 'array', element: domain })!;
  assert.deepEqual([array.code, array.element?.oid, array.element?.notNull], [codes.ARRAY, 90_000, true]);
});

test('the modifier of an array applies to its elements', () => {
  const array = columnEncoder({ ...base(1015, 24), kind: 'array', element: base(1043) })!;
  assert.equal(array.element?.maxLength, 20);
});

test('all encoders have the same object shape', () => {
  const shapes = [base(16), base(1700, 100), base(1043, 24)].map((type) =>
    Object.keys(columnEncoder(type)!).join(),
  );
  const domain: ColumnType = { ...base(90_000), kind: 'domain', base: base(25) };
  assert.equal(new Set([...shapes, Object.keys(columnEncoder(domain)!).join()]).size, 1);
});
