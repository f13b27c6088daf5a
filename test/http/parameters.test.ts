/** Tests that everything that is made from the table of parameters is made from its present content: run `npm run types`. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { before, test } from 'node:test';
import { uploadParameters } from '../../client/parameters.ts';
import { readOpenApiDocument } from '../../scripts/client-types/openapi-document.ts';
import { clientParameters, parametersPage } from '../../scripts/client-types/parameters.ts';

const root = join(import.meta.dirname, '..', '..');
const page = readFileSync(join(root, 'docs', 'parameters.md'), 'utf8');

/** The parameters of the four endpoints in the OpenAPI document. */
let documented: { endpoint: string; name: string; description: string; schema: ParameterSchema }[];

interface ParameterSchema {
  default?: unknown;
  enum?: string[];
}

before(async () => {
  const { paths } = await readOpenApiDocument();
  const pathOf = {
    'upload-json': '/api/v1/table/{table_name}/upload/json',
    'upload-excel': '/api/v1/table/{table_name}/upload/excel',
    'inspect-json': '/api/v1/inspect/json',
    'inspect-excel': '/api/v1/inspect/excel',
  };
  documented = Object.entries(pathOf).flatMap(([endpoint, path]) => {
    // biome-ignore lint/suspicious/noExplicitAny: a document whose shape is what is tested
    const { parameters } = (paths[path] as any).post;
    return parameters
      .filter((parameter: { in: string }) => parameter.in === 'query')
      .map((parameter: object) => ({ endpoint, ...parameter }));
  });
});

test('client/parameters.ts is what `npm run types` makes', () => {
  assert.deepEqual(uploadParameters, clientParameters());
});

test('docs/parameters.md is what `npm run types` makes', () => {
  assert.equal(page, parametersPage());
});

test('client/parameters.ts has the parameters of each endpoint with their choices and defaults', () => {
  const pairs = uploadParameters.flatMap(({ name, endpoints }) => endpoints.map((one) => `${one} ${name}`));
  assert.deepEqual(pairs.sort(), documented.map(({ endpoint, name }) => `${endpoint} ${name}`).sort());
  for (const { name, schema } of documented) {
    const parameter = uploadParameters.find((one) => one.name === name)!;
    if (schema.enum) assert.deepEqual(parameter.choices, schema.enum, name);
    if (schema.default !== undefined) assert.equal(parameter.default, schema.default, name);
  }
});

test('docs/parameters.md has the parameters of the OpenAPI document with their values, defaults and descriptions', () => {
  const rows = new Map(
    [...page.matchAll(/^\| `(\w+)` \| (.*?) \| (.*?) \| (.*) \|$/gm)].map(([, name, ...cells]) => [
      name!,
      cells.map((cell) => cell!.replaceAll('\\|', '|')),
    ]),
  );
  assert.deepEqual([...rows.keys()].sort(), [...new Set(documented.map(({ name }) => name))].sort());
  for (const { name, schema, description } of documented) {
    const [values = '', byDefault = '', meaning = ''] = rows.get(name)!;
    if (schema.default !== undefined) assert.equal(byDefault, `\`${schema.default}\``, name);
    if (schema.enum) assert.equal(values, schema.enum.map((value) => `\`${value}\``).join(', '), name);
    assert(description.startsWith(meaning), name);
  }
});
