/**
 * A program of a user. It uses the client of the installed package in a runtime (Node.js, Deno, Bun), and prints what happened as
 * JSON. Its parameter is JSON: the address of the service, a token, and a prefix for the names of the tables.
 */
import process from 'node:process';
import { ConnectionError, createClient, hasEnded, ProblemError, resultOf } from 'tablewright/client';

const { url, token, prefix } = JSON.parse(process.argv[2]);
const client = createClient({ url, token });
const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
const result = {};

async function* readings() {
  for (let n = 0; n < 20_000; n++) {
    if (n % 1000 === 0) await sleep(1);
    yield { n, long: 9007199254740993n, at: new Date(0), text: 'ř'.repeat(10) };
  }
}

let endlessHasEnded;
async function* endless() {
  endlessHasEnded = false;
  try {
    for (let n = 0; ; n++) {
      if (n % 100 === 0) await sleep(1);
      yield { n, text: 'x'.repeat(1000) };
    }
  } finally {
    endlessHasEnded = true;
  }
}

async function until(holds) {
  for (let count = 0; count < 200; count++) {
    if (await holds()) return true;
    await sleep(50);
  }
  return false;
}

const sent = [];
const onSent = (bytes) => sent.push(bytes);
result.rows = (await client.load({ table: `${prefix}_rows`, rows: readings, onSent })).load.rows;
result.wasToldOfSending = sent.length > 5 && sent.at(-1) > 1_000_000;
result.iterator = (await client.load({ table: `${prefix}_iterator`, rows: readings() })).load.rows;

const file = new File(['a,b\n1,x\n2,y\n'], 'small.csv');
const definition = { columns: ['a', 'b'].map((name) => ({ name, type: 'text' })) };
result.file = (await client.load({ table: `${prefix}_file`, file, definition })).load.rows;
const stream = new Blob(['{"a":1}\n{"a":2}\n{"a":3}\n']).stream();
result.stream = (await client.load({ table: `${prefix}_stream`, file: stream, kind: 'ndjson' })).load.rows;

const queued = await client.enqueue({ table: `${prefix}_queued`, rows: [{ n: 1 }, { n: 2 }] });
for await (const load of client.watch(queued.id)) {
  if (hasEnded(load)) result.watched = [load.state, resultOf(load).load.rows];
}

try {
  await client.load({ table: `${prefix}_rows`, rows: [{ n: 'noon' }], if_exists: 'append' });
} catch (error) {
  const [{ row, column, value }] = error.errors;
  result.problem = [error instanceof ProblemError, error.status, row, column, value];
}

const stop = new AbortController();
const rows = async function* () {
  for await (const row of endless()) {
    if (row.n === 500) stop.abort(new Error('enough'));
    yield row;
  }
};
await client.load({ table: `${prefix}_aborted`, rows, signal: stop.signal }).catch((error) => {
  result.aborted = error.message;
});
result.abortEndsRows = await until(() => endlessHasEnded);
result.abortCancels = await until(async () => {
  const { value } = await client.loads({ table: `${prefix}_aborted` }).next();
  return value === undefined || value.state === 'cancelled';
});

await client.load({ table: `${prefix}_rows`, rows: endless }).catch(({ code }) => {
  result.refused = code;
});
result.refusalEndsRows = await until(() => endlessHasEnded);

async function* broken() {
  yield { n: 1 };
  throw new RangeError('my own error');
}
await client.load({ table: `${prefix}_broken`, rows: broken }).catch(({ name, message }) => {
  result.errorOfRows = `${name}: ${message}`;
});

const nowhere = createClient({ url: 'http://127.0.0.1:9', retryMs: 0 });
await nowhere
  .tables()
  .next()
  .catch((error) => {
    result.isUnreachable = error instanceof ConnectionError;
  });
console.log(JSON.stringify(result));
