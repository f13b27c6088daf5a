import assert from 'node:assert/strict';
import { test } from 'node:test';
import { DatabaseError } from 'pg';
import { AppError } from '../../core/errors.ts';
import { isOfFunction, isRaised } from '../server-internals.ts';
import { sqlstateFor, toAppError } from '../sqlstate.ts';
import { completeName, hideShards, hideWorker, lacksSqlstate } from './worker-errors.ts';

type Fields = Partial<
  Record<'code' | 'detail' | 'file' | 'where' | 'constraint' | 'table' | 'column', string>
>;

function errorOf(message: string, fields: Fields): DatabaseError {
  return Object.assign(new DatabaseError(message, 0, 'error'), { severity: 'ERROR', ...fields });
}

const internal = sqlstateFor('internal_error');
const ofCopy = { code: internal, file: 'multi_copy.c' };

function hidden(message: string, fields: Fields): Record<string, unknown> {
  const error = errorOf(message, fields);
  hideWorker(error);
  const { code, message: said, detail, constraint, table, column, where } = error;
  return JSON.parse(JSON.stringify({ code, said, detail, constraint, table, column, where }));
}

test('the error of a failed COPY gets the SQLSTATE, the names and the message that it has without Citus', () => {
  assert.deepEqual(
    hidden('duplicate key value violates unique constraint "t_code_key_102043"', {
      ...ofCopy,
      detail: 'Key (code)=(A_102043) already exists.',
    }),
    {
      code: sqlstateFor('unique_violation'),
      said: 'duplicate key value violates unique constraint "t_code_key"',
      detail: 'Key (code)=(A_102043) already exists.',
      constraint: 't_code_key',
    },
  );
  assert.deepEqual(
    hidden('insert or update on table "t_102043" violates foreign key constraint "t_p_fkey_102043"', {
      ...ofCopy,
      detail: 'Key (p)=(5) is not present in table "p_102050".',
    }),
    {
      code: sqlstateFor('foreign_key_violation'),
      said: 'insert or update on table "t" violates foreign key constraint "t_p_fkey"',
      detail: 'Key (p)=(5) is not present in table "p".',
      table: 't',
      constraint: 't_p_fkey',
    },
  );
});

test('a CHECK keeps its name, which may end with a number', () => {
  const { said, table, constraint } = hidden(
    'new row for relation "t_102043" violates check constraint "after_102043"',
    ofCopy,
  );
  assert.equal(said, 'new row for relation "t" violates check constraint "after_102043"');
  assert.deepEqual({ table, constraint }, { table: 't', constraint: 'after_102043' });
});

test('an error of a worker keeps its SQLSTATE and loses the address of the worker', () => {
  assert.deepEqual(
    hidden('null value in column "code" of relation "t_102043" violates not-null constraint', {
      code: sqlstateFor('not_null_violation'),
      file: 'remote_commands.c',
      where: 'PL/pgSQL function f() line 1\nwhile executing command on 10.1.2.3:5432',
    }),
    {
      code: sqlstateFor('not_null_violation'),
      said: 'null value in column "code" of relation "t" violates not-null constraint',
      column: 'code',
      table: 't',
      where: 'PL/pgSQL function f() line 1\nwhile executing command on a worker',
    },
  );
});

test('a name that Citus has shortened is completed by its hash', () => {
  const name = 'kkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkk';
  const error = errorOf(
    `duplicate key value violates unique constraint "${name.slice(0, 47)}_36dbe386_102792"`,
    ofCopy,
  );
  hideWorker(error);
  assert.doesNotMatch(error.message, /36dbe386|102792/);
  const other = `${name}_2`;
  completeName(
    error,
    new Map([
      ['00000000', other],
      ['36dbe386', name],
    ]),
  );
  assert.equal(error.message, `duplicate key value violates unique constraint "${name}"`);
  assert.equal(error.constraint, name);
});

