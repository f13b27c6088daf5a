import assert from 'node:assert/strict';
import { test } from 'node:test';
import pg from 'pg';
import { AppError, errorCatalogue } from '../core/errors.ts';
import { createPool } from './pool.ts';
import { isFailureOfExpression, isRefusalOfData, sqlstateRules, toAppError } from './sqlstate.ts';

function postgresError(code: string, fields: Partial<pg.DatabaseError> = {}): pg.DatabaseError {
  return Object.assign(new pg.DatabaseError('secret SQL text', 0, 'error'), {
    code,
    severity: 'ERROR',
    ...fields,
  });
}

/** Classes whose errors show PostgreSQL's message to the caller: about features, states and privileges, and messages of functions of the table. */
const tellsTheMessage = /^(0A|55|42501|42704|42710|42P07|P0|P0001|09|20|26|27|2F|38|39|HV)$/;

function codeOf(error: unknown): string | undefined {
  const result = toAppError(error);
  return result instanceof AppError ? result.code : undefined;
}

test('each SQLSTATE or its class has its error code', () => {
  const expected: Record<string, string | undefined> = {
    '08006': 'database-unavailable',
    '28P01': 'database-unavailable',
    '57P01': 'database-unavailable',
    '57P03': 'database-unavailable',
    '57P05': 'database-unavailable',
    '25P03': 'database-unavailable',
    '25P04': 'database-unavailable',
    '53300': 'database-unavailable',
    '58000': 'database-unavailable',
    '58030': 'database-unavailable',
    '58P01': undefined,
    '53100': 'storage-full',
    '55P03': 'database-busy',
    '57014': 'database-busy',
    '40001': 'write-conflict',
    '40P01': 'write-conflict',
    '42501': 'permission-denied',
    '3F000': 'schema-not-found',
    '42P01': 'table-not-found',
    '42P07': 'table-exists',
    '2BP01': 'dependent-objects',
    '42830': 'invalid-definition',
    '54011': 'invalid-definition',
    '23505': 'invalid-data',
    '23503': 'invalid-data',
    '23514': 'invalid-data',
    '23502': 'invalid-data',
    '22P02': 'invalid-data',
    '22003': 'invalid-data',
    P0001: 'invalid-data',
    P0004: 'invalid-data',
    '0A000': 'invalid-parameter',
    '21000': 'invalid-data',
    '54000': 'invalid-data',
    '54001': 'invalid-data',
    '55000': 'invalid-parameter',
    // Only a trigger can raise this one.
    U0001: 'invalid-data',
    '45000': 'invalid-data',
    HV00N: 'database-unavailable',
    HV000: 'invalid-data',
    // These are errors of the service: a syntax error, an internal error.
    '42601': undefined,
    XX000: undefined,
  };
  for (const [sqlstate, code] of Object.entries(expected))
    assert.equal(codeOf(postgresError(sqlstate)), code, sqlstate);
});

test('an error that a trigger raises is a refusal of the data, with every SQLSTATE', () => {
  const raised = (code: string) => postgresError(code, { routine: 'exec_stmt_raise', where: 'PL/pgSQL …' });
  for (const code of ['P0001', 'U0001', '45000', '42P01', '22023', '23514', '0A000', '02000', '2F003']) {
    const { code: answered, detail } = toAppError(raised(code)) as AppError;
    assert.deepEqual([answered, detail.includes('secret SQL text')], ['invalid-data', true], code);
  }
  for (const code of ['40001', '57014', '53200', '55P03'])
    assert.equal(codeOf(raised(code)), 'invalid-data', code);
  assert.equal(codeOf(raised('42501')), 'permission-denied');
  assert.equal(codeOf(raised('XX000')), 'invalid-data');
  assert.equal(codeOf(raised('XX001')), undefined);
});

test('an error inside a function of the table is reported as one of that function', () => {
  const where = 'SQL statement "…"\nPL/pgSQL-Funktion f() Zeile 1 bei SQL-Anweisung';
  for (const code of ['42P01', '42703', '42601', '2BP01', '27000', '39004']) {
    const { code: answered, detail } = toAppError(postgresError(code, { where })) as AppError;
    assert.deepEqual([answered, /function of the database/.test(detail)], ['invalid-data', true], code);
  }
  assert.equal(codeOf(postgresError('42501', { where })), 'permission-denied');
  assert.equal(codeOf(postgresError('40P01', { where })), 'write-conflict');
});

test('a function is recognized in every language, and never by the text of a query or the name of a table', () => {
  const contexts = [
    'función PL/pgSQL f() en la línea 1',
    'SQL-Funktion »f« Anweisung 1',
    'PL/pgSQL関数f()の1行目',
  ];
  for (const where of contexts)
    assert.equal(codeOf(postgresError('42P01', { where })), 'invalid-data', where);
  for (const where of ['COPY SQL, line 1', 'Context "PL/pgSQL function" …', '']) {
    assert.equal(codeOf(postgresError('42P01', { where })), 'table-not-found', where);
  }
});

