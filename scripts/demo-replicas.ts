/**
 * `npm run demo:replicas`: three replicas of the service behind a balancer, on one separate PostgreSQL, which is removed at the end. It
 * shows that any replica answers for any load, and that nothing is lost or done twice when one of them is killed. It fails if something
 * is not as it says.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { startBalancer } from './demo/balancer.ts';
import { type Replica, startReplica } from './demo/replica.ts';
import { type DemoRun, runDemo, say } from './demo/run-demo.ts';

/** An answer of the service, and the number of the replica that gave it. */
interface Answer {
  status: number;
  replica: string;
  // biome-ignore lint/suspicious/noExplicitAny: any JSON that the service answers
  body: any;
}

interface Demo {
  url: string;
  token: string;
  replicas: Replica[];
  /** For the session that holds a lock. */
  holder: pg.Client;
  database: pg.Client;
  signal: AbortSignal;
}

const rowsPerLoad = 1000;
const table = '/api/v1/table/parcels';
const append = `${table}/upload/json?if_exists=append`;

await runDemo(async (run) => {
  const demo = await start(run);
  await cancelElsewhere(demo);
  await killOne(demo);
  say('\nEverything was as it should be.');
});

async function start({ postgres, secret, token, endings, signal }: DemoRun): Promise<Demo> {
  const settings = {
    DATABASE_URL: postgres.url,
    TOKEN_SECRET: secret,
    // The replicas share the folder of the bodies of asynchronous uploads, so each of them can run every load.
    DATA_DIR: postgres.dataDir,
    LOG_LEVEL: 'warn',
    LOCK_TIMEOUT_MS: '120000',
    SHUTDOWN_GRACE_MS: '0',
  };
  const replicas: Replica[] = [];
  endings.push(() => Promise.all(replicas.map((replica) => replica.end('SIGTERM'))));
  for (const number of [1, 2, 3]) {
    replicas.push(await startReplica(number, settings));
    signal.throwIfAborted();
  }
  const balancer = await startBalancer(replicas);
  endings.push(async () => balancer.stop());
  const [holder, database] = [new pg.Client(postgres.url), new pg.Client(postgres.url)];
  for (const client of [holder, database]) {
    await client.connect();
    endings.push(() => client.end());
  }
  const demo = { url: balancer.url, token, replicas, holder, database, signal };
  say(`Three replicas run on one PostgreSQL, behind a balancer at ${balancer.url}.`);
  say('The balancer gives each request to the next replica.\n');
  const columns = [
    { name: 'parcel', type: 'bigint' },
    { name: 'city', type: 'text' },
  ];
  await sendExpecting(demo, 201, 'POST', table, { body: { table: { columns } } });
  return demo;
}

async function cancelElsewhere(demo: Demo): Promise<void> {
  say('\n1. A load is sent to one replica, watched at another one, and cancelled through the third\n');
  await holdTable(demo);
  const accepted = await sendExpecting(demo, 202, 'POST', append, { body: parcels(1), isAsync: true });
  const path = `/api/v1/loads/${accepted.body.id}`;
  await waitingReplicas(demo, 1);
  const states = watch(demo, `${path}/events`);
  const { value: first } = await states.next();
  check(first?.state === 'running', `the load is ${first?.state}`);
  const cancelled = await sendExpecting(demo, 202, 'POST', `${path}/cancel`);
  const last = await lastOf(states);
  check(last?.state === 'cancelled', `the load is ${last?.state}`);
  const replicas = [accepted.replica, first!.replica, cancelled.replica];
  check(new Set(replicas).size === 3, `the requests went to the replicas ${replicas}`);
  await releaseTable(demo);
  await checkRows(demo, 0);
}