test('a worker that cannot be reached is an unavailable database, and the log keeps the address', () => {
  const cases: [string, Fields][] = [
    [
      'connection to the remote node me@10.1.2.3:5432 failed with the following error: Connection refused',
      { code: '08006', file: 'remote_commands.c' },
    ],
    ['failed to COPY to shard 102043 on 10.1.2.3:5432', { code: '58030', file: 'multi_copy.c' }],
    [
      'failure on connection marked as essential: 10.1.2.3:5432',
      { code: internal, file: 'remote_transaction.c' },
    ],
    [
      'server closed the connection unexpectedly',
      { code: internal, file: 'remote_commands.c', where: 'while executing command on 10.1.2.3:5432' },
    ],
  ];
  for (const [message, fields] of cases) {
    const error = errorOf(message, { ...fields, detail: 'failed to send 12 bytes a secret' });
    hideWorker(error);
    const answered = toAppError(error) as AppError;
    assert.ok(answered instanceof AppError, message);
    assert.equal(answered.code, 'database-unavailable');
    assert.ok(answered.headers['retry-after']);
    assert.doesNotMatch(JSON.stringify([answered.detail, error.message, error.detail]), /10\.1\.2|secret/);
    assert.equal((error.cause as Error).message, message);
  }
});

test('a role without LOGIN gets an error that says what it needs', () => {
  const error = errorOf(
    'connection to the remote node r@10.1.2.3:5432 failed with the following error: FATAL:  role "r" is not permitted to log in',
    { code: '08006', file: 'remote_commands.c' },
  );
  hideWorker(error);
  const answered = toAppError(error) as AppError;
  assert.equal(answered.code, 'permission-denied');
  assert.match(answered.detail, /the role "r" needs LOGIN/);
});

test('an error of a failed COPY that names no row is not an error of the data', () => {
  const codeOf = (message: string) => {
    const error = errorOf(message, ofCopy);
    hideWorker(error);
    const answered = toAppError(error);
    return answered instanceof AppError ? answered.code : error.code;
  };
  const cases = {
    'cannot execute COPY FROM in a read-only transaction': 'database-unavailable',
    'relation "public.orders_102043" does not exist': 'write-conflict',
    'cache lookup failed for relation 16432': 'write-conflict',
    'could not open relation with OID 16432': 'write-conflict',
    'relation "rates" does not exist': internal,
    'function f(integer) does not exist': internal,
    'could not read block 0 in file "base/5/16432": read only 0 of 8192 bytes': internal,
    'doppelter Schlüsselwert verletzt Unique-Constraint »t_pkey_102043«': 'invalid-data',
    'Fehler beim Lesen der Datei »base/5/16432«': internal,
    'invalid page in block 0 of relation "größe_102043"': internal,
    'value for domain positive violates check constraint "positive_check"': 'invalid-data',
    'value too long for type character varying(3)': 'invalid-data',
    'new row violates row-level security policy for table "orders_102043"': 'invalid-data',
  };
  for (const [message, code] of Object.entries(cases)) assert.equal(codeOf(message), code, message);
});

test('an error that a function raises is of the function, whatever its message says about workers', () => {
  const where = (at: string) =>
    `PL/pgSQL function f() line 1 at ${at}\nwhile executing command on 10.1.2.3:5432`;
  for (const at of ['RAISE', 'SQL statement']) {
    const error = errorOf('connection not open', {
      code: 'AB123',
      file: 'remote_commands.c',
      where: where(at),
    });
    hideWorker(error);
    assert.deepEqual([error.code, isRaised(error), isOfFunction(error)], ['AB123', at === 'RAISE', true]);
  }
});

test('a failed COPY has no SQLSTATE if its message is not known', () => {
  const isUnknown = (message: string) => {
    const error = errorOf(message, ofCopy);
    hideWorker(error);
    return lacksSqlstate(error);
  };
  for (const message of ['thirteen is unlucky', 'division by zero', 'Division durch Null'])
    assert.equal(isUnknown(message), true, message);
  for (const message of [
    'duplicate key value violates unique constraint "t_code_key_102043"',
    'canceling statement due to lock timeout',
    'connection not open',
  ])
    assert.equal(isUnknown(message), false, message);
});

