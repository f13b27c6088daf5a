/** `tablewright mcp`: an agent loads a workbook with the tools alone. The agent is the client of the official SDK. */
import assert from 'node:assert/strict';
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import process from 'node:process';
import { after, before, suite, test } from 'node:test';
import { type CallToolResult, Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { startTestService, type TestService } from '../support/service.ts';

const root = join(import.meta.dirname, '..', '..');
const orders = join(root, 'examples', 'orders.xlsx');

let service: TestService;
before(async () => {
  service = await startTestService();
});
after(() => service.stop());

/** @param confirms how the person answers questions; undefined: the agent cannot ask */
async function startAgent(confirms?: boolean): Promise<{ agent: Client; asked: string[] }> {
  const capabilities = confirms === undefined ? {} : { elicitation: { form: {} } };
  const agent = new Client({ name: 'agent', version: '1' }, { capabilities });
  const asked: string[] = [];
  if (confirms !== undefined)
    agent.setRequestHandler('elicitation/create', ({ params }) => {
      asked.push(params.message);
      return confirms ? { action: 'accept', content: { confirm: true } } : { action: 'decline' };
    });
  const transport = new StdioClientTransport({
    command: process.execPath,
    args: [join(root, 'cli', 'main.ts'), 'mcp', '--retry', '0'],
    env: { ...process.env, TABLEWRIGHT_URL: service.url, TABLEWRIGHT_TOKEN: await service.token() } as Record<
      string,
      string
    >,
  });
  await agent.connect(transport);
  return { agent, asked };
}

// biome-ignore lint/suspicious/noExplicitAny: whatever the tool answers, for assertions
type Answer = { isError: boolean; body: any };

async function call(agent: Client, name: string, given: Record<string, unknown>): Promise<Answer> {
  const result = (await agent.callTool({ name, arguments: given })) as CallToolResult;
  const [first] = result.content;
  assert.equal(first!.type, 'text');
  const body = JSON.parse((first as { text: string }).text);
  assert.deepEqual(body, result.structuredContent);
  return { isError: result.isError === true, body };
}

suite('the tools', () => {
  test('each tool has the parameters of its operations, and refers to no schema that it lacks', async () => {
    const { agent } = await startAgent();
    try {
      const { tools } = await agent.listTools();
      const schemaOf = (name: string) => tools.find((tool) => tool.name === name)!.inputSchema;
      assert.ok(schemaOf('load_file').properties!.on_conflict);
      assert.equal(schemaOf('load_file').properties!.dry_run, undefined);
      for (const { inputSchema } of tools) {
        const { $defs = {} } = inputSchema as { $defs?: object };
        for (const [, name] of JSON.stringify(inputSchema).matchAll(/"\$ref":"#\/\$defs\/(\w+)"/g))
          assert.ok(Object.hasOwn($defs, name!), name);
      }
      const reading = tools.filter(({ annotations }) => annotations?.readOnlyHint).map(({ name }) => name);
      assert.deepEqual(reading.sort(), [
        'check_file',
        'describe_load',
        'describe_table',
        'inspect_file',
        'list_changes',
        'list_loads',
        'list_tables',
        'read_rows',
      ]);
    } finally {
      await agent.close();
    }
  });

  test('a workbook is inspected, checked and loaded by its key', async () => {
    const { agent } = await startAgent();
    try {
      const { body: inspected } = await call(agent, 'inspect_file', { file: orders });
      const [key] = inspected.sheet.definition.columns;
      assert.equal(key.name, 'Order no');
      const given = { file: orders, primary_key: JSON.stringify(key.name).slice(1, -1) };
      const checked = await call(agent, 'check_file', given);
      assert.equal(checked.isError, false, JSON.stringify(checked.body));
      assert.deepEqual((await call(agent, 'list_tables', {})).body.tables, []);
      const loaded = await call(agent, 'load_file', given);
      assert.equal(loaded.body.load.rows, checked.body.load.rows);
      const { body: described } = await call(agent, 'describe_table', { table: 'orders' });
      assert.deepEqual(described.table.constraints.primary_key.columns, ['Order no']);
      const { body: first } = await call(agent, 'read_rows', { table: 'orders', limit: 1 });
      assert.equal(first.rows.length, 1);
      const again = await call(agent, 'load_file', { ...given, if_exists: 'append' });
      assert.equal(again.isError, true);
      assert.equal(again.body.code, 'invalid-data');
      assert.ok(again.body.errors[0].cell);
    } finally {
      await agent.close();
    }
  });

  test('rows are exported into a file, corrected and loaded again, and a person must confirm that a file is replaced', async () => {
    await service.rows(`CREATE TABLE hours (no int PRIMARY KEY, worked smallint);
      INSERT INTO hours VALUES (1, 38), (2, 41)`);
    const folder = await mkdtemp(join(tmpdir(), 'tablewright-mcp-'));
    const file = join(folder, 'hours.csv');
    const { agent, asked } = await startAgent(false);
    try {
      const given = { table: 'hours', file, order: 'no' };
      const { body } = await call(agent, 'export_table', given);
      assert.deepEqual(body, { table: 'hours', file, bytes: 20 });
      const text = await readFile(file, 'utf8');
      assert.equal(text, 'no,worked\n1,38\n2,41\n');
      await writeFile(file, text.replace('41', '40.5'));
      const again = { file, if_exists: 'append', on_conflict: 'update', quoted: 'exact', misfits: 'widen' };
      const loaded = await call(agent, 'load_file', again);
      assert.equal(loaded.body.load.updated, 2, JSON.stringify(loaded.body));
      const { body: listed } = await call(agent, 'list_changes', { id: loaded.body.load.id, limit: 1 });
      assert.deepEqual(listed.counts, { inserted: 0, changed: 1, unchanged: 1 });
      assert.deepEqual(listed.changes[0].cells, [{ column: 'worked', old: '41', new: '40.5' }]);
      assert.deepEqual(loaded.body.load.widened, [{ column: 'worked', from: 'smallint', to: 'numeric' }]);
      assert.deepEqual(asked, []);
      assert.equal((await call(agent, 'export_table', given)).isError, true);
      assert.equal(asked.length, 1);
      assert.match(await readFile(file, 'utf8'), /40\.5/);
      for (const [wrong, detail] of [
        ['hours.sh', /must end in \.csv/],
        ['none/hours.csv', /ENOENT/],
      ] as const) {
        const refused = await call(agent, 'export_table', { ...given, file: join(folder, wrong) });
        assert.match(refused.body.detail, detail);
      }
      assert.deepEqual(await readdir(folder), ['hours.csv']);
      const missing = await call(agent, 'export_table', { table: 'none', file: join(folder, 'none.csv') });
      assert.equal(missing.body.code, 'table-not-found');
    } finally {
      await agent.close();
      await rm(folder, { recursive: true });
    }
  });

  test('a person must confirm what removes rows', async () => {
    await service.post('/table/kept/upload/json', { data: [{ a: 1 }] });
    const exists = async () => (await service.get('/table/kept')).status === 200;
    const refusing = await startAgent(false);
    const accepting = await startAgent(true);
    try {
      const refused = await call(refusing.agent, 'drop_table', { table: 'kept' });
      assert.equal(refused.isError, true);
      assert.deepEqual(refusing.asked, ['Drop the table "kept" with all its rows?']);
      assert.ok(await exists());
      const trial = await call(refusing.agent, 'drop_table', { table: 'kept', dry_run: true });
      assert.equal(trial.isError, false);
      assert.equal(refusing.asked.length, 1);
      const altered = { table: 'kept', new_definition: { comment: 'by an agent' } };
      assert.equal((await call(refusing.agent, 'alter_table', altered)).body.table.comment, 'by an agent');
      assert.equal(refusing.asked.length, 1);
      const losing = { ...altered, allow: 'drop_columns' };
      assert.equal((await call(refusing.agent, 'alter_table', losing)).isError, true);
      assert.equal(refusing.asked.length, 2);
      const replacing = { file: orders, table: 'kept', if_exists: 'replace' };
      assert.equal((await call(refusing.agent, 'load_file', replacing)).isError, true);
      for (const ifExists of [['truncate'], [['replace']]]) {
        const hidden = await call(refusing.agent, 'load_file', { ...replacing, if_exists: ifExists });
        assert.match(hidden.body.detail, /The argument "if_exists" must be a text/);
      }
      const aligning = { ...replacing, if_exists: 'append', on_conflict: 'update', missing_rows: 'delete' };
      assert.equal((await call(refusing.agent, 'load_file', aligning)).isError, true);
      assert.match(refusing.asked.at(-1)!, /delete the rows that the file does not have\?$/);
      const dropped = await call(accepting.agent, 'drop_table', { table: 'kept' });
      assert.equal(dropped.isError, false, JSON.stringify(dropped.body));
      assert.ok(!(await exists()));
    } finally {
      await refusing.agent.close();
      await accepting.agent.close();
    }
  });

  test('an agent that cannot ask a person removes nothing', async () => {
    await service.post('/table/safe/upload/json', { data: [{ a: 1 }] });
    const { agent } = await startAgent();
    try {
      const refused = await agent.callTool({ name: 'drop_table', arguments: { table: 'safe' } });
      assert.equal(refused.isError, true);
      assert.equal((await service.get('/table/safe')).status, 200);
    } finally {
      await agent.close();
    }
  });

  test('an answer that is too long for an agent is refused, and the tools continue to work', async () => {
    const { agent } = await startAgent();
    try {
      const data = Array.from({ length: 700 }, (_, n) => ({ n, text: 'x'.repeat(15_000) }));
      const loaded = await service.post('/api/v1/table/wide/upload/json', { data });
      assert.equal(loaded.status, 201);
      const all = await call(agent, 'read_rows', { table: 'wide', limit: 700 });
      assert.equal(all.isError, true);
      assert.match(all.body.detail, /smaller limit/);
      const some = await call(agent, 'read_rows', { table: 'wide', limit: 2 });
      assert.equal(some.body.rows.length, 2);
      const unnamed = await call(agent, 'describe_table', { table: 5 });
      assert.deepEqual(unnamed, { isError: true, body: { detail: '"file", "table" and "id" are texts.' } });
    } finally {
      await agent.close();
    }
  });

  test('problems are data: of a wrong token, a missing file and a tool that does not exist', async () => {
    const { agent } = await startAgent();
    try {
      const missing = await call(agent, 'inspect_file', { file: '/nowhere.csv' });
      assert.match(missing.body.detail, /There is no file "\/nowhere.csv"/);
      assert.equal((await call(agent, 'describe_table', { table: 'none' })).body.code, 'table-not-found');
      for (const name of ['fly', 'toString', '__proto__'])
        assert.match((await call(agent, name, {})).body.detail, /There is no tool/);
      const unknown = await call(agent, 'read_rows', { table: 'a', idempotencyKey: 'b' });
      assert.match(unknown.body.detail, /There is no argument "idempotencyKey"/);
      assert.match(
        (await call(agent, 'inspect_file', { file: '/dev/zero' })).body.detail,
        /the path of one file/,
      );
    } finally {
      await agent.close();
    }
  });
});