async function killOne(demo: Demo): Promise<void> {
  say(
    '\n2. A replica is killed in the middle of two loads, an asynchronous one and one whose client waits\n',
  );
  await holdTable(demo);
  const later = { body: parcels(1), key: 'parcels-of-monday', isAsync: true };
  const accepted = await sendExpecting(demo, 202, 'POST', append, later);
  const [number] = await waitingReplicas(demo, 1);
  const now = { body: parcels(2), key: 'parcels-of-tuesday' };
  const unanswered = sendExpecting(demo, 502, 'POST', append, { ...now, replica: number! });
  unanswered.catch(() => {});
  await waitingReplicas(demo, 2);
  const loadOf = await runningLoads(demo, 2);
  const waited = loadOf.find((id) => id !== accepted.body.id)!;
  await demo.replicas[Number(number) - 1]!.end('SIGKILL');
  say(`$ kill -9 replica ${number}`);
  await unanswered;
  await releaseTable(demo);

  say('\nThe client of each load sends its request again, with the same Idempotency-Key:\n');
  const again = await sendExpecting(demo, 202, 'POST', append, later);
  check(again.body.id === accepted.body.id, 'the repeated request has begun another load');
  await sendUntilAnswered(demo, now);

  say('\nAnother replica takes up the asynchronous load when the lease of the dead replica has ended:\n');
  const last = await lastOf(watch(demo, `/api/v1/loads/${accepted.body.id}/events`));
  check(last?.state === 'committed', `the asynchronous load is ${last?.state}`);
  const failed = await until(demo, async () => {
    const { body } = await send(demo, 'GET', `/api/v1/loads/${waited}`);
    return body.ended_at === null ? undefined : body.state;
  });
  check(failed === 'failed', `the first try of the other load is ${failed}`);
  say(`The first try of the other load, ${waited}, is failed. Its second try was answered above.`);
  await checkRows(demo, 2 * rowsPerLoad);
}

/** Sends a request again until it is no longer refused because the first one may still run. */
async function sendUntilAnswered(demo: Demo, options: SendOptions): Promise<void> {
  let isSaid = false;
  await until(demo, async () => {
    const answer = await send(demo, 'POST', append, options);
    if (answer.status === 409 && isSaid) return undefined;
    isSaid = true;
    sayAnswer('POST', append, options, answer);
    if (answer.status === 409) return undefined;
    check(answer.status === 200 || answer.status === 201, `the upload was answered with ${answer.status}`);
    return answer;
  });
}

interface SendOptions {
  body?: unknown;
  key?: string;
  isAsync?: boolean;
  replica?: string;
}

async function send(demo: Demo, method: string, path: string, options: SendOptions = {}): Promise<Answer> {
  const { body, key, isAsync, replica } = options;
  const answer = await fetch(demo.url + path, {
    method,
    headers: {
      authorization: `Bearer ${demo.token}`,
      ...(body !== undefined && { 'content-type': 'application/json' }),
      ...(key !== undefined && { 'idempotency-key': key }),
      ...(isAsync && { prefer: 'respond-async' }),
      ...(replica !== undefined && { 'x-replica': replica }),
    },
    body: body === undefined ? null : JSON.stringify(body),
    signal: demo.signal,
  });
  const text = await answer.text();
  return {
    status: answer.status,
    replica: answer.headers.get('x-replica')!,
    body: text === '' ? undefined : JSON.parse(text),
  };
}

async function sendExpecting(
  demo: Demo,
  status: number,
  method: string,
  path: string,
  options: SendOptions = {},
): Promise<Answer> {
  const answer = await send(demo, method, path, options);
  sayAnswer(method, path, options, answer);
  check(answer.status === status, `it was answered with ${answer.status}, not with ${status}`);
  return answer;
}

function sayAnswer(method: string, path: string, { key, isAsync }: SendOptions, answer: Answer): void {
  const headers = `${isAsync ? ', Prefer: respond-async' : ''}${key === undefined ? '' : `, Idempotency-Key: ${key}`}`;
  const { code, id, state, rows } = answer.body ?? {};
  const facts = [code, id && `load ${id}`, state, rows && `${rows} rows`].filter(
    (fact) => fact !== undefined,
  );
  say(`${method} ${path}${headers}\n  replica ${answer.replica}: ${[answer.status, ...facts].join(' ')}`);
}

