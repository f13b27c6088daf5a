import assert from 'node:assert/strict';
import { test } from 'node:test';
import pg from 'pg';
import { AppError } from '../core/errors.ts';
import { loggedError } from './logged-error.ts';

function databaseError(fields: Partial<pg.DatabaseError>): pg.DatabaseError {
  return Object.assign(new pg.DatabaseError(fields.message ?? '', 0, 'error'), {
    severity: 'ERROR',
    ...fields,
  });
}

test('names and codes are kept, values are not', () => {
  const logged = loggedError(
    databaseError({
      message: 'invalid input syntax for type integer: "secret"',
      code: '22P02',
      detail: 'Key (a)=(secret) is wrong',
      where: 'COPY t, line 1, column a: "secret"',
      table: 't',
      column: 'a',
      routine: 'pg_strtoint32_safe',
    }),
  );
  assert.doesNotMatch(JSON.stringify(logged), /secret/);
  assert.equal(logged.code, '22P02');
  assert.equal(logged.table, 't');
  assert.match(logged.stack!, /^ {4}at /);
});

test("a message that only names objects is kept, unless a user's function raised it", () => {
  const message = 'syntax error at or near "x"';
  assert.equal(
    loggedError(databaseError({ message, code: '42601', routine: 'scanner_yyerror' })).message,
    message,
  );
  const raised = loggedError(databaseError({ message, code: 'XX000', routine: 'exec_stmt_raise' }));
  assert.equal(raised.message, undefined);
});

test('causes are logged in the same way, and problems are not logged', () => {
  const cause = databaseError({ message: 'secret', code: '23505' });
  const errors = [{ code: 'not-unique' as const, detail: 'y', value: 'secret' }];
  const logged = loggedError(new AppError('storage-full', 'No room.', { cause, errors }));
  assert.equal(logged.message, 'storage-full: No room.');
  assert.equal(logged.code, 'storage-full');
  assert.equal(logged.cause?.code, '23505');
  assert.doesNotMatch(JSON.stringify(logged), /secret/);
});

test('a thrown value that is not an error is logged by its type', () => {
  assert.deepEqual(loggedError('secret'), { type: 'string' });
});
