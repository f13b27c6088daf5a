import assert from 'node:assert/strict';
import { test } from 'node:test';
import { assertLinear } from '../../../test/support/growth.ts';
import { nameBlankColumn, nameColumns } from './header-names.ts';

test('repeated headers get the next free number and one warning each', () => {
  const names = nameColumns(['a', 'a', 'a_2', '', 'a', '__proto__', '__proto__'], 'exact', 2);
  assert.deepEqual(names.named, ['a', 'a_3', 'a_2', undefined, 'a_4', '__proto__', '__proto___2']);
  assert.deepEqual(
    names.warnings.map(({ code, column }) => [code, column]),
    [
      ['repeated-header', 'a_3'],
      ['repeated-header', 'a_4'],
      ['repeated-header', '__proto___2'],
    ],
  );
  assert.match(names.warnings[0]!.detail, /column C was named/);
});

test('a blank header over data is named by its column', () => {
  const names = nameColumns(['column_C', ''], 'exact', 1);
  assert.equal(nameBlankColumn(names, 'exact', 2, ''), 'column_B');
  assert.equal(nameBlankColumn(names, 'exact', 3, ''), 'column_C_2');
  assert.deepEqual(
    names.warnings.map((warning) => warning.code),
    ['blank-header', 'blank-header'],
  );
});

test('a header without letters or digits is named by its column in snake_case', () => {
  const names = nameColumns(['%'], 'snake_case', 1);
  assert.equal(nameBlankColumn(names, 'snake_case', 1, '%'), 'column_a');
  assert.match(names.warnings[0]!.detail, /under the header "%", which has no letter or digit; it/);
});

test('the column with the reasons of faulty rows keeps its name in snake_case', () => {
  assert.deepEqual(nameColumns(['_problem', 'Problem'], 'snake_case', 1).named, ['_problem', 'problem']);
});

test('headers are converted to snake_case', () => {
  const expected: [text: string, name: string | undefined][] = [
    ['Order ID', 'order_id'],
    ['orderId', 'order_id'],
    ['HTTPServer', 'http_server'],
    [' Größe (cm) ', 'größe_cm'],
    ['2024 Total', '2024_total'],
    ['Ärzte/Pflege', 'ärzte_pflege'],
    ['名前', '名前'],
    ['%', undefined],
  ];
  for (const [text, name] of expected) assert.equal(nameColumns([text], 'snake_case', 1).named[0], name);
  assert.deepEqual(nameColumns(['A b', 'a B'], 'snake_case', 1).named, ['a_b', 'a_b_2']);
});

test('the time to name columns of one header grows linearly with their number', async () => {
  await assertLinear((size) => {
    const names = nameColumns(new Array<string>(size).fill('same'), 'exact', 1);
    assert.equal(new Set(names.named).size, size);
  }, 8192);
});

test('a header longer than 63 bytes is cut between characters, and its name is unique', () => {
  const long = 'ä'.repeat(40);
  const cut = 'ä'.repeat(31);
  const { named, warnings } = nameColumns([long, `${long}x`, cut, 'a'.repeat(63)], 'exact', 2);
  assert.deepEqual(named, [`${'ä'.repeat(30)}_2`, `${'ä'.repeat(30)}_3`, cut, 'a'.repeat(63)]);
  for (const name of named) assert.ok(Buffer.byteLength(name!) <= 63, name);
  assert.deepEqual(
    warnings.map(({ code, column }) => [code, column]),
    [
      ['shortened-header', named[0]],
      ['shortened-header', named[1]],
    ],
  );
  assert.match(warnings[0]!.detail, new RegExp(`"${long}" of column B .* is named "${named[0]}"`));
});

test('a shortened header does not cut an emoji, and a long repeated one keeps its suffix', () => {
  const emoji = '🙂'.repeat(20);
  const full = 'b'.repeat(63);
  const { named } = nameColumns([emoji, full, full], 'exact', 1);
  assert.deepEqual(named, ['🙂'.repeat(15), full, `${'b'.repeat(61)}_2`]);
});

test('long headers of several rows that begin in the same way keep their ends, and others their beginnings', () => {
  const group = 'Population by age, sex and region of residence at the end of the year';
  const texts = [`${group} male`, `${group} female`, `${group} male`, `Other ${group}`, 'short'];
  const { named, warnings } = nameColumns(texts, 'exact', 1, true);
  assert.deepEqual(named, [
    'Population by age, sex and reg…ce at the end of the year male',
    'Population by age, sex and reg…at the end of the year female',
    'Population by age, sex and reg…ce at the end of the year ma_2',
    'Other Population by age, sex and region of residence at the end',
    'short',
  ]);
  assert.equal(warnings.length, 4);
  const umlauts = nameColumns([`${'ä'.repeat(50)}a`, `${'ä'.repeat(50)}b`], 'exact', 1, true).named;
  assert.deepEqual(umlauts, [`${'ä'.repeat(15)}…${'ä'.repeat(14)}a`, `${'ä'.repeat(15)}…${'ä'.repeat(14)}b`]);
  assert.deepEqual(nameColumns(texts.slice(0, 2), 'exact', 1).named[1], `${group.slice(0, 60)}_2`);
});
