/**
 * `npm run demo`: runs the three operations with the files of examples/, and an asynchronous upload with a webhook, with the service on
 * a separate PostgreSQL, which is removed at the end. It shows each request, its answer and the rows.
 */
import { readFile } from 'node:fs/promises';
import process from 'node:process';
import pg from 'pg';
import { readConfig } from '../src/core/settings/config.ts';
import { startService } from '../src/service/service.ts';
import { loadLater } from './demo/asynchronous.ts';
import { type DemoRun, runDemo, say } from './demo/run-demo.ts';
import { shownJson, shownTable } from './demo/shown.ts';

interface Operation {
  title: string;
  table: string;
  /** The part of the URL after the table's path. */
  path: string;
  file: string;
  /** How the file is sent. */
  as: 'json' | 'form';
}

const operations: Operation[] = [
  { title: 'Create Table', table: 'customers', path: '', file: 'examples/definition.json', as: 'json' },
  {
    title: 'Upload Table From Json',
    table: 'shipments',
    path: '/upload/json',
    file: 'examples/rows.json',
    as: 'json',
  },
  {
    title: 'Upload Table From Excel',
    table: 'orders',
    path: '/upload/excel',
    file: 'examples/orders.xlsx',
    as: 'form',
  },
];

interface Demo {
  url: string;
  token: string;
  database: pg.Client;
  signal: AbortSignal;
}

const shownRows = 5;
const terminalWidth = Math.max(process.stdout.columns ?? 120, 60);

await runDemo(async (run) => {
  const demo = await start(run);
  for (const [index, operation] of operations.entries()) await perform(demo, operation, index + 1);
  say(`\n${operations.length + 1}. An asynchronous upload, its progress and a webhook\n`);
  await loadLater(demo, say);
  say('\nThat was the service. "npm start" starts one whose data stays.');
});

async function start({ postgres, secret, token, endings, signal }: DemoRun): Promise<Demo> {
  const config = readConfig({
    PORT: '0',
    LOG_LEVEL: 'silent',
    DATA_DIR: postgres.dataDir,
    DATABASE_URL: postgres.url,
    TOKEN_SECRET: secret,
    // The receiver of the webhook is on this machine.
    WEBHOOK_PRIVATE_NETWORKS: '127.0.0.0/8',
  });
  const service = await startService(config);
  endings.push(() => service.stop());
  signal.throwIfAborted();

  const database = new pg.Client(postgres.url);
  await database.connect();
  endings.push(() => database.end());
  say(`The service is up at ${service.url}, on a PostgreSQL that is thrown away at the end.`);
  return { url: service.url, token, database, signal };
}

/**
 * Creates or changes a table of the demo.
 *
 * @throws Error if the service refuses it
 */
async function perform(demo: Demo, operation: Operation, number: number): Promise<void> {
  const { title, table, path, file, as } = operation;
  const url = `${demo.url}/api/v1/table/${table}${path}`;
  say(`\n${number}. ${title}: ${file}\n`);
  say(`$ curl -H "Authorization: Bearer $TOKEN" ${curlBody(as, file)} ${url}\n`);

  const content = await readFile(file);
  const answer = await fetch(url, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${demo.token}`,
      ...(as === 'json' && { 'content-type': 'application/json' }),
    },
    body: as === 'json' ? new Uint8Array(content) : formOf(content),
    signal: demo.signal,
  });
  say(`${answer.status} ${answer.statusText}`);
  say(shownJson(await answer.json()));
  if (answer.status !== 201) throw new Error(`${title} was answered with ${answer.status}, not with 201.`);
  say(`\nThe rows in PostgreSQL (SELECT * FROM ${table}):\n`);
  say(await rowsOf(demo.database, table));
}

function curlBody(as: Operation['as'], file: string): string {
  return as === 'json' ? `-H "Content-Type: application/json" --data-binary @${file}` : `-F file=@${file}`;
}

function formOf(content: Buffer): FormData {
  const form = new FormData();
  form.append('file', new Blob([new Uint8Array(content)]), 'workbook');
  return form;
}

async function rowsOf(database: pg.Client, table: string): Promise<string> {
  const quoted = pg.escapeIdentifier(table);
  const count = await database.query<[string]>({ text: `SELECT count(*) FROM ${quoted}`, rowMode: 'array' });
  const asText = { getTypeParser: () => (value: string) => value };
  const { fields, rows } = await database.query<(string | null)[]>({
    text: `SELECT * FROM ${quoted} LIMIT ${shownRows}`,
    rowMode: 'array',
    types: asText,
  });
  const names = fields.map((field) => field.name);
  return shownTable(names, rows, Number(count.rows[0]![0]), terminalWidth);
}
