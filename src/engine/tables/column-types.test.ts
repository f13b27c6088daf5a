import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseTypeName, serialBase } from './column-types.ts';

test("names of types are parsed by PostgreSQL's grammar", () => {
  const expected: [string, string, string, boolean][] = [
    ['text', 'text', '', false],
    ['INTEGER', '<integer>', '', false],
    ['VARCHAR ( 20 )', '<varchar>', '(20)', false],
    ['character varying(20)[]', '<character varying>', '(20)', true],
    ['char', '<character>', '(1)', false],
    ['national character varying(3)', '<character varying>', '(3)', false],
    ['"char"', 'char', '', false],
    ['"integer"', 'integer', '', false],
    ['bit', '<bit>', '(1)', false],
    ['bit varying', '<bit varying>', '', false],
    ['double precision', '<double precision>', '', false],
    ['float', '<float>', '', false],
    ['float(24)', '<real>', '', false],
    ['float(25)', '<float>', '', false],
    ['float(54)', '<float>', '(54)', false],
    ['numeric(5,-2)', '<numeric>', '(5,-2)', false],
    ['timestamp(3) with time zone', '<timestamp with time zone>', '(3)', false],
    ['time without time zone', '<time without time zone>', '', false],
    ['timestamptz(2)', 'timestamptz', '(2)', false],
    ['interval', '<interval>', '', false],
    ['interval(3)', '<interval>', '(32767,3)', false],
    ['interval day to second(3)', '<interval>', '(7176,3)', false],
    ['interval year', '<interval>', '(4)', false],
    ['integer[][3]', '<integer>', '', true],
    ['int ARRAY [4]', '<int>', '', true],
    ['Public."My Type"(1)', 'public.My Type', '(1)', false],
    ['geometry(Point, 4326)', 'geometry', "('point',4326)", false],
  ];
  for (const [text, name, modifiers, isArray] of expected) {
    const type = parseTypeName(text);
    const read = type?.spelling ? `<${type.spelling}>` : [type?.schema, type?.name].filter(Boolean).join('.');
    assert.deepEqual([read, type?.modifiers, type?.isArray], [name, modifiers, isArray], text);
  }
});

test('an alias is a type of PostgreSQL, and only with a valid length; in quotes it is a name', () => {
  const spelling = (text: string) => parseTypeName(text)?.spelling;
  assert.equal(spelling('String'), 'pg_catalog.text');
  assert.equal(spelling('string(20)'), 'varchar');
  assert.equal(spelling('double'), 'double precision');
  assert.equal(spelling('number(10,2)[]'), 'numeric');
  for (const text of ['blob(20)', 'serial[]']) {
    const type = parseTypeName(text);
    assert.deepEqual([type?.spelling, type?.schema], [undefined, 'pg_catalog'], text);
  }
  for (const text of ['"string"', 'public.string']) {
    const type = parseTypeName(text);
    assert.deepEqual([type?.spelling, type?.name], [undefined, 'string'], text);
  }
  assert.equal(spelling('constructor'), undefined);
});

test('texts that are not a name of a type are refused', () => {
  const refused = [
    '',
    ' ',
    'text, b int',
    'text; drop table x',
    'text -- c',
    'text /* c */',
    'text default 1',
    'text not null',
    'text collate "C"',
    'foo bar',
    'setof text',
    'a.b.c',
    'a.',
    '.a',
    'varchar(',
    'varchar()',
    'varchar(1',
    'varchar(1))',
    'varchar((1))',
    'varchar(select 1)',
    'varchar(1 + 1)',
    'text[',
    'text[]]',
    'text[-1]',
    'pg_class.relname%type',
    'timestamp with zone',
    'interval second to day',
    'interval day to day',
    'interval(3)(4)',
    'interval day(3)',
    "'text'",
    '1',
    'text $$',
    'a'.repeat(64),
  ];
  for (const text of refused) assert.equal(parseTypeName(text), undefined, text);
});

test('serial types have their integer types', () => {
  assert.equal(serialBase(' BigSerial '), 'bigint');
  assert.equal(serialBase('serial4'), 'integer');
  for (const text of ['"serial"', 'serial[]', 'serial(1)', 'pg_catalog.serial', 'int', 'constructor']) {
    assert.equal(serialBase(text), undefined, text);
  }
});
