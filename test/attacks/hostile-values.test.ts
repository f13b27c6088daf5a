/**
 * Every type with hostile values, and deep and wide definitions: each request gets an answer that is no failure of the service, while the
 * service and PostgreSQL take little memory and the event loop runs in short steps. `SEED` chooses the random numbers.
 */
import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, suite, type TestContext, test } from 'node:test';
import { withBackendMemory } from '../support/backend-memory.ts';
import { type ChildWithDatabase, startChildWithDatabase } from '../support/child-service.ts';
import {
  type DefinitionSent,
  hostileDefinitions,
  hostileTokens,
  hostileTypes,
  longText,
  poisonTokens,
} from '../support/hostile-values.ts';
import { type RandomNumbers, randomNumbers } from '../support/random-numbers.ts';
import { recordingSteps, takeSteps } from '../support/record-loop-steps.ts';
import type { TestAnswer } from '../support/service.ts';
import { sized } from '../support/sized.ts';

const mib = 2 ** 20;
const mostMemory = 300 * mib;
const mostBackendMemory = 512 * mib;
/** Processor time, so that a busy machine does not change it. */
const mostStepMs = 100;

const seed = Number(process.env.SEED ?? 20_261);
const path = '/table/hostile';

let folder: string;
let service: ChildWithDatabase;
let types: string[];
/** The steps of all tests, and those above 20 ms. */
let allSteps = 0;
let allLongSteps = 0;

before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'tablewright-hostile-'));
  service = await startChildWithDatabase({ ...recordingSteps(folder), MAX_REQUESTS_PER_MINUTE: '0' });
  types = await hostileTypes(service.database);
});
after(async () => {
  await service?.stop('SIGKILL');
  await rm(folder, { recursive: true, force: true });
});

type Send = (what: string, work: () => Promise<TestAnswer>) => Promise<TestAnswer>;

/** Measures batches of requests, and says at the end what the whole test took. */
class Measured {
  readonly #statuses = new Map<number, number>();
  #steps = 0;
  #longSteps = 0;
  #longestMs = 0;
  #memory = 0;
  #backendMemory = 0;
  readonly #failures: string[] = [];

  async batch(name: string, work: (send: Send) => Promise<void>): Promise<void> {
    await service.database.pool.query('DROP TABLE IF EXISTS hostile CASCADE');
    await takeSteps(service, folder);
    service.resetPeakMemory();
    const sent: string[] = [];
    const { backendBytes = 0 } = await withBackendMemory(service.database, () =>
      work(async (what, request) => {
        const answer = await request();
        sent.push(`${what}: ${answer.status}`);
        this.#statuses.set(answer.status, (this.#statuses.get(answer.status) ?? 0) + 1);
        this.#expect(answer.status < 500, `${name}, ${what}: ${JSON.stringify(answer.body).slice(0, 500)}`);
        return answer;
      }),
    );
    const steps = await takeSteps(service, folder);
    const memory = service.peakMemoryBytes() ?? 0;
    this.#steps += steps.count;
    this.#longSteps += steps.longSteps;
    this.#longestMs = Math.max(this.#longestMs, steps.longestMs);
    this.#memory = Math.max(this.#memory, memory);
    this.#backendMemory = Math.max(this.#backendMemory, backendBytes);
    const told = `${name}: ${sent.join(', ').slice(0, 3000)}`;
    this.#expect(memory < mostMemory, `the process held ${inMib(memory)}: ${told}`);
    this.#expect(backendBytes < mostBackendMemory, `a backend held ${inMib(backendBytes)}: ${told}`);
    this.#expect(steps.longestMs < mostStepMs, `a step of ${steps.longestMs} ms: ${told}`);
  }

