/**
 * Tests that the OpenAPI document is complete and describes the service, and that its reference page loads nothing from other
 * servers.
 */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import Schema from 'typebox/schema';
import { readOpenApiDocument } from '../../scripts/client-types/openapi-document.ts';
import { planForm } from '../support/plan-form.ts';
import { startTestService, type TestService } from '../support/service.ts';

const root = join(import.meta.dirname, '..', '..');
const examples = join(root, 'examples');

interface Operation {
  operationId: string;
  summary: string;
  description: string;
  tags: string[];
  security: Record<string, string[]>[];
  parameters?: Parameter[];
  requestBody?: { content: Record<string, { schema: object; example?: unknown }> };
  responses: Record<string, Response>;
}

interface Response {
  $ref?: string;
  description: string;
  headers?: object;
  content?: Record<string, { schema: object }>;
}

interface Parameter {
  name: string;
  in: string;
  required: boolean;
  description: string;
  schema: { type: string; enum?: string[]; default?: unknown; examples?: unknown[] };
}

let service: TestService;
// biome-ignore lint/suspicious/noExplicitAny: a document whose shape is what is tested
let document: any;
let operations: { method: string; path: string; operation: Operation }[];

before(async () => {
  service = await startTestService();
  document = (await service.get('/openapi.json', { token: null })).body;
  operations = Object.entries<Record<string, Operation>>(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ method, path, operation })),
  );
});

after(() => service.stop());

test('the document has a title, a description and a version', () => {
  assert.match(document.openapi, /^3\.1\.\d$/);
  for (const name of ['title', 'version', 'description', 'license', 'contact'])
    assert(document.info[name], name);
  assert(document.servers.length > 0);
  for (const limit of [
    '`MAX_BODY_BYTES`: 10 GiB',
    '`MAX_ROWS`: 100,000,000 rows',
    '`BODY_IDLE_TIMEOUT_MS`: 30 s',
    '`MIN_BODY_BYTES_PER_SECOND`: 1 KiB per second',
  ]) {
    assert(
      document.info.description.includes(`- ${limit}\n`) || document.info.description.endsWith(limit),
      limit,
    );
  }
});

test('the operations of the contract are there', () => {
  assert.deepEqual(operations.map(({ method, path }) => `${method} ${path}`).sort(), [
    'delete /api/v1/profiles/{name}',
    'delete /api/v1/table/{table_name}',
    'delete /api/v1/webhooks/{id}',
    'get /api/v1/events',
    'get /api/v1/loads',
    'get /api/v1/loads/{id}',
    'get /api/v1/loads/{id}/changes',
    'get /api/v1/loads/{id}/events',
    'get /api/v1/loads/{id}/faulty-rows',
    'get /api/v1/loads/{id}/problems',
    'get /api/v1/profiles',
    'get /api/v1/profiles/{name}',
    'get /api/v1/table/{table_name}',
    'get /api/v1/table/{table_name}/rows',
    'get /api/v1/tables',
    'get /api/v1/types',
    'get /api/v1/webhooks',
    'get /api/v1/webhooks/{id}/deliveries',
    'get /healthz',
    'get /readyz',
    'get /version',
    'patch /api/v1/table/{table_name}',
    'post /api/v1/inspect/excel',
    'post /api/v1/inspect/json',
    'post /api/v1/loads',
    'post /api/v1/loads/{id}/cancel',
    'post /api/v1/table/{table_name}',
    'post /api/v1/table/{table_name}/upload/excel',
    'post /api/v1/table/{table_name}/upload/json',
    'post /api/v1/webhooks',
    'post /api/v1/webhooks/{id}/ping',
    'put /api/v1/profiles/{name}',
    'put /api/v1/table/{table_name}',
  ]);
});

test('the description and docs/versions.md say how an operation is retired', () => {
  const page = readFileSync(join(root, 'docs', 'versions.md'), 'utf8');
  for (const text of [document.info.description, page])
    for (const part of ['12 months', '`Deprecation` (RFC 9745)', '`Sunset` (RFC 8594)'])
      assert.ok(text.includes(part), part);
});

