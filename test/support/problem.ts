/** Checks that every error answer must pass, so that each test of an error checks the whole answer. */
import assert from 'node:assert/strict';
import { type ErrorCode, errorCatalogue, type Problem, type Warning } from '../../src/core/errors.ts';
import type { TestAnswer } from './service.ts';

export interface ProblemBody {
  detail: string;
  errors: Problem[];
  error_count: number;
  warnings: Warning[];
}

/** Matches SQL (except the name of a privilege), a stack or a path of this machine, which an answer must not have. */
const leak =
  /\b((?<!lacks )SELECT|INSERT INTO|CREATE TABLE|ALTER TABLE|COPY "|SAVEPOINT|PGCOPY|LIMIT \d)|\bat .+:\d+:\d+|node_modules|\/src\/|\/tmp\/|\.ts\b/;

/** Checks an RFC 9457 answer and returns its body. `errors` is empty if the answer lists none. */
export function assertProblem(answer: TestAnswer, status: number, code: ErrorCode): ProblemBody {
  const { body } = answer;
  assert.equal(answer.status, status, `${answer.status} ${JSON.stringify(body)}`);
  assert.equal(answer.headers.get('content-type'), 'application/problem+json');
  assert.equal(body.code, code, JSON.stringify(body));
  assert.equal(body.status, status);
  assert.equal(body.title, errorCatalogue[code].title);
  assert.equal(body.type, `/docs/errors/${code}`);
  assert.equal(typeof body.detail, 'string');
  assert.match(body.instance, /^urn:uuid:[0-9a-f-]{36}$/);
  assert.equal(errorCatalogue[code].status, status);
  assert.doesNotMatch(JSON.stringify(body), leak);
  if (body.errors !== undefined) {
    assert.ok(body.errors.length <= 100);
    assert.ok(body.error_count >= body.errors.length);
    for (const problem of body.errors) {
      assert.match(problem.code, /^[a-z-]+$/);
      assert.equal(typeof problem.detail, 'string');
      assert.equal('parameter' in problem, code === 'invalid-parameter', JSON.stringify(problem));
    }
  }
  assert.notEqual(body.warnings?.length, 0);
  const { detail, errors = [], error_count = 0, warnings = [] } = body;
  return { detail, errors, error_count, warnings };
}

/** Returns the problems without their sentences, for comparing. */
export function places(errors: Problem[]): Partial<Problem>[] {
  return errors.map(({ detail: _, ...place }) => place);
}