test('a change of the catalogue by another session is a conflict, and not a problem of the data or a bug of the service', () => {
  const messages = [
    'cache lookup failed for relation 16384',
    'could not open relation with OID 16384',
    'tuple concurrently updated',
    'tuple concurrently deleted',
    'could not find tuple for constraint 16384',
    'could not find pg_class tuple for index 16384',
    'pg_attribute catalog is missing 1 attribute(s) for relation OID 16384',
  ];
  for (const message of messages) {
    assert.equal(codeOf(postgresError('XX000', { message })), 'write-conflict', message);
    const raised = postgresError('XX000', { message, routine: 'exec_stmt_raise' });
    assert.equal(codeOf(raised), 'invalid-data', message);
  }
  const lost = {
    '42P01': 'Relation mit OID 16384 existiert nicht',
    '42703': 'attribute 2 of relation with OID 16384 does not exist',
    '42704': 'type with OID 16384 does not exist',
    '3F000': 'schema with OID 16384 does not exist',
  };
  for (const [code, message] of Object.entries(lost)) {
    assert.equal(codeOf(postgresError(code, { message })), 'write-conflict', message);
    const where = 'PL/pgSQL function f() line 1 at SQL statement';
    assert.equal(codeOf(postgresError(code, { message, where })), 'invalid-data', message);
  }
  const inCatalogue = { schema: 'pg_catalog', table: 'pg_type', constraint: 'pg_type_typname_nsp_index' };
  assert.equal(codeOf(postgresError('23505', inCatalogue)), 'write-conflict');
  assert.ok(!isRefusalOfData(postgresError('23505', inCatalogue)));
});

test('every rule has a code of the catalogue and never repeats a value, and only a few repeat the message', () => {
  for (const [sqlstate, rule] of Object.entries(sqlstateRules)) {
    assert(rule.code in errorCatalogue, sqlstate);
    const error = postgresError(sqlstate, {
      detail: 'Key (id)=(4711) exists',
      where: 'COPY t, line 1: "4711"',
    });
    const { detail } = toAppError(error) as AppError;
    assert.doesNotMatch(detail, /4711/, sqlstate);
    assert.equal(detail.includes('secret'), tellsTheMessage.test(sqlstate), sqlstate);
  }
});

test('the message names the constraint or the column', () => {
  const duplicate = toAppError(
    postgresError('23505', { constraint: 'orders_pkey', table: 'orders' }),
  ) as AppError;
  assert.equal(duplicate.detail, 'Two rows have the same key ("orders_pkey" of the table "orders").');
  const missing = toAppError(postgresError('23502', { column: 'price' })) as AppError;
  assert.equal(missing.detail, 'A value is missing in the column "price": null is not allowed.');
});

test('temporary errors say when to retry, and keep the cause for the log', () => {
  const error = postgresError('55P03');
  const busy = toAppError(error) as AppError;
  assert.deepEqual(busy.headers, { 'retry-after': '5' });
  assert.equal(busy.cause, error);
  assert.deepEqual((toAppError(postgresError('23505')) as AppError).headers, {});
});

test('a database that does not answer is unavailable', async () => {
  const pool = createPool(
    { url: 'postgresql://u:p@127.0.0.1:1/d', poolSize: 1, statementTimeoutMs: 0 },
    { info() {}, warn() {} },
  );
  const error = await pool.connect().then(
    () => undefined,
    (reason) => reason,
  );
  assert.equal(codeOf(error), 'database-unavailable');
  await pool.end();
  assert.equal(codeOf(new Error('Connection terminated unexpectedly')), 'database-unavailable');
  assert.equal(codeOf(new AggregateError([error])), 'database-unavailable');
});

test('a pool without a free connection names the setting of its size', () => {
  const { code, detail } = toAppError(new Error('timeout exceeded when trying to connect')) as AppError;
  assert.equal(code, 'database-busy');
  assert.match(detail, /\(DATABASE_POOL_SIZE\)/);
});

test('errors that are not of PostgreSQL are returned unchanged', () => {
  // A client that disconnects gives the same code as a lost connection to the database, but without a system call.
  const hangUp = Object.assign(new Error('aborted'), { code: 'ECONNRESET' });
  for (const error of [hangUp, new Error('boom'), new AppError('table-exists', 'x'), 'text', undefined]) {
    assert.equal(toAppError(error), error);
  }
});

test('only errors about the content of rows are refusals of data', () => {
  assert(isRefusalOfData(postgresError('22P02')));
  assert(isRefusalOfData(postgresError('23505')));
  assert(!isRefusalOfData(postgresError('57014')));
  assert(!isRefusalOfData(new Error('x')));
});

test('a full disk is never a problem of a row', () => {
  for (const where of ['COPY orders, line 2000', 'PL/pgSQL function f() line 1 at SQL statement']) {
    const error = postgresError('53100', { where });
    assert(!isFailureOfExpression(error), where);
    assert.equal(codeOf(error), 'storage-full', where);
  }
});

test('a full disk is also recognized by the message of the operating system', () => {
  for (const code of ['53100', '58030', 'XX000', 'XX001']) {
    const error = postgresError(code, {
      message: 'could not write to file "base/1/2": No space left on device',
    });
    assert.equal(codeOf(error), 'storage-full', code);
    assert.match((toAppError(error) as AppError).headers['retry-after']!, /^[1-9]\d*$/);
  }
  assert.equal(codeOf(postgresError('P0001', { message: 'No space left on device' })), 'invalid-data');
});

test('an error of TLS means that the database is unavailable', () => {
  for (const code of ['CERT_HAS_EXPIRED', 'ERR_TLS_CERT_ALTNAME_INVALID', 'ERR_SSL_TLSV1_ALERT_UNKNOWN_CA']) {
    assert.equal(codeOf(Object.assign(new Error('TLS'), { code })), 'database-unavailable', code);
  }
});

test('a file that does not exist does not mean that the database is unavailable', () => {
  const missing = (syscall: string) => Object.assign(new Error('missing'), { code: 'ENOENT', syscall });
  assert.equal(codeOf(missing('connect')), 'database-unavailable');
  assert.equal(toAppError(missing('open')) instanceof AppError, false);
});