test('each operation has its own id, a description, a tag, its security and its answers', () => {
  const tags = document.tags.map((tag: { name: string }) => tag.name);
  for (const { path, operation } of operations) {
    const { operationId, responses } = operation;
    assert.match(operationId, /^[a-z][A-Za-z]+$/);
    assert(operation.summary && operation.description, operationId);
    assert(operation.tags.length > 0 && operation.tags.every((tag) => tags.includes(tag)), operationId);
    assert.deepEqual(operation.security, path.startsWith('/api/') ? [{ bearer: [] }] : [], operationId);
    assert(
      Object.keys(responses).some((status) => status.startsWith('2')),
      operationId,
    );
    for (const [status, response] of Object.entries(responses)) {
      const { description } = response;
      const { content = {}, headers = {} } = followed(response);
      for (const [name, header] of Object.entries(headers))
        assert('schema' in (header as object), `${operationId} ${name}`);
      assert(description, `${operationId} ${status}`);
      const ofStream = path.endsWith('/events') ? 'text/event-stream' : 'application/json';
      const ofSuccess = path.endsWith('/faulty-rows') ? 'text/csv' : ofStream;
      const type = status.startsWith('2') ? ofSuccess : 'application/problem+json';
      assert.deepEqual(Object.keys(content), [type], `${operationId} ${status}`);
    }
  }
  assert.equal(new Set(operations.map(({ operation }) => operation.operationId)).size, operations.length);
  assert.equal(document.components.securitySchemes.bearer.scheme, 'bearer');
});

test('the error answer of a status is defined once, and each operation refers to it', () => {
  for (const { operation } of operations) {
    for (const [status, { $ref, content }] of Object.entries(operation.responses)) {
      assert.equal($ref !== undefined, !status.startsWith('2'), `${operation.operationId} ${status}`);
      assert.equal(content === undefined, $ref !== undefined);
    }
  }
});

test('the path parameters come first', () => {
  for (const { operation } of operations) {
    const places = (operation.parameters ?? []).map((parameter) => parameter.in);
    assert.deepEqual(
      places,
      places.toSorted((a, b) => Number(b === 'path') - Number(a === 'path')),
    );
  }
});

test('the file of a form is binary and its JSON part is declared as JSON, for generators of clients', () => {
  for (const id of ['uploadTableFromExcel', 'inspectExcel']) {
    const { operation } = operations.find(({ operation }) => operation.operationId === id)!;
    const form = operation.requestBody!.content['multipart/form-data']!;
    const { properties } = followed(form.schema as Response) as unknown as {
      properties: Record<string, { type: string; format?: string; contentMediaType?: string }>;
    };
    assert.equal(properties.file!.format, 'binary');
    assert.equal(properties.file!.contentMediaType, 'application/octet-stream');
    if (id === 'uploadTableFromExcel') {
      assert.deepEqual(form, {
        schema: form.schema,
        encoding: {
          source: { contentType: 'application/json' },
          body: { contentType: 'application/json' },
        },
      });
    }
  }
});

test('the first media type of each body is JSON or a form, because some generators of clients know only the first', () => {
  for (const { operation } of operations) {
    const [first] = Object.keys(operation.requestBody?.content ?? { none: 0 });
    assert.match(first!, /^(application\/json|multipart\/form-data|none)$/, operation.operationId);
  }
});

test('no union has an object without a name, because generators drop it or name it after a number', () => {
  const unnamed: unknown[] = [];
  eachObject(document, ({ anyOf, oneOf, allOf }) => {
    for (const part of [anyOf, oneOf, allOf].flatMap((parts) => (Array.isArray(parts) ? parts : [])))
      if (part.type === 'object' || part.anyOf || part.oneOf) unnamed.push(part);
  });
  assert.deepEqual(unnamed, []);
});