interface Watched {
  state: string;
  replica: string;
}

/** Yields the states of a load until it has ended. */
async function* watch(demo: Demo, path: string): AsyncGenerator<Watched, undefined> {
  const headers = { authorization: `Bearer ${demo.token}` };
  const signal = AbortSignal.any([demo.signal, AbortSignal.timeout(60_000)]);
  const stream = await fetch(demo.url + path, { headers, signal });
  check(stream.status === 200, `${path} was answered with ${stream.status}`);
  const replica = stream.headers.get('x-replica')!;
  say(`GET ${path}`);
  let unread = '';
  let last = '';
  for await (const chunk of stream.body!.pipeThrough(new TextDecoderStream())) {
    const parts = (unread + chunk).split('\n\n');
    unread = parts.pop()!;
    for (const part of parts) {
      const data = /^event: \w+\ndata: (.*)$/m.exec(part)?.[1];
      const state: string = data === undefined ? last : JSON.parse(data).state;
      if (state === last) continue;
      last = state;
      say(`  replica ${replica}: ${state}`);
      yield { state, replica };
    }
  }
}

async function lastOf(states: AsyncGenerator<Watched>): Promise<Watched | undefined> {
  let last: Watched | undefined;
  for await (const state of states) last = state;
  return last;
}

/** Locks the table, so that loads into it last until it is released, however fast the machine is. */
async function holdTable({ holder }: Demo): Promise<void> {
  say('Another session locks the table, so that loads into it wait.');
  await holder.query('BEGIN; LOCK TABLE parcels');
}

async function releaseTable({ holder }: Demo): Promise<void> {
  await holder.query('COMMIT');
  say('The other session releases the table.');
}

/** Waits until so many loads wait for the table, and returns the numbers of their replicas. */
function waitingReplicas(demo: Demo, count: number): Promise<string[]> {
  return until(demo, async () => {
    const { rows } = await demo.database.query<{ name: string }>(
      `SELECT application_name AS name FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`,
    );
    return rows.length < count ? undefined : rows.map(({ name }) => name.split(' ')[1]!);
  });
}

/** Waits until so many running loads are recorded, and returns their ids. */
function runningLoads(demo: Demo, count: number): Promise<string[]> {
  return until(demo, async () => {
    const { body } = await send(demo, 'GET', '/api/v1/loads?state=running');
    return body.loads.length < count ? undefined : body.loads.map(({ id }: { id: string }) => id);
  });
}

async function checkRows({ database }: Demo, expected: number): Promise<void> {
  const { rows } = await database.query(
    'SELECT count(*)::int4 AS count, count(DISTINCT parcel)::int4 AS parcels FROM parcels',
  );
  const { count, parcels } = rows[0];
  say(`The table has ${count} rows with ${parcels} different parcels.`);
  check(count === expected && parcels === expected, `${expected} rows were expected, each once`);
}

function parcels(day: number): { data: object[] } {
  const data = Array.from({ length: rowsPerLoad }, (_, n) => ({
    parcel: day * rowsPerLoad + n,
    city: 'Łódź',
  }));
  return { data };
}

/** Asks until there is a result. @throws Error after a minute */
async function until<Result>({ signal }: Demo, ask: () => Promise<Result | undefined>): Promise<Result> {
  const endsAtMs = performance.now() + 60_000;
  for (;;) {
    const result = await ask();
    if (result !== undefined) return result;
    if (performance.now() > endsAtMs) throw new Error('what should happen did not happen within a minute');
    await sleep(200, undefined, { signal });
  }
}

function check(isTrue: boolean, otherwise: string): asserts isTrue {
  if (!isTrue) throw new Error(otherwise);
}
