/** Sends a value of each kind that a column does not accept, and compares the code and the text of its problem. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import type { Problem } from '../../src/core/errors.ts';
import { problemCodes } from '../../src/core/problem-codes.ts';
import { startTestService, type TestService } from '../support/service.ts';

/** The code, the type of the column, the value in JSON, and the text of the problem. */
const problems: [string, string, string, string][] = [
  ['null-not-allowed', 'integer not null', 'null', 'a value is needed here'],
  [
    'not-a-boolean',
    'boolean',
    '"maybe"',
    'not a boolean: expected true or false, or the text t, f, yes, no, on, off, 1 or 0',
  ],
  ['not-a-whole-number', 'integer', '1.5', 'not a whole number, as integer needs it'],
  [
    'not-a-number',
    'numeric',
    '"1,5"',
    'not a number: expected digits with a point, as in -1234.5 or 1e6; send decimal_sign=, to read it',
  ],
  ['out-of-range', 'smallint', '32768', 'out of range for smallint'],
  ['out-of-range', 'numeric(4,1)', '1000', 'out of range for numeric(4,1)'],
  ['too-long', 'varchar(3)', '"abcd"', 'too long for character varying(3)'],
  ['nul-character', 'text', '"a\\u0000b"', 'contains the character U+0000, which PostgreSQL cannot store'],
  ['not-a-date', 'date', '"21.11.2026"', 'not a date: expected YYYY-MM-DD; send date_order=dmy to read it'],
  ['no-such-date', 'date', '"2026-02-30"', 'there is no such day, time of day or offset'],
  ['not-a-time', 'time', '"noon"', 'not a time of day: expected HH:MM:SS'],
  ['no-such-time', 'time', '"25:00"', 'there is no such time of day or offset'],
  [
    'not-a-timestamp',
    'timestamptz',
    '"now"',
    'not a date with a time: expected YYYY-MM-DD HH:MM:SS, or with T between; an offset as Z or +HH:MM',
  ],
  [
    'not-an-interval',
    'interval',
    '"soon"',
    "not an interval: expected '1 day 02:03:04' or ISO 8601, P1DT2H3M4S",
  ],
  ['not-a-uuid', 'uuid', '"0192f7a8"', 'not a UUID: expected 32 hexadecimal digits, 8-4-4-4-12'],
  ['not-bytes', 'bytea', '"\\\\xABC"', 'not a byte string: expected \\x and pairs of hexadecimal digits'],
  [
    'not-an-address',
    'inet',
    '"256.0.0.1"',
    'not a network address: expected 192.0.2.1, 192.0.2.0/24, 2001:db8::1 or 2001:db8::/32',
  ],
  ['host-bits-set', 'cidr', '"192.0.2.1/24"', 'not a network: bits are set to the right of the mask'],
  ['not-a-mac-address', 'macaddr', '"08:00"', 'not a MAC address: expected 08:00:2b:01:02:03'],
  ['not-an-enum-value', 'mood', '"angry"', "not a value of mood: expected 'sad', 'ok', 'happy'"],
  [
    'not-an-array',
    'integer[]',
    '1',
    "not an array: expected PostgreSQL's text form {1,2}, or, in JSON, [1, 2]",
  ],
  ['ragged-array', 'integer[]', '[[1, 2], [3]]', 'the inner arrays must all have the same length and depth'],
  ['too-many-dimensions', 'integer[]', '[[[[[[[1]]]]]]]', 'an array has at most 6 dimensions'],
  [
    'json-array-as-text',
    'jsonb[]',
    '"{1}"',
    'an array of JSON values must be sent as an array, not as text in braces',
  ],
  [
    'nested-value',
    'date',
    '{"y": 2026}',
    'an object or an array cannot go into date; json and jsonb take them',
  ],
  ['null-element', 'score[]', '[1, null]', 'an element must not be null here'],
  [
    'not-for-jsonb',
    'jsonb',
    '{"a": "\\u0000"}',
    'jsonb cannot store the character U+0000, half a surrogate pair or a number beyond numeric',
  ],
  ['invalid-input', 'point', '"here"', 'not a value that PostgreSQL reads as point'],
  [
    'check-violation',
    'percentage',
    '101',
    'does not pass the check "percentage_check": ((VALUE >= 0) AND (VALUE <= 100))',
  ],
];

let service: TestService;
before(async () => {
  service = await startTestService();
  await service.rows(`
    CREATE TYPE mood AS ENUM ('sad', 'ok', 'happy');
    CREATE DOMAIN percentage AS integer CHECK (VALUE BETWEEN 0 AND 100);
    CREATE DOMAIN score AS integer NOT NULL`);
});
after(() => service.stop());

for (const [code, columnType, value, detail] of problems) {
  test(`${value} for ${columnType} is the problem ${code}`, async () => {
    const type = columnType.replace(' not null', '');
    const table = { columns: [{ name: 'v', type, is_nullable: type === columnType }] };
    const answer = await service.request('POST', '/table/nothing/upload/json', {
      body: `{"table":${JSON.stringify(table)},"data":[{"v":${value}}]}`,
      headers: { 'content-type': 'application/json' },
    });
    assert.equal(answer.status, 422, JSON.stringify(answer.body));
    assert.equal(answer.body.error_count, 1);
    const [problem] = answer.body.errors;
    assert.deepEqual([problem.code, problem.detail], [code, detail]);
    const pointer = code === 'null-element' ? '/data/0/v/1' : '/data/0/v';
    assert.deepEqual([problem.row, problem.column, problem.pointer], [1, 'v', pointer]);
  });
}

test('every code of a problem of a JSON value is tried', () => {
  const tried = new Set(problems.map(([code]) => code));
  const ofValues = Object.keys(problemCodes['invalid-data']).filter((code) =>
    /^(?:not-a|no-such-(?:date|time)|nul|too-(?:long|many-dimensions)|out-of-range|host-bits)/.test(code),
  );
  assert.deepEqual(
    ofValues.filter((code) => !tried.has(code)),
    [],
  );
});

for (const [action, rows] of [
  ['update', ['here', '(1,2)']],
  ['skip', ['(1,2)', 'here']],
] as const) {
  test(`a value that only PostgreSQL reads is a problem with on_conflict=${action} also if another row of the upload has the key`, async () => {
    const table = `doubled_${action}`;
    await service.rows(`CREATE TABLE ${table} (id integer PRIMARY KEY, v point)`);
    const upload = (more: string) =>
      service.post(`/table/${table}/upload/json?if_exists=append&on_conflict=${action}${more}`, {
        data: rows.map((v) => ({ id: 1, v })),
      });
    const refused = await upload('');
    assert.equal(refused.status, 422, JSON.stringify(refused.body));
    const faults = refused.body.errors.map(({ row, column, code }: Problem) => [row, column, code]);
    assert.deepEqual(faults, [[rows.indexOf('here') + 1, 'v', 'invalid-input']]);
    const leftOut = await upload('&faulty_rows=leave_out');
    assert.equal(leftOut.status, 200, JSON.stringify(leftOut.body));
    assert.deepEqual([leftOut.body.load.rows, leftOut.body.load.left_out.length], [1, 1]);
  });
}