test('no member of a body has a default, because some client generators then make the member required', () => {
  const withDefault: string[] = [];
  eachObject(document.components.schemas, ({ properties }) => {
    for (const [name, member] of Object.entries(properties ?? {})) {
      // A column has a member of this name.
      if (typeof member === 'object' && 'default' in member && !('properties' in member))
        withDefault.push(name);
    }
  });
  assert.deepEqual(withDefault, []);
});

test('each parameter has a description, and parameters with a default are optional', () => {
  for (const { path, operation } of operations) {
    const parameters = operation.parameters ?? [];
    const inPath = parameters.filter((parameter) => parameter.in === 'path');
    assert.deepEqual(
      inPath.map((parameter) => parameter.name),
      [...path.matchAll(/\{(\w+)\}/g)].map((match) => match[1]),
    );
    assert(inPath.every((parameter) => parameter.required));
    for (const { name, description, required, schema } of parameters) {
      assert(description, `${operation.operationId}: ${name}`);
      if (schema.default !== undefined) assert.equal(required, false, `${operation.operationId}: ${name}`);
    }
    assert.equal(new Set(parameters.map((parameter) => parameter.name)).size, parameters.length);
  }
});

test('the parameters of the contract have its values and defaults', () => {
  const parametersOf = (id: string) =>
    Object.fromEntries(
      operations
        .find(({ operation }) => operation.operationId === id)!
        .operation.parameters!.map(({ name, schema }) => [name, schema]),
    );
  assert.deepEqual(parametersOf('createTable').if_not_exists, { type: 'boolean', default: false });
  for (const id of ['uploadTableFromJson', 'uploadTableFromExcel']) {
    const { schema, if_exists } = parametersOf(id);
    assert.deepEqual(schema, { type: 'string', default: 'public' });
    assert.deepEqual(if_exists, {
      type: 'string',
      enum: ['fail', 'append', 'truncate', 'replace'],
      default: 'fail',
    });
  }
});

test('each service of a process has the same document', async () => {
  // The first document is that of the service of these tests.
  const { paths, components } = await readOpenApiDocument();
  assert.deepEqual({ paths, components }, { paths: document.paths, components: document.components });
});

test('every reference has a target, and every named schema is used', () => {
  const used = new Set<string>();
  eachObject(document, (value) => {
    if (typeof value.$ref !== 'string') return;
    used.add(value.$ref);
    assert(resolve(value.$ref), value.$ref);
  });
  const named = Object.keys(document.components.schemas).map((name) => `#/components/schemas/${name}`);
  assert.deepEqual(
    named.filter((reference) => !used.has(reference)),
    [],
  );
});

test('every example and every default matches its schema', () => {
  let count = 0;
  eachObject({ paths: document.paths, schemas: document.components.schemas }, (value) => {
    if (!('type' in value || 'anyOf' in value)) return;
    const samples = [...(Array.isArray(value.examples) ? value.examples : [])];
    if (value.default !== undefined) samples.push(value.default);
    for (const sample of samples) {
      count += 1;
      assert.deepEqual(faults(value, sample), [], JSON.stringify({ sample, schema: value }));
    }
  });
  assert(count > 20);
});

