/** Tests that the error catalogue, docs/errors.md, the OpenAPI document and the running service agree. */
import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { type ErrorCode, errorCatalogue } from '../../src/core/errors.ts';
import { allProblemCodes, problemCodes } from '../../src/core/problem-codes.ts';
import { warningCodes } from '../../src/core/warning-codes.ts';
import { errorDetails } from '../support/error-details.ts';
import { provocations, startServiceForErrors, unprovoked } from '../support/provoke-errors.ts';
import type { TestService } from '../support/service.ts';

const root = join(import.meta.dirname, '..', '..');
const codes = Object.keys(errorCatalogue) as ErrorCode[];
const documentation = readFileSync(join(root, 'docs', 'errors.md'), 'utf8');
const sections = new Map(
  documentation
    .split(/^(?=## )/m)
    .slice(1)
    .map((section) => [/^## (.*)$/m.exec(section)![1]!, section]),
);

let service: TestService;
/** The OpenAPI document. */
let document: {
  paths: Record<string, Record<string, { responses: Record<string, { description: string }> }>>;
};

before(async () => {
  service = await startServiceForErrors();
  document = (await service.get('/openapi.json', { token: null })).body;
});

// The last request stops the service.
after(() => service.stop().catch(() => {}));

test('every code has its section in docs/errors.md, in the order of the catalogue', () => {
  assert.deepEqual([...sections.keys()], codes);
});

test('each section states status, title and what to do', () => {
  for (const code of codes) {
    const { status, title } = errorCatalogue[code];
    const section = sections.get(code)!;
    assert(section.includes(`\n**${status}: ${title}.** `), `${code}: no "**${status}: ${title}.**"`);
    assert.match(section, /^\*\*What to do:\*\* \S/m, code);
  }
});

test('the overview lists every code under its status', () => {
  const listed = [...documentation.matchAll(/^\| (\d{3}) \| (.*) \|$/gm)].flatMap(([, status, links]) =>
    [...links!.matchAll(/\[`([\w-]+)`\]\(#\1\)/g)].map((link) => [link[1], Number(status)]),
  );
  assert.deepEqual(
    listed,
    codes.map((code) => [code, errorCatalogue[code].status]),
  );
});

test('docs/errors.md has the declared codes of problems with their meanings', () => {
  for (const [code, listed] of Object.entries(problemCodes)) {
    const text = sections.get(code)!;
    const rows = [...text.matchAll(/^\| (`[a-z`, -]+`) \| (.*) \|$/gm)].flatMap(([, cell, meaning]) =>
      [...cell!.matchAll(/`([a-z-]+)`/g)].map(([, problem]) => [problem, meaning]),
    );
    if (code === 'dependent-objects') assert.match(text, /the code `dependent-object`/);
    else assert.deepEqual(rows, Object.entries(listed), code);
  }
});

test('every code of a problem and of a warning is used in the source', () => {
  const source = globSync('src/*/**/*.ts', { cwd: root })
    .filter((file) => !file.endsWith('.test.ts'))
    .map((file) => readFileSync(join(root, file), 'utf8'))
    .join('\n');
  const unused = [...allProblemCodes, ...Object.keys(warningCodes)].filter(
    (code) => !source.includes(`'${code}'`),
  );
  assert.deepEqual(unused, []);
});

test('the OpenAPI document lists the codes, and each only under its own status', async () => {
  const { body: document } = await service.get('/openapi.json');
  assert.deepEqual(document.components.schemas.ProblemDocument.properties.code.enum, codes);
  assert.deepEqual(document.components.schemas.Problem.properties.code.examples, allProblemCodes);
  assert.deepEqual(document.components.schemas.Warning.properties.code.examples, Object.keys(warningCodes));
  const operations = Object.values(document.paths).flatMap((path) => Object.values(path as object));
  for (const { operationId, responses } of operations) {
    for (const [status, { description }] of Object.entries<{ description: string }>(responses)) {
      for (const [, code] of description.matchAll(/\/docs\/errors\/([\w-]+)/g)) {
        assert.equal(errorCatalogue[code as ErrorCode].status, Number(status), `${operationId}: ${code}`);
      }
    }
  }
});

test('/docs/errors/{code} serves the section', async () => {
  for (const code of codes) {
    const answer = await service.get(`/docs/errors/${code}`, { token: null });
    assert.equal(answer.status, 200);
    assert.equal(answer.headers.get('content-type'), 'text/markdown; charset=utf-8');
    assert.equal(answer.body, sections.get(code));
  }
  assert.equal((await service.get('/docs/errors/nothing')).body.code, 'path-not-found');
});

test('every code has at least one request that causes it', () => {
  assert.deepEqual([...Object.keys(provocations), ...unprovoked].sort(), codes.toSorted());
});

for (const [code, { request, send }] of Object.entries(provocations)) {
  test(`for ${code} the service answers with its code, title, status and detail`, async () => {
    const { status, headers, body } = await send(service);
    assert.equal(status, errorCatalogue[code as ErrorCode].status);
    const documented = await documentedAnswers(request);
    if (documented !== undefined && !codesOfHttp.includes(code)) {
      const { description = '' } = documented[status] ?? {};
      assert(
        description.includes(`(/docs/errors/${code})`),
        `the OpenAPI document lacks ${code} of: ${request}`,
      );
    }
    assert.match(headers.get('content-type')!, /^application\/problem\+json/);
    const { title } = errorCatalogue[code as ErrorCode];
    assert.deepEqual(
      [body.type, body.title, body.status, body.code],
      [`/docs/errors/${code}`, title, status, code],
    );
    assert.match(body.instance, /^urn:uuid:[\da-f-]{36}$/);
    assert.equal(body.detail, errorDetails[code as ErrorCode]);
    const [, shown = body.detail] = /^> (.*)$/m.exec(sections.get(code)!) ?? [];
    assert.equal(body.detail, shown);
    if (status === 429 || status === 503) assert.match(headers.get('retry-after')!, /^\d+$/);
    if (status === 401) assert.match(headers.get('www-authenticate')!, /^Bearer /);
  });
}

/** Errors of HTTP itself, which any request may have before it reaches an operation. */
const codesOfHttp = ['invalid-request', 'headers-too-large', 'expectation-failed'];

/** Returns the answers that the OpenAPI document has for the operation of a request; undefined: there is no such operation. */
async function documentedAnswers(
  request: string,
): Promise<Record<string, { description: string }> | undefined> {
  const [, method = '', path = ''] = /^(\S+) ([^\s,?]+)/.exec(request) ?? [];
  const found = Object.entries(document.paths).find(([template]) =>
    new RegExp(`^${template.replace(/\{\w+\}/g, '[^/]+')}$`).test(path),
  );
  return found?.[1][method.toLowerCase()]?.responses;
}