  /** All failures are reported together, because each may have another cause. */
  #expect(isMet: boolean, failure: string): void {
    if (!isMet) this.#failures.push(failure);
  }

  end(context: TestContext): void {
    const statuses = [...this.#statuses].toSorted(([a], [b]) => a - b);
    context.diagnostic(
      `seed ${seed}: ${statuses.map(([status, count]) => `${count} × ${status}`).join(', ')}; ${this.#steps} steps, ${this.#longSteps} above 20 ms, longest ${this.#longestMs.toFixed(1)} ms; process ${inMib(this.#memory)}, backend ${inMib(this.#backendMemory)}`,
    );
    allSteps += this.#steps;
    allLongSteps += this.#longSteps;
    assert.deepEqual(this.#failures, []);
  }
}

const inMib = (bytes: number): string => `${Math.round(bytes / mib)} MiB`;

const queries = [
  ...['', 'dry_run=true', 'faulty_rows=leave_out', 'faulty_rows=leave_out&dry_run=true'],
  ...['if_exists=append', 'if_exists=replace&faulty_rows=leave_out', 'if_exists=truncate'],
  ...['if_exists=append&on_conflict=update&faulty_rows=leave_out', 'if_exists=append&on_conflict=skip'],
  ...[
    'decimal_sign=,&null_values=NaN&trim=true',
    'date_order=dmy&faulty_rows=leave_out',
    'extra_columns=ignore',
  ],
];

function one<Value>(random: RandomNumbers, values: readonly Value[]): Value {
  return values[random(values.length)]!;
}

/** Returns a table with a column of the type, and with a key of it or of another column, or without one. */
function tableOf(random: RandomNumbers, type: string, byDefault?: string): DefinitionSent {
  const key = random(4);
  return {
    columns: [
      { name: 'id', type: 'int' },
      { name: 'a', type, ...(byDefault !== undefined && { default: byDefault }) },
    ],
    ...(key === 0 && { constraints: { primary_key: { name: '', columns: ['a'] } } }),
    ...(key === 1 && { constraints: { unique: [{ name: '', columns: ['id'] }] } }),
  };
}

function postRows(table: DefinitionSent | undefined, rows: string, query: string): Promise<TestAnswer> {
  const definition = table === undefined ? '' : `"table":${JSON.stringify(table)},`;
  return service.request('POST', `${path}/upload/json?${query}`, {
    headers: { 'content-type': 'application/json' },
    body: `{${definition}"data":${rows}}`,
  });
}

const rowsOf = (tokens: readonly string[]): string =>
  `[${tokens.map((token, index) => `{"id":${index},"a":${token}}`).join()}]`;

function csvOf(tokens: readonly string[]): Buffer {
  const lines = tokens.map((token, index) => {
    const value: unknown = JSON.parse(token);
    const text = typeof value === 'string' ? value : token;
    return `${index},"${text.replaceAll('"', '""')}"\n`;
  });
  return Buffer.from(`id,a\n${lines.join('')}`);
}

/** Returns the definition without the columns and constraints that have problems, so that the others reach PostgreSQL. */
function withoutRefused({ columns, constraints }: DefinitionSent, { body }: TestAnswer): DefinitionSent {
  const pointers = (body.errors as { pointer: string }[]).map(({ pointer }) => pointer.split('/'));
  const refused = new Set(
    pointers.filter((parts) => parts[2] === 'columns').map((parts) => Number(parts[3])),
  );
  const hasConstraints = constraints !== undefined && !pointers.some((parts) => parts[2] === 'constraints');
  return {
    columns: columns.filter((_, index) => !refused.has(index)),
    ...(hasConstraints && { constraints }),
  };
}

async function sendType(random: RandomNumbers, type: string, send: Send): Promise<void> {
  const leaveOut = 'faulty_rows=leave_out&if_exists=replace';
  const table = () => tableOf(random, type);
  await send('all values', () => postRows(table(), rowsOf(hostileTokens), leaveOut));
  await send('all values of a file', () =>
    service.upload(`${path}/upload/excel?${leaveOut}`, csvOf(hostileTokens), { table: table() }),
  );
  const some = Array.from({ length: 1 + random(4) }, () => one(random, hostileTokens));
  const query = one(random, queries);
  const sent = random(2) === 0 ? table() : undefined;
  await send(`${some} with ${query}`, () => postRows(sent, rowsOf(some), query));
  const poison = one(random, poisonTokens);
  await send(`${poison.slice(0, 50)}`, () =>
    postRows(table(), rowsOf([poison]), `if_exists=replace&${query}`),
  );
  const text = String(JSON.parse(one(random, hostileTokens)));
  const withDefault = tableOf(random, type, text);
  await send(`the default ${text}`, () =>
    postRows(withDefault, '[{"id":1},{"id":2,"a":null}]', 'if_exists=replace'),
  );
  const length = 1 + random(one(random, [2000, 100_000, 1_000_000]));
  const long = longText(random, length);
  const longQuery = one(random, ['if_exists=replace', leaveOut, 'if_exists=replace&dry_run=true']);
  await send(`${length} bytes of ${long.slice(0, 30)} with ${longQuery}`, () =>
    postRows(table(), rowsOf([JSON.stringify(long)]), longQuery),
  );
}

suite('hostile requests are answered without a failure of the service, in bounded memory and short steps', () => {
  test('every type with hostile values', async (context) => {
    const measured = new Measured();
    const step = sized(30, 8);
    const random = randomNumbers(seed);
    const first = random(step);
    for (const [index, type] of types.entries()) {
      if (index % step !== first) continue;
      const ofType = randomNumbers(seed + index * 7919);
      await measured.batch(`type ${type}`, (send) => sendType(ofType, type, send));
    }
    measured.end(context);
  });

  for (const [name, make] of Object.entries(hostileDefinitions)) {
    test(`definitions: ${name}`, async (context) => {
      const measured = new Measured();
      for (let round = 0; round < sized(1, 4); round++) {
        const random = randomNumbers(seed + round * 7919 + name.length * 104_729);
        let table = make(random, types);
        await measured.batch(`${name}, round ${round}`, async (send) => {
          for (let attempt = 0; attempt < 5; attempt++) {
            const answer = await send('a create', () => service.post(path, { table }));
            if (answer.status !== 422 || answer.body.errors === undefined) break;
            table = withoutRefused(table, answer);
          }
          const rows = [{}, { c0: null }, { a: null }];
          await send('an upload', () =>
            service.post(`${path}/upload/json?if_exists=replace&faulty_rows=leave_out`, {
              table,
              data: rows,
            }),
          );
          await send('a file', () =>
            service.upload(
              `${path}/upload/excel?if_exists=append&extra_columns=ignore`,
              Buffer.from('c0,a\n,\n'),
              { table },
            ),
          );
          await send('a description', () => service.get(path));
        });
      }
      measured.end(context);
    });
  }

  test('999 of 1,000 steps take at most 20 ms', (context) => {
    context.diagnostic(`${allSteps} steps, ${allLongSteps} above 20 ms`);
    assert.ok(allLongSteps <= allSteps / 1000);
  });
});