test('each operation can be sent twice with all of its examples, as the reference page sends it', async () => {
  const file = readFileSync(join(examples, 'orders.xlsx'));
  // The example of Rename Table moves the table.
  await service.rows('CREATE SCHEMA archive');
  for (const { method, path, operation } of operations) {
    const { operationId, parameters = [], requestBody } = operation;
    // There is no load, no webhook and no profile with the id of the examples, and the stream of events has no end.
    if (!path.startsWith('/api/v1/') || path.includes('{id}') || /events|webhooks|profiles/.test(path))
      continue;
    const sent = parameters.flatMap(({ name, in: place, schema }) =>
      schema.examples === undefined ? [] : [{ name, place, value: String(schema.examples[0]) }],
    );
    const query = new URLSearchParams(
      sent.filter(({ place }) => place === 'query').map(({ name, value }): [string, string] => [name, value]),
    );
    const headers = Object.fromEntries(
      sent.filter(({ place }) => place === 'header').map(({ name, value }) => [name, value]),
    );
    // Each operation gets a table of its own, and there is none a second time after its name has changed.
    const table = `twice_${operationId.toLowerCase()}`;
    const where = `${path.replace('{table_name}', table)}?${query}`;
    if (/get|delete|patch/.test(method) && path.includes('{table_name}'))
      await service.rows(`CREATE TABLE "${table}" (a int)`);
    const [type, media] = Object.entries(requestBody?.content ?? {})[0] ?? [];
    for (let time = 1; time <= 2; time++) {
      const answer =
        type === 'multipart/form-data'
          ? operationId === 'loadTables'
            ? await service.request('POST', where, {
                body: planForm({ tables: [{ table, file: 'f' }] }, { f: file }),
              })
            : await service.upload(where, file)
          : await service.request(method.toUpperCase(), where, {
              headers: { ...headers, ...(type !== undefined && { 'content-type': type }) },
              ...(media && { body: JSON.stringify(media.example ?? exampleOf(media.schema)) }),
            });
      const hasHappened = time === 2 && ['table-exists', 'table-not-found'].includes(answer.body?.code);
      assert.ok(answer.status < 205 || hasHappened, `${operationId}: ${JSON.stringify(answer.body)}`);
    }
  }
});

/** Returns what the reference page fills in. */
// biome-ignore lint/suspicious/noExplicitAny: a schema of the document
function exampleOf(schema: any): unknown {
  if (schema.$ref !== undefined) return exampleOf(document.components.schemas[schema.$ref.split('/').at(-1)]);
  if (schema.examples !== undefined) return schema.examples[0];
  if (schema.anyOf !== undefined) return exampleOf(schema.anyOf[0]);
  const members = Object.entries(schema.properties ?? {});
  return Object.fromEntries(members.map(([name, member]) => [name, exampleOf(member)]));
}

test('the document has every body that README names', () => {
  const { content } = operations.find(({ operation }) => operation.operationId === 'uploadTableFromJson')!
    .operation.requestBody!;
  assert.deepEqual(Object.keys(content), ['application/json', 'application/x-ndjson']);
  for (const body of [{ data: [{ a: 1 }] }, [{ a: 1 }]])
    assert.deepEqual(faults(content['application/json']!.schema, body), []);
  assert.notDeepEqual(faults(content['application/json']!.schema, [1]), []);
});

test('a definition needs columns to create a table, and none in an upload', () => {
  const { TableDefinition, UploadDefinition } = document.components.schemas;
  assert.deepEqual(TableDefinition.required, ['columns']);
  assert.equal(UploadDefinition.required, undefined);
  assert.deepEqual(Object.keys(UploadDefinition.properties), Object.keys(TableDefinition.properties));
});

test('the files in examples/ match the schemas of the requests', () => {
  for (const [id, file] of [
    ['createTable', 'definition.json'],
    ['uploadTableFromJson', 'rows.json'],
  ]) {
    const { operation } = operations.find(({ operation }) => operation.operationId === id)!;
    const { schema } = operation.requestBody!.content['application/json']!;
    assert.deepEqual(faults(schema, JSON.parse(readFileSync(join(examples, file!), 'utf8'))), [], file);
  }
});

