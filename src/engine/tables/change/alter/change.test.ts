import assert from 'node:assert/strict';
import { test } from 'node:test';
import { qualified } from '../../../../postgres/callers-statement.ts';
import { type Change, mergeStatements } from './change.ts';
import { plain } from './column-changes.ts';

const alter = (clauses: string[]) => qualified`ALTER TABLE t ${clauses.join(', ')}`;

function change(statement: string, clauses?: string[], isType = false): Change {
  const part = { change: 'set-not-null', detail: '', pointer: '', statements: [qualified`${statement}`] };
  return { ...plain, ...part, ...(clauses && { clauses }), ...(isType && { conversion: {} }) } as Change;
}

test('changes of columns beside each other become one statement, but at the workers of Citus only new types', () => {
  const changes = [
    change('1', ['ALTER a SET NOT NULL']),
    change('2', ['ALTER b SET NOT NULL']),
    change('COMMENT'),
    change('3', ['ALTER a TYPE int'], true),
    change('4', ['ALTER b TYPE int'], true),
  ];
  const types = 'ALTER TABLE t ALTER a TYPE int, ALTER b TYPE int';
  const rules = 'ALTER TABLE t ALTER a SET NOT NULL, ALTER b SET NOT NULL';
  assert.deepEqual(mergeStatements(changes, alter, false).map(String), [rules, 'COMMENT', types]);
  assert.deepEqual(mergeStatements(changes, alter, true).map(String), ['1', '2', 'COMMENT', types]);
});