test('a shard that another session has moved is a conflict, and a table that a function does not find is not', () => {
  const codeOf = (where: string) =>
    hidden('relation "t_102043" does not exist', {
      code: sqlstateFor('undefined_table'),
      file: 'remote_commands.c',
      where: `${where}while executing command on 10.1.2.3:5432`,
    }).code;
  assert.equal(codeOf(''), sqlstateFor('serialization_failure'));
  assert.equal(codeOf('PL/pgSQL function f() line 1\n'), sqlstateFor('undefined_table'));
});

test('a table that cannot be created while shards are moved is an error about a lock', () => {
  const message = 'could not acquire the lock required to colocate distributed table public.orders';
  const error = errorOf(message, { code: internal, file: 'shard_rebalancer.c' });
  hideWorker(error);
  assert.equal((toAppError(error) as AppError).code, 'database-busy');
});

test('only the addresses of workers are hidden, and not other text with a colon', () => {
  const where = 'while executing command on 10.1.2.3:5432';
  const fields = { code: sqlstateFor('check_violation'), file: 'remote_commands.c', where };
  const said = (message: string) => hidden(message, fields).said;
  assert.equal(said('open from 08:00 to 17:30 a:80'), 'open from 08:00 to 17:30 a:80');
  assert.equal(said('10.1.2.3:5432 said no'), 'a worker said no');
  assert.equal(said('Adding event for node w-1.example:5432 failed'), 'Adding event for a worker failed');
  assert.equal(said('node "[::1]:5432" does not exist'), 'a worker does not exist');
});

test('the number of a shard is removed only from names of tables and indexes', () => {
  const said = (message: string) => hidden(message, ofCopy).said;
  assert.equal(said('permission denied for table orders_102043'), 'permission denied for table orders');
  assert.equal(said('must be owner of table "my orders_102043"'), 'must be owner of table "my orders"');
  assert.equal(
    said('column "c_102043" of relation "t_102043" does not exist'),
    'column "c_102043" of relation "t" does not exist',
  );
  assert.equal(
    said('index row size 2744 exceeds btree version 4 maximum 2704 for index "t_v_idx_102043"'),
    'index row size 2744 exceeds btree version 4 maximum 2704 for index "t_v_idx"',
  );
  assert.equal(said('send these rows to "sales_202401"'), 'send these rows to "sales_202401"');
});

test('a row that another table refers to is answered with the names of both tables', () => {
  const { said, detail, table, constraint } = hidden(
    'update or delete on table "p_102050" violates foreign key constraint "t_p_fkey_102043" on table "t_102043"',
    {
      code: sqlstateFor('foreign_key_violation'),
      file: 'remote_commands.c',
      detail: 'Key (id)=(1) is still referenced from table "t_102043".',
    },
  );
  assert.equal(said, 'update or delete on table "p" violates foreign key constraint "t_p_fkey" on table "t"');
  assert.equal(detail, 'Key (id)=(1) is still referenced from table "t".');
  assert.deepEqual({ table, constraint }, { table: 't', constraint: 't_p_fkey' });
});

test('errors of PostgreSQL itself are not changed', () => {
  const message = 'duplicate key value violates unique constraint "t_102043"';
  const fields = { code: sqlstateFor('unique_violation'), file: 'nbtinsert.c', constraint: 't_102043' };
  assert.deepEqual(hidden(message, fields), { code: fields.code, said: message, constraint: 't_102043' });
});

test('an error that a function has caught gets its names, too', () => {
  const error = errorOf('duplicate key value violates unique constraint "t_pkey_102043"', { code: internal });
  hideShards(error);
  assert.equal(error.code, sqlstateFor('unique_violation'));
  assert.equal(error.constraint, 't_pkey');
});