test('the answers of the service match their schemas', async () => {
  const definition = JSON.parse(readFileSync(join(examples, 'definition.json'), 'utf8'));
  const rows = JSON.parse(readFileSync(join(examples, 'rows.json'), 'utf8'));
  const orders = readFileSync(join(examples, 'orders.xlsx'));
  const path = '/api/v1/table/{table_name}';
  const answers = [
    ['post', path, await service.post('/table/customers', definition)],
    ['post', path, await service.post('/table/customers?if_not_exists=true', definition)],
    ['post', path, await service.post('/table/customers', definition)],
    ['post', path, await service.post('/table/other', { table: { columns: [{}] } })],
    ['get', path, await service.get('/table/customers')],
    ['get', path, await service.get('/table/nothing')],
    ['get', path, await service.get('/table/customers', { token: null })],
    ['post', `${path}/upload/json`, await service.post('/table/shipments/upload/json', rows)],
    [
      'post',
      `${path}/upload/json`,
      await service.post('/table/shipments/upload/json?if_exists=append', rows),
    ],
    ['post', `${path}/upload/json`, await service.post('/table/shipments/upload/json', { data: [1] })],
    ['post', `${path}/upload/excel`, await service.upload('/table/orders/upload/excel', orders)],
    ['post', '/api/v1/inspect/excel', await service.upload('/api/v1/inspect/excel', orders)],
    [
      'post',
      '/api/v1/inspect/json',
      await service.post('/api/v1/inspect/json', { items: [{ a: 1 }, {}, 2] }),
    ],
    ['get', '/healthz', await service.get('/healthz')],
    ['get', '/readyz', await service.get('/readyz')],
    ['get', '/version', await service.get('/version')],
  ] as const;
  const statuses = answers.map(([, , answer]) => answer.status);
  assert.deepEqual(
    statuses,
    [201, 200, 409, 422, 200, 404, 401, 201, 200, 409, 201, 200, 200, 200, 200, 200],
  );
  for (const [method, where, { status, headers, body }] of answers) {
    const documented = followed(document.paths[where][method].responses[status]);
    const type = headers.get('content-type')!.split(';')[0]!;
    assert(documented?.content?.[type], `${method} ${where}: ${status} ${type} is not documented`);
    assert.deepEqual(faults(documented.content[type]!.schema, body), [], `${method} ${where}: ${status}`);
    for (const header of Object.keys(documented.headers ?? {})) {
      if (status !== 503) assert(headers.has(header), `${method} ${where}: ${status} without ${header}`);
    }
  }
});

test('the service serves the reference page and everything that it loads', async () => {
  const page = await service.get('/docs', { token: null });
  assert.equal(page.status, 200);
  const links = [...page.body.matchAll(/\b(?:src|href)="([^"]+)"/g)].map((match: string[]) => match[1]!);
  assert(links.length >= 5);
  for (const link of links) {
    assert.match(link, /^\/docs\/static\//);
    const asset = await service.get(link, { token: null });
    assert.equal(asset.status, 200, link);
    if (link.endsWith('.css')) {
      for (const [, url] of asset.body.matchAll(/url\(\s*["']?([^)]{0,60})/g))
        assert.match(url, /^data:/, link);
      assert.doesNotMatch(asset.body, /@import/);
    }
  }
  const policy = page.headers.get('content-security-policy')!;
  assert.match(policy, /default-src 'self'/);
  assert.doesNotMatch(policy, /https?:|\.io|upgrade-insecure-requests/);
});

/** Returns the errors of a value under a schema of the document. */
function faults(schema: object, value: unknown): string[] {
  // The components of the document are added, because the schema refers to them.
  const whole = { allOf: [schema], components: document.components };
  const [isValid, errors] = Schema.Errors(whole, value);
  return isValid ? [] : errors.map((error) => `${error.instancePath}: ${error.message}`);
}

/** Returns the response that a reference refers to. Other responses are returned unchanged. */
function followed(response: Response): Response {
  return response?.$ref === undefined ? response : (resolve(response.$ref) as Response);
}

function resolve(reference: string): unknown {
  const [root, ...path] = reference.split('/');
  assert.equal(root, '#');
  return path.reduce<Record<string, unknown> | undefined>(
    (value, name) => value?.[name] as Record<string, unknown> | undefined,
    document,
  );
}

function eachObject(value: unknown, visit: (value: Record<string, unknown>) => void): void {
  if (typeof value !== 'object' || value === null) return;
  if (!Array.isArray(value)) visit(value as Record<string, unknown>);
  for (const child of Object.values(value)) eachObject(child, visit);
}
