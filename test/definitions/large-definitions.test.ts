/**
 * Definitions of up to 1 MiB, each made so that one part of the work is as long as possible. The service works on them in turns: no other
 * request waits for one of them for long. The service and its event loop are in this process, and the client in a thread of its own.
 */
import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import { assertShortSteps, type LoopSteps, measureSteps } from '../support/event-loop.ts';
import { startTestService, type TestService } from '../support/service.ts';
import { startThreadClient, type ThreadAnswer, type ThreadClient } from '../support/thread-client.ts';

let service: TestService;
let client: ThreadClient;
let authorization: string;

before(async () => {
  service = await startTestService();
  client = startThreadClient();
  authorization = `Bearer ${await service.token()}`;
  // What is slow in a new process is done here.
  await create('warm', definitions.defaults!.table('warm'));
});
after(async () => {
  await client.end();
  await service.stop();
});

interface Column {
  name: string;
  type: string;
  default?: unknown;
}

function columnsOf(count: number, toColumn: (index: number) => Omit<Column, 'name'>): Column[] {
  return Array.from({ length: count }, (_, index) => ({ name: `c${index}`, ...toColumn(index) }));
}

function listOf<Item>(count: number, toItem: (index: number) => Item): Item[] {
  return Array.from({ length: count }, (_, index) => toItem(index));
}

const integer = () => ({ type: 'int' });

interface LargeDefinition {
  status: number;
  /** The number of all errors, if the status is 422. */
  errorCount?: number;
  table: (name: string) => unknown;
}

const definitions: Record<string, LargeDefinition> = {
  defaults: {
    status: 201,
    table: () => ({
      columns: columnsOf(1500, (index) => {
        // A function of PostgreSQL takes at most 100 arguments.
        const numbers = listOf(100, (n) => 10_000 + n + index);
        return { type: 'json', default: `json_build_array(${numbers})` };
      }),
    }),
  },
  'unique constraints over many columns': {
    status: 422,
    errorCount: 1,
    table: () => ({
      columns: columnsOf(1599, integer),
      constraints: {
        unique: listOf(4900, (index) => ({ name: '', columns: listOf(20, (n) => columnOfKey(index, n)) })),
      },
    }),
  },
  'foreign keys to the table itself': {
    status: 422,
    errorCount: 5001,
    table: (name) => ({
      columns: columnsOf(1600, integer),
      constraints: {
        foreign_keys: listOf(5000, (index) => ({
          name: `fk${index}`,
          column: `c${index % 1600}`,
          reference_table: name,
          reference_column: `c${(7 * index) % 1600}`,
        })),
      },
    }),
  },
  'members of keys that are no names': {
    status: 422,
    errorCount: 500_199,
    table: () => ({
      columns: columnsOf(1, integer),
      constraints: { unique: listOf(100, () => ({ name: '', columns: Array(5000).fill(1) })) },
    }),
  },
  'unknown members': {
    status: 422,
    errorCount: 80_000,
    table: () => ({
      columns: columnsOf(1, integer),
      ...Object.fromEntries(listOf(80_000, (index) => [`x${index}`, 1])),
    }),
  },
  'casts to many unknown types': {
    status: 422,
    errorCount: 60_000,
    table: () => ({
      columns: columnsOf(600, (index) => {
        const casts = listOf(100, (n) => `''::t${index}_${n}`);
        return { type: 'json', default: `json_build_array(${casts})` };
      }),
    }),
  },
  'misspelt names among many long ones': {
    status: 422,
    errorCount: 201,
    table: () => ({
      columns: listOf(1600, (index) => ({ name: longName(index), type: 'int' })),
      constraints: {
        unique: listOf(200, (index) => ({ name: '', columns: [`z${longName(index).slice(1)}`] })),
      },
    }),
  },
};

/** Returns a column of a key. Each key has another first column or another distance between its columns. */
function columnOfKey(key: number, position: number): string {
  return `c${(key + position * (1 + Math.floor(key / 1599))) % 1599}`;
}

function longName(index: number): string {
  return `${index.toString().padStart(4, '0')}${'abcdefghijklmnopqrstuvwxyz'.repeat(3)}`.slice(0, 63);
}

suite('while the service works on a large definition, no step of the event loop is long', () => {
  for (const [what, { status, errorCount, table }] of Object.entries(definitions)) {
    test(what, async (context) => {
      const name = what.slice(0, 20);
      const text = JSON.stringify({ table: table(name) });
      const { answer, steps } = await create(name, table(name));
      context.diagnostic(`${text.length} bytes: ${showSteps(steps)}`);
      assert.equal(answer.status, status, answer.text);
      if (errorCount !== undefined && errorCount > 1) {
        assert.match(answer.text, new RegExp(`The definition has ${errorCount} errors`));
      }
      assertShortSteps(steps);
    });
  }
});

suite('while an upload creates a table with long expressions, no step of the event loop is long', () => {
  test('texts in generated columns that look like operators', async (context) => {
    const generated = `a || '${'OPERATOR('.repeat(950)}${'a'.repeat(7500)}'`;
    const columns = [{ name: 'a', type: 'text' }, ...columnsOf(15, () => ({ type: 'text', generated }))];
    const body = JSON.stringify({ table: { columns }, data: [{ a: 'x' }] });
    const { answer, steps } = await send('POST', '/table/operators/upload/json', body);
    context.diagnostic(`${body.length} bytes: ${showSteps(steps)}`);
    assert.equal(answer.status, 201, answer.text);
    assertShortSteps(steps);
  });
});

suite('while an upload flattens objects beside a definition that is wrong, no step of the event loop is long', () => {
  const rename = listOf(1400, (index) => `k${index}:a`).join(',');
  const columns = {
    'names of separators': listOf(64, (index) => ({ name: `${index}${'_'.repeat(16_000)}`, type: 'text' })),
    'columns that are numbers': Array(500_000).fill(0),
    'one name for all columns': Array(1600).fill({ name: 'a', type: 'text' }),
  };
  for (const [what, wrong] of Object.entries(columns)) {
    test(what, async (context) => {
      const body = JSON.stringify({ table: { columns: wrong }, data: [{ b: 1 }] });
      const query = `if_exists=append&extra_columns=add&flatten=true&rename=${rename}`;
      const { answer, steps } = await send('POST', `/table/flat/upload/json?${query}`, body);
      context.diagnostic(`${body.length} bytes: ${showSteps(steps)}`);
      assert.equal(answer.status, 422, answer.text);
      assertShortSteps(steps);
    });
  }
});

async function create(name: string, table: unknown): Promise<{ answer: ThreadAnswer; steps: LoopSteps }> {
  return send('POST', `/table/${name}`, JSON.stringify({ table }));
}

async function send(
  method: string,
  path: string,
  body?: string,
): Promise<{ answer: ThreadAnswer; steps: LoopSteps }> {
  const url = new URL(`/api/v1${path}`, service.url).href;
  const headers = { authorization, 'content-type': 'application/json' };
  let answer: ThreadAnswer | undefined;
  const steps = await measureSteps(async () => {
    answer = await client.send({ url, method, headers, ...(body !== undefined && { body }) });
  });
  return { answer: answer!, steps };
}

function showSteps({ longestMs, totalMs }: LoopSteps): string {
  return `${totalMs.toFixed(0)} ms of processor time, the longest step ${longestMs.toFixed(0)} ms`;
}
