/** `tablewright` on the command line (`cli/`), in processes of its own, against one service. */
import assert from 'node:assert/strict';
import { type ChildProcess, execFileSync, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { createWriteStream, existsSync, readdirSync, readFileSync } from 'node:fs';
import { appendFile, chmod, cp, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer, request as httpRequest } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { text } from 'node:stream/consumers';
import { after, before, suite, test } from 'node:test';
import { asOptions } from '../../cli/as-options.ts';
import { commands, type Option, optionOf } from '../../cli/commands.ts';
import { harmless, harmlessJson } from '../../cli/harmless.ts';
import { commandHelp, generalHelp } from '../../cli/help.ts';
import { progressText } from '../../cli/progress.ts';
import { uploadParameters } from '../../client/parameters.ts';
import { allScopes } from '../../src/service/start/dev-token.ts';
import { scriptEnvironment } from '../support/child-environment.ts';
import { type ChildService, startChildService } from '../support/child-service.ts';
import { freePort } from '../support/free-port.ts';
import { secret, startTestService, type TestService } from '../support/service.ts';
import { until } from '../support/until.ts';

const root = join(import.meta.dirname, '..', '..');
const program = join(root, 'cli', 'main.ts');

/** Returns whether the text has characters that command a terminal. The line feed is none. */
const commandsTerminal = (text: string): boolean => harmless(text).replaceAll('\\u000a', '\n') !== text;

let service: TestService;
let folder: string;
let environment: NodeJS.ProcessEnv;

before(async () => {
  service = await startTestService({ LOCK_TIMEOUT_MS: '60000' });
  folder = await mkdtemp(join(tmpdir(), 'tablewright-cli-'));
  environment = {
    ...scriptEnvironment(),
    HOME: folder,
    TABLEWRIGHT_URL: service.url,
    TABLEWRIGHT_TOKEN: await service.token(),
  };
  await cp(join(root, 'examples', 'orders.xlsx'), join(folder, 'orders.xlsx'));
});

after(async () => {
  await service.stop();
  await rm(folder, { recursive: true, force: true });
});

interface Ended {
  code: number | null;
  out: string;
  err: string;
}

function start(parameters: string[], env: NodeJS.ProcessEnv = {}): ChildProcess {
  return spawn(process.execPath, [program, ...parameters], { cwd: folder, env: { ...environment, ...env } });
}

async function ended(child: ChildProcess): Promise<Ended> {
  const [out, err] = await Promise.all([text(child.stdout!), text(child.stderr!), once(child, 'close')]);
  return { code: child.exitCode, out, err };
}

function run(parameters: string[], input?: string, env?: NodeJS.ProcessEnv): Promise<Ended> {
  const child = start(parameters, env);
  child.stdin!.on('error', () => {});
  child.stdin!.end(input);
  return ended(child);
}

/** Returns the number of transactions that wait for a lock on the table. */
async function waitingFor(table: string): Promise<number> {
  const query = 'SELECT count(*)::int AS count FROM pg_locks WHERE relation = $1::regclass AND NOT granted';
  return (await service.rows(query, [table]))[0]!.count as number;
}

const hasScript = spawnSync('script', ['--version']).status === 0;

suite('help', () => {
  test('help names every command, and the help of a command every option with an example', () => {
    for (const [name, command] of Object.entries(commands)) {
      assert.match(generalHelp(), new RegExp(`^  ${name} +\\S`, 'm'));
      const help = commandHelp(command);
      for (const option of Object.keys(command.options))
        assert.match(help, new RegExp(`^  --${option}\\b`, 'm'));
      assert.match(help, new RegExp(`^  .*\\b${name}\\b`, 'm'));
    }
  });

  test('help has no line that is wider than 100 characters', () => {
    const texts = [generalHelp(), ...Object.values(commands).map(commandHelp)];
    for (const line of texts.join('\n').split('\n')) assert(line.length <= 100, line);
  });

  test('help is printed without loading the client or the service', () => {
    const files = new Set<string>();
    const collect = (file: string): void => {
      if (files.has(file)) return;
      files.add(file);
      for (const imported of loadedBy(file)) collect(imported);
    };
    collect('cli/main.ts');
    assert.deepEqual([...files].sort(), [
      'cli/commands.ts',
      'cli/end-signals.ts',
      'cli/exit-codes.ts',
      'cli/help.ts',
      'cli/main.ts',
      'cli/nearest.ts',
      'client/parameters.ts',
    ]);
  });

  test('--version prints the version of the package', async () => {
    const { version } = JSON.parse(await readFile(join(root, 'package.json'), 'utf8'));
    assert.deepEqual(await run(['--version']), { code: 0, out: `${version}\n`, err: '' });
  });
});

/** Returns the files that a file loads at once. Types and imports at the time of a call load nothing. */
function loadedBy(file: string): string[] {
  const code = readFileSync(join(root, file), 'utf8');
  const imports = code.matchAll(/^import (?!type)[^;]*? from '([^']+)'/gm);
  return [...imports].flatMap(([, name = '']) => {
    if (name.startsWith('node:')) return [];
    assert.match(name, /^\./, `${file} loads the package ${name}`);
    return join(dirname(file), name);
  });
}

suite('load', () => {
  test('the command load loads a workbook into the table of its name, and refuses it the second time', async () => {
    const loaded = await run(['load', 'orders.xlsx']);
    assert.match(loaded.out, /^orders\.xlsx → public\.orders: 300 rows loaded, [\d.]+ s\.\n$/);
    assert.match(loaded.err, /^warning: Sheet "Orders" was read.*\(other-sheets\)$/m);
    assert.equal(loaded.code, 0);
    const again = await run(['load', 'orders.xlsx', '--json']);
    assert.equal(again.code, 1);
    assert.equal(again.err, '');
    const { file, error } = JSON.parse(again.out);
    assert.deepEqual([file, error.status, error.code], ['orders.xlsx', 409, 'table-exists']);
  });

  test('the command load reads lines of JSON from the standard input, with a definition', async () => {
    const columns = [
      { name: 'id', type: 'integer' },
      { name: 'amount', type: 'numeric' },
    ];
    await writeFile(join(folder, 'definition.json'), JSON.stringify({ table: { columns } }));
    const lines = '\n{"id":1,"amount":12345678901234567890.12}\r\n\r\n {"id":2}\n\n';
    const parameters = ['load', '-', '--table', 'readings', '--definition', 'definition.json', '--json'];
    const { code, out } = await run(parameters, lines);
    assert.equal(code, 0);
    const { table, load } = JSON.parse(out);
    assert.deepEqual([load.rows, table.columns[0].type], [2, 'integer']);
    const [row] = await service.rows('SELECT amount::text FROM readings WHERE id = 1');
    assert.equal(row!.amount, '12345678901234567890.12');
  });

  test('--infer missing adds the columns that the definition does not name, and a byte order mark is no part of the rows', async () => {
    const columns = [{ name: 'id', type: 'integer', is_nullable: false }];
    await writeFile(join(folder, 'part.json'), JSON.stringify({ columns }));
    await writeFile(join(folder, 'lines.ndjson'), '\ufeff{"id":1,"note":"a"}\n{"id":2,"note":"b"}\n');
    await writeFile(join(folder, 'array.json'), '\ufeff[{"id":1,"note":"a"}]');
    await writeFile(join(folder, 'text.csv'), '\ufeffid,note\n1,a\n');
    for (const file of ['lines.ndjson', 'array.json', 'text.csv']) {
      const refused = await run(['load', file, '--definition', 'part.json']);
      assert.match(
        refused.err,
        /note +is not a column of the table\. Rename it with --rename, .*--extra-columns add/,
        file,
      );
      const loaded = await run(['load', file, '--definition', 'part.json', '--infer', 'missing', '--json']);
      const { table } = JSON.parse(loaded.out);
      assert.deepEqual(
        table.columns.map(({ name, type }: Record<string, string>) => [name, type]),
        [
          ['id', 'integer'],
          ['note', 'text'],
        ],
        file,
      );
    }
    const object = ['load', '-', '--table', 'objects', '--definition', 'part.json'];
    assert.match((await run(object, '{"data":[]}')).err, /has its definition in its member "table"/);
    const long = await run(['load', 'orders.xlsx', '--table', 'x'.repeat(64)]);
    assert.equal(long.err.match(/at most 63 bytes/g)!.length, 1);
    const wrong = ['load', 'text.csv', '--infer', 'missing', '--extra-columns', 'ignore'];
    assert.equal((await run(wrong)).code, 2);
  });

  test('the command load loads several files and patterns into one table', async () => {
    await mkdir(join(folder, 'months'));
    for (const month of ['01', '02', '03']) {
      await writeFile(join(folder, 'months', `${month}.csv`), `month,total\n${month},1.5\n`);
    }
    await writeFile(join(folder, 'more.json'), '[{"month":"04","total":2}]');
    const { code, err } = await run([
      'load',
      'months/*.csv',
      'more.json',
      '--table',
      'months',
      '--if_exists=replace',
      '--quiet',
    ]);
    assert.deepEqual([code, err], [0, '']);
    const rows = await service.rows('SELECT month FROM months ORDER BY 1');
    assert.deepEqual(
      rows.map(({ month }) => month),
      ['01', '02', '03', '04'],
    );
  });

  test('the command load checks with --dry-run a further file against the table that the first one would create', async () => {
    await writeFile(join(folder, 'first.csv'), 'no,total\n1,10\n');
    await writeFile(join(folder, 'second.csv'), 'no,total\n2,20\n');
    await writeFile(join(folder, 'words.csv'), 'no,total\n3,twelve\n');
    const rest = ['--table', 'planned', '--dry-run', '--primary-key', 'no'];
    const fitting = await run(['load', 'first.csv', 'second.csv', ...rest]);
    assert.match(fitting.out, /^second\.csv → public\.planned: 1 row loaded, .* nothing was changed\.$/m);
    assert.match(fitting.err, /^Keys that are in more than one of the files were not checked/m);
    assert.equal(fitting.code, 0);
    const refused = await run(['load', 'first.csv', 'words.csv', 'second.csv', ...rest]);
    assert.match(refused.err, /^words\.csv was not loaded\.$/m);
    assert.match(refused.err, /^\S*B2 +total +twelve +not a whole number/m);
    assert.equal(refused.code, 1);
    await service.rows('CREATE TABLE planned (no text PRIMARY KEY, total text)');
    const existing = await run(['load', 'first.csv', 'words.csv', ...rest, '--if-exists', 'append']);
    assert.equal(existing.code, 0, existing.err);
    const replacing = await run(['load', 'first.csv', 'words.csv', ...rest, '--if-exists', 'replace']);
    assert.match(replacing.err, /^\S*B2 +total +twelve +not a whole number/m);
    await writeFile(join(folder, 'object.json'), '{"data":[{"no":1}]}');
    const object = await run(['load', 'words.csv', 'object.json', ...rest, '--if-exists', 'replace']);
    assert.match(object.err, /cannot check object\.json after another file, because it is a JSON object/);
    assert.deepEqual(await service.rows('SELECT FROM planned'), []);
  });

  test('the command load shows the first fifty problems with their cells, writes all into a file, and keeps the terminal harmless', async () => {
    // A text file with other control characters would not be recognized.
    const sequence = '\u009b31m\u202e';
    await run(['load', '-', '--table', 'amounts'], '{"amount":1}\n');
    const rows = Array.from({ length: 120 }, (_, n) => (n % 2 === 0 ? `${n}` : `x${n}${sequence}`));
    await writeFile(join(folder, 'amounts.csv'), `amount\n${rows.join('\n')}\n`);
    const parameters = ['load', 'amounts.csv', '--if-exists', 'append', '--problems', 'problems.csv'];
    const { code, out, err } = await run(parameters);
    assert.deepEqual([code, out], [1, '']);
    assert.match(err, /^place +column +value +problem$/m);
    assert.match(err, /^amounts\.csv was not loaded\.$/m);
    assert.equal(err.match(/ not a whole number/g)!.length, 50);
    assert.match(err, /^… and 10 more problems\./m);
    assert.match(err, /^\S*A3 +amount +x1\\u009b31m\\u202e +not a whole number/m);
    assert(!commandsTerminal(err));
    const fromJson = await run(
      ['load', '-', '--table', 'amounts', '--if-exists', 'append'],
      '{"amount":"\\u001b[2J\\u0007"}',
    );
    assert.match(fromJson.err, /^line 1 +amount +\\u001b\[2J\\u0007 +not a whole number/m);
    assert(!commandsTerminal(fromJson.err));
    const csv = await readFile(join(folder, 'problems.csv'), 'utf8');
    assert.equal(csv.trimEnd().split('\r\n').length, 61);
    const leftOut = await run([...parameters, '--faulty-rows', 'leave_out']);
    assert.equal(leftOut.code, 0);
    assert.match(leftOut.out, /: 60 rows loaded, 60 rows left out,/);
  });

  test('the command load writes the rows with problems into a file, which loads after it was repaired', async () => {
    await run(['load', '-', '--table', 'faulty'], '{"n":1,"t":"a"}\n');
    await writeFile(join(folder, 'faulty.csv'), 'n;t\n2;b\nx;c\n');
    const load = ['load', 'faulty.csv', '--if-exists', 'append', '--faulty-rows-file', 'repair.csv'];
    const refused = await run(load);
    assert.equal(refused.code, 1);
    assert.match(refused.err, /^The rows with problems are in repair\.csv\.$/m);
    const leftOut = await run([
      ...load.slice(0, -1),
      'repair.XLSX',
      '--faulty-rows',
      'leave_out',
      '--max-faulty-rows',
      '50%',
    ]);
    assert.equal(leftOut.code, 0, leftOut.err);
    assert.equal((await readFile(join(folder, 'repair.XLSX'))).toString('latin1', 0, 2), 'PK');
    const file = await readFile(join(folder, 'repair.csv'), 'utf8');
    assert.match(file, /^n;t;"_problem"\nx;c;"n: not a whole number/);
    await writeFile(join(folder, 'repair.csv'), file.replace('x;', '3;'));
    const repaired = await run(['load', 'repair.csv', '--table', 'faulty', '--if-exists', 'append']);
    assert.match(repaired.out, /: 1 row loaded/);
    const unwritable = await run([...load.slice(0, -1), 'nowhere/repair.csv']);
    assert.equal(unwritable.code, 2);
    assert.match(unwritable.err, /of --faulty-rows-file cannot be written: /);
    await writeFile(join(folder, 'faulty.csv'), 'n,m\n1,2\n');
    const whole = await run([...load.slice(0, -1), 'none.csv']);
    assert.match(whole.err, /^none\.csv was not written\. No faulty rows/m);
  });

  test('--patch corrects cells, and a request that is wrong itself writes no file of rows', async () => {
    await writeFile(join(folder, 'wrong.csv'), 'n;t\n2;b\nx;c\n');
    await writeFile(join(folder, 'patch.json'), '[{"cell":"A3","value":"3"}]');
    const load = ['load', 'wrong.csv', '--table', 'patched', '--primary-key', 'n', '--if-exists', 'append'];
    const done = await run([...load, '--patch', 'patch.json', '--json']);
    assert.equal(done.code, 0, done.err);
    const { corrected } = JSON.parse(done.out).load;
    assert.deepEqual(corrected, [{ cell: 'A3', row: 2, column: 'n', from: 'x', to: '3' }]);
    assert.equal(
      (await run(['load', '-', '--table', 'patched', '--patch', 'patch.json'], '{"n":1}')).code,
      2,
    );
    await writeFile(join(folder, 'patch.json'), '{}');
    assert.match((await run([...load, '--patch', 'patch.json'])).err, /it is not a JSON array/);
    const marked = [...load, '--on-conflict', 'update', '--missing-rows', 'mark:gone'];
    const refused = await run([...marked, '--faulty-rows-file', 'no.csv']);
    assert.match(refused.err, /The table has no column "gone"/);
    assert.doesNotMatch(refused.err, /no\.csv/);
  });

  test('all files are loaded although nobody reads the output, and a list ends then', async () => {
    for (const name of ['one', 'two', 'three']) await writeFile(join(folder, `${name}.csv`), 'a\n1\n');
    const command = `"${process.execPath}" "${program}"`;
    const script = `${command} load one.csv two.csv three.csv --table unread --json 2>&1 | true; ${command} tables | head -n 1`;
    const child = spawn('sh', ['-c', script], { cwd: folder, env: environment });
    const { out, err } = await ended(child);
    assert.match(out, /^schema +table[^\n]*\n$/);
    assert.equal(err, '');
    assert.deepEqual(await service.rows('SELECT count(*)::int AS rows FROM unread'), [{ rows: 3 }]);
  });

  test('a further file for a table removes no rows of an earlier one, also with an upload profile', async () => {
    for (const [place, no] of Object.entries({ north: 1, south: 2 })) {
      await mkdir(join(folder, place));
      await writeFile(join(folder, place, 'sales.csv'), `no\n${no}\n`);
    }
    await service.rows('CREATE TABLE sales (no int PRIMARY KEY); INSERT INTO sales VALUES (0)');
    const sales = () => service.rows('SELECT no::int FROM sales ORDER BY 1');
    const append = ['--if-exists', 'append', '--on-conflict', 'update'];
    const nightly = [...append, '--missing-rows', 'delete', '--max-missing-rows', '100%'];
    assert.equal((await run(['profiles', 'save', 'nightly', ...nightly])).code, 0);
    const load = ['load', 'north/sales.csv', 'south/sales.csv'];
    const profile = ['--upload-profile', 'nightly'];
    const refused: [string[], RegExp][] = [
      [['--if-exists', 'replace'], /sales.csv" go into one table, "sales", and with --if-exists replace/],
      [['--if-exists', 'truncate'], /with --if-exists truncate the second may remove/],
      [nightly, /--missing-rows needs one file for a table/],
      [[...nightly, '--table', 'sales'], /--missing-rows needs one file for a table/],
      [profile, /with --upload-profile the second may remove/],
      [[...profile, '--missing-rows', 'keep'], /with --upload-profile the second may remove/],
      [[...profile, ...append], /--upload-profile needs one file for a table/],
      [[...profile, '--table', 'sales'], /--upload-profile needs one file for a table/],
      [[...profile, '--table', 'sales', '--if-exists', 'replace'], /--upload-profile needs one file/],
    ];
    for (const [options, reason] of refused) {
      const { code, err } = await run([...load, ...options]);
      assert.deepEqual([code, await sales()], [2, [{ no: 0 }]], `${options.join(' ')}: ${err}`);
      assert.match(err, reason);
    }
    const kept = await run([...load, ...profile, '--table', 'sales', '--missing-rows', 'keep']);
    assert.deepEqual([kept.code, await sales()], [0, [{ no: 0 }, { no: 1 }, { no: 2 }]], kept.err);
    const replaced = await run([...load, '--table', 'sales', '--if-exists', 'replace']);
    assert.deepEqual([replaced.code, await sales()], [0, [{ no: 1 }, { no: 2 }]], replaced.err);
    assert.equal((await run(['profiles', 'delete', 'nightly'])).code, 0);
  });

  test('a problems file that cannot be written is wrong use before the load, and no failure of a load that was committed', async () => {
    await writeFile(join(folder, 'noted.csv'), 'a\n1\n');
    for (const path of ['.', 'nowhere/problems.csv']) {
      const { code, err } = await run(['load', 'noted.csv', '--problems', path]);
      assert.equal(code, 2);
      assert.match(err, /of --problems cannot be written: /);
    }
    assert.equal((await run(['load', 'noted.csv', '--async', '--problems', 'p.csv'])).code, 2);
    if (!existsSync('/dev/full')) return;
    const { code, out, err } = await run(['load', 'noted.csv', '--problems', '/dev/full']);
    assert.match(out, /^noted\.csv → public\.noted: 1 row loaded/);
    assert.match(err, /^The problems of load \S+ could not be written into \/dev\/full\.\nerror: ENOSPC/m);
    assert.doesNotMatch(err, /was not loaded/);
    assert.equal(code, 1);
  });

  test('an upload whose answer is lost is loaded if the service says so, and otherwise nobody knows', async () => {
    let answersLater = true;
    let isLost = false;
    const proxy = createServer((incoming, outgoing) => {
      const { method, url: path = '', headers } = incoming;
      const forwarded = httpRequest(new URL(path, service.url), { method, headers }, (answer) => {
        isLost ||= path.includes('/upload/');
        if (path.includes('/upload/') || (isLost && !answersLater)) incoming.socket.destroy();
        else answer.pipe(outgoing.writeHead(answer.statusCode!, answer.headers));
      });
      incoming.pipe(forwarded);
    });
    proxy.listen(0, '127.0.0.1');
    await once(proxy, 'listening');
    const url = `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`;
    const parameters = [
      'load',
      '-',
      '--table',
      'lost',
      '--url',
      url,
      '--retry',
      '0',
      '--if-exists',
      'append',
    ];
    try {
      const found = await run(parameters, '{"a":1}\n');
      assert.match(found.out, /^- → public\.lost: 1 row loaded/);
      assert.equal(found.code, 0);
      [answersLater, isLost] = [false, false];
      const unknown = await run(parameters, '{"a":1}\n');
      assert.match(unknown.err, /^It is not known whether - was loaded, because the answer .* was lost\./m);
      assert.deepEqual([unknown.code, unknown.out], [3, '']);
      isLost = false;
      const { file, outcome, error } = JSON.parse((await run([...parameters, '--json'], '{"a":1}\n')).out);
      assert.deepEqual([file, outcome, error.code], ['-', 'unknown', 'unreachable']);
    } finally {
      proxy.close();
    }
  });

  test('an upload that is refused after its answer was lost is loaded if the service says so, and otherwise nobody knows', async () => {
    let uploads = 0;
    let expires = 'uploads';
    const proxy = createServer((incoming, outgoing) => {
      const { method, url: path = '', headers } = incoming;
      const isUpload = path.includes('/upload/');
      const isFirst = isUpload && uploads++ === 0;
      // The token expires after the first upload.
      const isExpired = !isFirst && uploads > 0 && (isUpload || expires === 'everything');
      const sent = isExpired ? { ...headers, authorization: 'Bearer expired' } : headers;
      const forwarded = httpRequest(new URL(path, service.url), { method, headers: sent }, (answer) => {
        if (isFirst) incoming.socket.destroy();
        else answer.pipe(outgoing.writeHead(answer.statusCode!, answer.headers));
      });
      incoming.pipe(forwarded);
    });
    proxy.listen(0, '127.0.0.1');
    await once(proxy, 'listening');
    const url = `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`;
    const parameters = ['load', 'expiring.ndjson', '--if-exists', 'append', '--url', url];
    await writeFile(join(folder, 'expiring.ndjson'), '{"a":1}\n');
    try {
      const found = await run(parameters);
      assert.match(found.out, /^expiring\.ndjson → public\.expiring: 1 row loaded/);
      assert.deepEqual([found.code, uploads], [0, 2]);
      [uploads, expires] = [0, 'everything'];
      const unknown = await run(parameters);
      assert.match(
        unknown.err,
        /^It is not known whether expiring\.ndjson was loaded, .* "tablewright loads"\.$/m,
      );
      assert.match(unknown.err, /^error: .*\(invalid-token\)$/m);
      assert.doesNotMatch(unknown.err, /was not loaded/);
      assert.deepEqual([unknown.code, unknown.out, uploads], [3, '', 2]);
      uploads = 0;
      const { outcome, error } = JSON.parse((await run([...parameters, '--json'])).out);
      assert.deepEqual([outcome, error.code], ['unknown', 'invalid-token']);
      assert.deepEqual(await service.rows('SELECT count(*)::int FROM expiring'), [{ count: 3 }]);
    } finally {
      proxy.close();
    }
  });

  test('--async stores the file, and loads --watch waits for the end', async () => {
    const stored = await run(['load', 'orders.xlsx', '--table', 'later', '--async', '--json']);
    const { id } = JSON.parse(stored.out).load;
    const watched = await run(['loads', id, '--watch']);
    assert.equal(watched.code, 0);
    assert.match(watched.out, /public\.later committed: .* 300 rows read/);
  });

  for (const [signal, table, expected] of [
    ['SIGINT', 'endless', 130],
    ['SIGTERM', 'terminated', 143],
  ] as const) {
    test(`${signal} to an older Node.js cancels the load at the service, and the exit code is ${expected}`, async () => {
      const versions = '{value:{...process.versions,node:"20.20.2"}}';
      const older = `--import=data:text/javascript,Object.defineProperty(process,"versions",${versions})`;
      const launcher = join(root, 'cli', 'tablewright.mjs');
      const parameters = [older, launcher, 'load', '-', 'orders.xlsx', '--table', table, '--json'];
      const child = spawn(process.execPath, parameters, { cwd: folder, env: environment });
      child.stdin.on('error', () => {});
      child.stdin.write('{"a":1}\n'.repeat(10_000));
      await until('the load', async () => {
        const { body } = await service.get(`/api/v1/loads?table=${table}&state=receiving`);
        return body.loads.length === 1;
      });
      child.kill(signal);
      const { code, out, err } = await ended(child);
      assert.equal(code, expected);
      assert.match(err, /^Cancelled\. Nothing was changed\.$/m);
      assert.deepEqual(
        out
          .trim()
          .split('\n')
          .map((line) => JSON.parse(line)),
        [
          { file: '-', outcome: 'cancelled' },
          { file: 'orders.xlsx', skipped: true },
        ],
      );
      await until('the end of the load', async () => {
        const { body } = await service.get(`/api/v1/loads?table=${table}`);
        return body.loads.every(({ state }: { state: string }) => state === 'cancelled');
      });
    });
  }

  test('a load that is committed although Ctrl-C came is reported, no further file is loaded, and the exit code is 130', async () => {
    // The service does not hear of the cancellation, as if it came just after the commit.
    const proxy = createServer((incoming, outgoing) => {
      const { method, url: path = '', headers } = incoming;
      if (path.endsWith('/cancel')) return incoming.socket.destroy();
      const forwarded = httpRequest(new URL(path, service.url), { method, headers }, (answer) =>
        answer.pipe(outgoing.writeHead(answer.statusCode!, answer.headers)),
      );
      incoming.pipe(forwarded);
      return undefined;
    });
    proxy.listen(0, '127.0.0.1');
    await once(proxy, 'listening');
    await service.rows('CREATE TABLE late (a integer)');
    await writeFile(join(folder, 'late.ndjson'), '{"a":1}\n');
    const blocker = await service.database.pool.connect();
    try {
      await blocker.query('BEGIN; LOCK TABLE late');
      const url = `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`;
      const files = ['late.ndjson', 'late.ndjson', '--table', 'late', '--if-exists', 'append'];
      const child = start(['load', ...files, '--url', url]);
      const ending = ended(child);
      await until('the load', async () => (await waitingFor('late')) === 1);
      child.kill('SIGINT');
      await once(child.stderr!, 'data');
      await blocker.query('ROLLBACK');
      const { code, out, err } = await ending;
      assert.match(out, /^late\.ndjson → public\.late: 1 row loaded/);
      assert.match(err, /^1 file after it not loaded\.$/m);
      assert.equal(code, 130);
    } finally {
      blocker.release(true);
      proxy.close();
    }
    assert.deepEqual(await service.rows('SELECT a FROM late'), [{ a: 1 }]);
  });

  test('a terminal shows the rows that the service has read while the file is still sent', {
    skip: !hasScript,
  }, async () => {
    await service.rows('CREATE TABLE piped (a integer)');
    const pipe = join(folder, 'piped.ndjson');
    execFileSync('mkfifo', [pipe]);
    const command = `${process.execPath} ${program} load piped.ndjson --if-exists append`;
    const child = spawn('script', ['-qec', command, '/dev/null'], { cwd: folder, env: environment });
    child.stdin.end();
    let shown = '';
    child.stdout.on('data', (chunk) => {
      shown += chunk;
    });
    const sender = createWriteStream(pipe);
    sender.write('{"a":1}\n'.repeat(20_000));
    await until('the rows', () => /\d,\d{3} rows {2}[\d,]+ rows\/s/.test(shown));
    sender.end();
    await once(child, 'close');
    // The bar is removed at the end.
    assert(shown.includes('rows/s\r\u001b[Kpiped.ndjson → public.piped: 20,000 rows loaded'), shown);
  });

  test('the first Ctrl-C cancels its own load, also after the whole file was received, and no other one into the table', async () => {
    await service.rows('CREATE TABLE contested (a integer)');
    await writeFile(join(folder, 'contested.ndjson'), '{"a":1}\n{"a":2}\n');
    const blocker = await service.database.pool.connect();
    try {
      await blocker.query('BEGIN; LOCK TABLE contested');
      const parameters = ['load', 'contested.ndjson', '--if-exists', 'append'];
      const [first, second] = [start(parameters), start(parameters)];
      await until('both loads', async () => (await waitingFor('contested')) === 2);
      first.kill('SIGINT');
      const { code, err } = await ended(first);
      assert.match(err, /^Cancelled\. Nothing was changed\.$/m);
      assert.equal(code, 130);
      await blocker.query('ROLLBACK');
      assert.equal((await ended(second)).code, 0);
    } finally {
      blocker.release(true);
    }
    assert.deepEqual(await service.rows('SELECT a FROM contested ORDER BY a'), [{ a: 1 }, { a: 2 }]);
    const { body } = await service.get('/api/v1/loads?table=contested');
    const states = body.loads.map(({ state }: { state: string }) => state);
    assert.deepEqual(states.toSorted(), ['cancelled', 'committed']);
  });

  test('the command load stops at once if its file is changed while it is sent', async () => {
    await service.rows('CREATE TABLE growing (a text)');
    const file = join(folder, 'growing.ndjson');
    await writeFile(file, `{"a":"${'x'.repeat(1000)}"}\n`.repeat(40_000));
    const blocker = await service.database.pool.connect();
    try {
      // The service does not read on while the table is locked.
      await blocker.query('BEGIN; LOCK TABLE growing');
      const loading = run(['load', 'growing.ndjson', '--if-exists', 'append']);
      await until('the load', async () => (await waitingFor('growing')) > 0);
      await appendFile(file, '{"a":"y"}\n');
      await blocker.query('ROLLBACK');
      const { code, err } = await loading;
      assert.match(err, /^error: "growing\.ndjson" was changed while it was sent\./m);
      assert.equal(code, 2);
    } finally {
      blocker.release(true);
    }
    assert.deepEqual(await service.rows('SELECT a FROM growing'), []);
  });

  test('the command load starts a service for itself if none is named', async () => {
    const own = { TABLEWRIGHT_URL: undefined, TABLEWRIGHT_TOKEN: undefined, PORT: '1', TOKEN_SECRET: secret };
    const { code, out, err } = await run(['load', 'orders.xlsx', '--table', 'own'], undefined, {
      ...own,
      DATABASE_URL: service.database.serviceUrl,
    });
    assert.match(out, /300 rows loaded/);
    assert.match(
      err,
      /^No service was named: this command starts one, with the database of DATABASE_URL\.$/m,
    );
    assert.equal(code, 0);
  });
});

suite('a service of its own process', () => {
  let own: ChildService | undefined;
  let settings: Record<string, string>;
  let env: NodeJS.ProcessEnv;

  before(async () => {
    settings = { PORT: String(await freePort()) };
    env = { TABLEWRIGHT_URL: `http://127.0.0.1:${settings.PORT}` };
  });
  after(() => own?.end('SIGKILL'));

  const loadsOf = async (table: string): Promise<{ id: string; bytes_received: number }[]> => {
    const { body } = await service.get(`/api/v1/loads?table=${table}`);
    return body.loads;
  };

  const hasBytes = async (table: string): Promise<boolean> =>
    (await loadsOf(table)).some((load) => load.bytes_received > 0);

  test('a command waits for a service of its own process, and a file is loaded once if that service is killed in the middle of the load and starts again', async () => {
    await service.rows('CREATE TABLE restarted (a integer)');
    await writeFile(join(folder, 'restarted.ndjson'), '{"a":1}\n');
    const blocker = await service.database.pool.connect();
    try {
      await blocker.query('BEGIN; LOCK TABLE restarted');
      const child = start(['load', 'restarted.ndjson', '--if-exists', 'append'], env);
      const loading = ended(child);
      await once(child.stderr!, 'data');
      own = await startChildService(service.database, settings);
      await until('the load', async () => (await waitingFor('restarted')) === 1);
      await own.end('SIGKILL');
      // The lease of the dead process expires at once.
      await service.rows(`UPDATE tablewright_service.processes SET seen_at = seen_at - interval '1 hour'
        WHERE id = (SELECT process FROM tablewright_service.loads WHERE table_name = 'restarted')`);
      own = await startChildService(service.database, settings);
      await until('the load again', async () => (await loadsOf('restarted')).length === 2);
      await blocker.query('ROLLBACK');
      const { code, out, err } = await loading;
      assert.match(out, /1 row loaded/);
      assert.match(err, /^The service at .* does not answer: .*ECONNREFUSED.* Trying again for 60 s\.$/m);
      assert.equal(code, 0);
    } finally {
      blocker.release(true);
    }
    assert.deepEqual(await service.rows('SELECT a FROM restarted'), [{ a: 1 }]);
  });

  test('a command does not wait for a service of its own process after the second Ctrl-C', async () => {
    const child = start(['load', '-', '--table', 'unanswered'], env);
    const stopping = ended(child);
    child.stdin!.on('error', () => {});
    child.stdin!.write('{"a":1}\n'.repeat(10_000));
    // Before the first bytes the command line knows by itself that nothing is loaded.
    await until('the rows', () => hasBytes('unanswered'));
    own!.child.kill('SIGSTOP');
    try {
      let said = '';
      child.stderr!.on('data', (text) => {
        said += text;
      });
      child.kill('SIGINT');
      await until('the first signal', () => said.includes('Cancelling'));
      // A signal that arrives within half a second after the first one counts as the first one.
      await until('the process to end', () => {
        child.kill('SIGINT');
        return child.exitCode !== null;
      });
      const { code, out, err } = await stopping;
      assert.deepEqual([code, out], [130, '']);
      assert.match(err, /Cancelling the load\. Ctrl-C again ends at once\.\n$/);
    } finally {
      own!.child.kill('SIGCONT');
    }
  });
});

suite('exit codes', () => {
  for (const [parameters, said] of [
    [['laod'], /There is no command "laod"\. Did you mean "load"\?/],
    [
      ['load', 'a.csv', '--if-exist', 'append'],
      /^There is no option --if-exist\. Did you mean --if-exists\?$/m,
    ],
    [['load', 'a.csv', '--token', 'x'], /^There is no option --token\. Set TABLEWRIGHT_TOKEN\.$/m],
    [['load', 'a.csv', '--nothing-like-it'], /^There is no option --nothing-like-it\.$/m],
    [[], /^Usage: tablewright COMMAND/m],
    [['load'], /Name a file/],
    [['load', 'nowhere.xlsx'], /There is no file "nowhere\.xlsx"/],
    [['load', 'orders.xlsx', '.'], /"\." is a folder/],
    [['load', 'orders.xlsx', '--if-exists', 'maybe'], /--if-exists is fail or append or .*, not "maybe"/],
    [['load', 'orders.xlsx', '--decimal-sign', ';'], /--decimal-sign is \. or ,, not ";"/],
    [['load', 'orders.xlsx', '--if-exist', 'append'], /--if-exist/],
  ] as const) {
    test(`the exit code is 2 for: tablewright ${parameters.join(' ')}`, async () => {
      const { code, out, err } = await run([...parameters]);
      assert.deepEqual([code, out], [2, '']);
      assert.match(err, said);
    });
  }

  test('3: the service does not answer', async () => {
    const url = `http://127.0.0.1:${await freePort()}`;
    const { code, err } = await run(['tables', '--url', url, '--retry', '0']);
    assert.equal(code, 3);
    assert.match(err, /does not answer: .*ECONNREFUSED/);
  });

  test('1: the output cannot be written', { skip: !existsSync('/dev/full') }, async () => {
    const command = `"${process.execPath}" "${program}" --version > /dev/full`;
    const { code, err } = await ended(spawn('sh', ['-c', command], { cwd: folder, env: environment }));
    assert.match(err, /^error: The output cannot be written: ENOSPC/);
    assert.equal(code, 1);
  });

  test('1: the token is not valid', async () => {
    const { code, err } = await run(['tables'], undefined, { TABLEWRIGHT_TOKEN: 'none' });
    assert.equal(code, 1);
    assert.match(err, /invalid-token[\s\S]*Set TABLEWRIGHT_TOKEN/);
  });
});

test('a table is created, described, listed and inspected', async () => {
  const definition = { columns: [{ name: 'a', type: 'text', is_nullable: false }] };
  const created = await run(['create', 'made', '--definition', '-'], JSON.stringify(definition));
  assert.deepEqual(created, { code: 0, out: 'public.made is created.\n', err: '' });
  assert.match((await run(['describe', 'made'])).out, /^a +text +NOT NULL$/m);
  const keyed = { ...definition, constraints: { unique: [{ name: 'one', columns: ['a'] }] } };
  await run(['create', 'keyed', '--definition', '-'], JSON.stringify(keyed));
  const { out } = await run(['describe', 'keyed', '--json']);
  const copied = await run(['create', 'copied', '--definition', '-', '--new-names'], out);
  assert.equal(copied.out, 'public.copied is created.\n');
  assert.match((await run(['tables'])).out, /^public +made /m);
  const inspected = await run(['inspect', 'orders.xlsx']);
  assert.match(inspected.out, /^Order no +text$/m);
  assert.match((await run(['loads', '--limit', '1', '--state', 'committed'])).out, /committed/);
});

test('a table is renamed and dropped', async () => {
  await run(['create', 'short', '--definition', '-'], '{"columns":[{"name":"a","type":"text"}]}');
  assert.equal((await run(['rename', 'short', 'shorter'])).out, 'short is now public.shorter.\n');
  assert.equal((await run(['drop', 'shorter', '--dry-run'])).out, 'shorter could be dropped.\n');
  assert.deepEqual(JSON.parse((await run(['drop', 'shorter', '--json'])).out), {
    table: 'shorter',
    outcome: 'committed',
  });
  assert.match((await run(['drop', 'shorter'])).err, /table-not-found/);
  assert.equal((await run(['drop', 'shorter', '--missing-ok'])).code, 0);
  assert.equal((await run(['rename', 'shorter'])).code, 2);
});

test('tables become what files of definitions say, and --plan only shows it', async () => {
  const file = join(folder, 'altered.json');
  await writeFile(file, '{"table":{"columns":[{"name":"a","type":"int"},{"name":"b","type":"text"}]}}');
  assert.match((await run(['alter', file])).out, /^public\.altered: the table "altered" is created\n$/);
  assert.equal((await run(['alter', file])).out, 'public.altered is already what the definition says.\n');
  await writeFile(file, '{"columns":[{"name":"a","type":"bigint"}]}');
  const plan = await run(['alter', file, '--plan']);
  assert.match(plan.out, /the column "b" is dropped with its values \(needs --allow drop_columns\)\n/);
  assert.match(plan.out, /"a" becomes bigint instead of integer \(writes all rows, readers wait\)\n/);
  assert.match(plan.err, /ALTER TABLE "public"\."altered" DROP COLUMN "b";/);
  assert.match(plan.err, /Nothing was changed\./);
  const lost = await run(['alter', file]);
  assert.match(lost.err, /loses-data/);
  assert.match(lost.err, /Send --allow drop_columns to drop them/);
  const done = await run(['alter', file, '--allow', 'drop_columns', '--max-lock-ms', '60000', '--json']);
  assert.equal(JSON.parse(done.out).changes.length, 2, done.err);
  assert.equal((await run(['alter'])).code, 2);
  assert.equal((await run(['alter', file, file, '--table', 'x'])).code, 2);
});

test('the list of loads names the error of a load that was refused', async () => {
  const rows = '[{"a":null}]';
  await run(
    ['create', 'strict', '--definition', '-'],
    '{"columns":[{"name":"a","type":"text","is_nullable":false}]}',
  );
  assert.equal((await run(['load', '-', '--table', 'strict', '--if-exists', 'append'], rows)).code, 1);
  const listed = await run(['loads', '--table', 'strict']);
  assert.match(listed.out, /^\S+ +refused +invalid-data +public\.strict +1 /m);
});

test('a profile names the service and the token, and the environment comes first', async () => {
  const path = join(folder, '.config', 'tablewright');
  await mkdir(path, { recursive: true });
  const profiles = { test: { url: service.url, token: environment.TABLEWRIGHT_TOKEN } };
  await writeFile(join(path, 'profiles.json'), JSON.stringify(profiles));
  await chmod(join(path, 'profiles.json'), 0o600);
  const none = { TABLEWRIGHT_URL: undefined, TABLEWRIGHT_TOKEN: undefined };
  const named = await run(['tables', '--profile', 'test'], undefined, none);
  assert.deepEqual([named.code, named.err], [0, '']);
  const other = await run(
    ['tables', '--url', service.url.replace('127.0.0.1', 'localhost'), '--profile', 'test', '--json'],
    undefined,
    none,
  );
  assert.equal(JSON.parse(other.out).error.status, 401, 'the token of the profile is for its own service');
  await writeFile(join(path, 'profiles.json'), '{"test":{}}');
  assert.match(
    (await run(['tables', '--profile', 'test'], undefined, none)).err,
    /^The profile has no "url"/,
  );
  const unknown = await run(['tables', '--profile', 'other'], undefined, none);
  assert.equal(unknown.code, 2);
  assert.match(unknown.err, /There is no profile "other"/);
});

test('token prints a token that the service accepts', async () => {
  const { out } = await run(['token', '--ttl', '1m'], undefined, { TOKEN_SECRET: secret });
  const { status } = await service.get('/api/v1/tables', { token: out.trim() });
  assert.equal(status, 200);
  assert.equal((await run(['token', '--scope', 'none'])).code, 2);
  assert(allScopes.length > 0);
});

suite('what a terminal shows', () => {
  test('progress has the bar, the bytes, the rows, the rate and the time that is left', () => {
    const facts = { name: 'a.xlsx', total: 4 * 1024 ** 2, sent: 1024 ** 2, rows: 30_000, seconds: 30 };
    const bar = `${'█'.repeat(6)}${'░'.repeat(18)}`;
    assert.equal(
      progressText(facts),
      `a.xlsx  ${bar}  25%  1.0 MiB sent  30,000 rows  1,000 rows/s  1:30 left`,
    );
    assert.equal(progressText({ ...facts, rows: 0, columns: 40 }), 'a.xlsx  25%  1.0 MiB sent  1:30 left');
    assert.match(progressText({ ...facts, columns: 80 }), /^a\.xlsx {2}█{6}░{18} {2}25%/);
    assert.equal(progressText({ ...facts, total: undefined, rows: 0, sent: 12 }), 'a.xlsx  12 bytes sent');
  });

  test('characters that command a terminal are escaped, also in JSON', () => {
    assert.equal(harmless('a\u001b[2Jb\u009bc\u202ed\nř'), 'a\\u001b[2Jb\\u009bc\\u202ed\\u000ař');
    const value = { 'k\u009b': ['\u0007\u2028'] };
    assert(!commandsTerminal(harmlessJson(value)));
    assert.deepEqual(JSON.parse(harmlessJson(value)), value);
  });
});

test('serve starts the service and ends with the signal', async () => {
  const own = {
    DATABASE_URL: service.database.serviceUrl,
    TOKEN_SECRET: secret,
    // The program of the service has a cache and flags of V8 of its own.
    NODE_COMPILE_CACHE: undefined,
  };
  const child = start(['serve', '--port', '0'], own);
  let out = '';
  child.stdout!.on('data', (chunk) => {
    out += chunk;
  });
  await until('the service', async () => /Tablewright is up/.test(out));
  child.kill('SIGTERM');
  const [code] = await once(child, 'exit');
  assert.equal(code, 0);
});

test('the command rows prints the first rows of a table', async () => {
  await service.rows(`CREATE TABLE shown (a int, b text); INSERT INTO shown VALUES (1, 'x'), (2, NULL)`);
  const { code, out } = await run(['rows', 'shown']);
  assert.deepEqual([code, out], [0, 'a  b\n-  -\n1  x\n2\n']);
  const json = await run(['rows', 'shown', '--limit', '1', '--json']);
  assert.equal(json.out, '{"a":1,"b":"x"}\n');
});

test('the command export writes all rows to the standard output, or into a file that is whole', async () => {
  await service.rows(`CREATE TABLE taken (a int, b text); INSERT INTO taken VALUES (1, 'x'), (2, NULL);
    CREATE TABLE failing (a int, b text); INSERT INTO failing SELECT n, repeat('x', 200) FROM generate_series(1, 200000) AS n;
    INSERT INTO failing VALUES (0, repeat('x', 70000000))`);
  assert.deepEqual(await run(['export', 'taken']), { code: 0, out: 'a,b\n1,x\n2,\n', err: '' });
  const ordered = await run([
    'export',
    'taken',
    '--format',
    'ndjson',
    '--order',
    'a.desc',
    '--columns',
    'a',
    '--limit',
    '1',
  ]);
  assert.equal(ordered.out, '{"a":2}\n');
  const named = await run(['export', 'taken', '--output', 'taken.xlsx']);
  assert.deepEqual([named.code, named.out, named.err], [0, '', 'taken → taken.xlsx\n']);
  assert.equal(readFileSync(join(folder, 'taken.xlsx')).toString('latin1', 0, 2), 'PK');
  assert.equal((await run(['export', 'taken', '--format', 'xlsx'])).code, 2);

  const broken = await run(['export', 'failing', '--output', 'failing.csv']);
  assert.equal(broken.code, 3);
  assert.match(broken.err, /broke off, so the rows are not complete/);
  assert.deepEqual(
    readdirSync(folder).filter((name) => name.startsWith('failing')),
    [],
  );
  assert.equal((await run(['export', 'absent'])).code, 1);
});

test('messages name the options of the command line', async () => {
  await service.rows('CREATE TABLE orders_twice (a int)');
  const { err } = await run(['load', 'orders.xlsx', '--table', 'orders_twice']);
  assert.match(err, /Send --if-exists append/);
  assert.doesNotMatch(err, /if_exists/);
});

test('a profile is saved, used, shown, listed and deleted', async () => {
  const save = ['profiles', 'save', 'monthly', '--if-exists', 'replace', '--trim', '--rename', 'id:nr'];
  assert.match((await run(save)).out, /^Profile monthly is saved as version 1\./);
  const loaded = await run([
    'load',
    'orders.xlsx',
    '--table',
    'profiled',
    '--upload-profile',
    'monthly',
    '--json',
  ]);
  assert.deepEqual(JSON.parse(loaded.out).load.profile, { name: 'monthly', version: 1 }, loaded.err);
  assert.match((await run(['profiles', 'show', 'monthly'])).out, /^--if-exists replace$/m);
  assert.match((await run(['profiles'])).out, /monthly +1 .*--if-exists replace --rename id:nr --trim true/);
  const wrong = await run(['profiles', 'save', 'wrong', '--rename', 'x']);
  assert.deepEqual([wrong.code, /--rename|rename/.test(wrong.err)], [1, true], wrong.err);
  for (const line of [
    ['profiles', 'keep', 'x'],
    ['profiles', 'save'],
    ['profiles', 'show', 'x', '--trim'],
  ])
    assert.equal((await run(line)).code, 2);
  assert.equal((await run(['profiles', 'delete', 'monthly'])).code, 0);
  assert.equal((await run(['profiles', 'show', 'monthly'])).code, 1);
});

test('what a message advises can be typed as it is shown', async () => {
  const options: Record<string, Option> = { ...commands.load.options, ...commands.create.options };
  for (const name of [...uploadParameters.map(({ name }) => name), 'if_not_exists']) {
    const option = optionOf(name);
    const { value } = options[option]!;
    const typed = value === undefined ? `--${option}` : `--${option} true`;
    assert.equal(
      asOptions(`Send ${name}=true, or name it with \`${name}\`.`),
      `Send ${typed}, or name it with --${option}.`,
    );
  }
  assert.equal(
    asOptions('search_path=true, `pg_class` and a=true'),
    'search_path=true, `pg_class` and a=true',
  );

  await writeFile(join(folder, 'twice.json'), '{"columns": [{"name": "n", "type": "integer"}]}');
  const create = ['create', 'created_twice', '--definition', 'twice.json'];
  assert.equal((await run(create)).code, 0);
  const refused = await run(create);
  const [, advice] = /Send (--\S+?), or/.exec(refused.err) ?? [];
  assert.ok(advice !== undefined, refused.err);
  assert.equal((await run([...create, advice])).code, 0);
});

test('a terminal that cannot draw gets no bar', { skip: !hasScript }, async () => {
  await writeFile(join(folder, 'drawn.csv'), 'a\n1\n');
  for (const [env, isDrawn] of [
    [{ TERM: 'dumb', LC_ALL: 'C.UTF-8' }, false],
    [{ TERM: 'xterm', LC_ALL: 'C' }, false],
    [{ TERM: 'xterm', LC_ALL: 'C.UTF-8', CI: '1' }, false],
    [{ TERM: 'xterm', LC_ALL: 'C.UTF-8', CI: '' }, true],
  ] as const) {
    const table = `drawn_${Object.values(env).join('_').replaceAll(/\W/g, '_')}`.toLowerCase();
    await service.rows(`DROP TABLE IF EXISTS ${table}; CREATE TABLE ${table} (a int)`);
    const blocker = await service.database.pool.connect();
    try {
      await blocker.query(`BEGIN; LOCK TABLE ${table}`);
      const command = `${process.execPath} ${program} load drawn.csv --table ${table} --if-exists append`;
      const child = spawn('script', ['-qec', command, '/dev/null'], {
        cwd: folder,
        env: { ...environment, ...env },
      });

      let output = '';
      child.stdout.on('data', (chunk) => {
        output += chunk;
      });
      const end = once(child, 'close');
      await until('the load', async () => (await waitingFor(table)) > 0);
      if (isDrawn) await until('the bar', () => output.includes('█'));
      await blocker.query('ROLLBACK');
      await end;
      assert.equal(
        /[█░]/.test(output) || output.includes('\u001b[K'),
        isDrawn,
        JSON.stringify([env, output]),
      );
    } finally {
      blocker.release(true);
    }
  }
});

suite('completion', () => {
  const script = (shell: string) =>
    execFileSync(process.execPath, [program, 'completion', shell], { encoding: 'utf8' });
  const hasBash = spawnSync('bash', ['--version']).status === 0;
  test('bash completes commands, options and values', { skip: !hasBash }, () => {
    const bash = script('bash');
    const complete = (words: string) =>
      execFileSync(
        'bash',
        [
          '-c',
          `${bash}\nCOMP_WORDS=(${words}); COMP_CWORD=$((\${#COMP_WORDS[@]}-1)); _tablewright; echo "\${COMPREPLY[@]}"`,
        ],
        { encoding: 'utf8' },
      ).trim();
    assert.equal(complete('tablewright ins'), 'inspect');
    assert.equal(complete('tablewright load --if'), '--if-exists --if-missing');
    assert.equal(complete('tablewright load --if-e'), '--if-exists');
    assert.equal(complete('tablewright load --if-exists tr'), 'truncate');
    assert.equal(complete('tablewright load --if-exists = r'), 'replace');
    assert.equal(complete('tablewright load --if-exists ='), 'fail append truncate replace');
    // Signs, which shells would read as quotes, are not proposed.
    assert.equal(complete('tablewright load --quote ='), 'none');
    assert.equal(complete('tablewright load --thousands-sign ='), 'none space');
    // The words of zsh.
    assert.equal(complete('tablewright load --if-exists=r'), '--if-exists=replace');
  });

  test('zsh and fish get every command', () => {
    for (const shell of ['zsh', 'fish']) {
      const text = script(shell);
      for (const name of Object.keys(commands)) assert(text.includes(name), `${shell} ${name}`);
    }
  });
});

test('a dry run shows what would change, and the command changes shows it of every load', async () => {
  await service.rows(`CREATE TABLE stock (sku int PRIMARY KEY, price numeric, note text);
    INSERT INTO stock VALUES (1, 1.50, 'new'), (2, 2.00, 'old')`);
  await writeFile(join(folder, 'stock.csv'), 'sku,price,note\n1,1.50,new\n2,2.50,"a\u001b[2J"\n3,3.00,\n');
  const load = ['load', 'stock.csv', '--if-exists', 'append', '--on-conflict', 'update'];
  const shown = [
    '1 inserted, 1 changed, 1 unchanged',
    'changed sku=2 (data row 2)',
    '- price=2.00, note=old',
    '+ price=2.50, note=a\\u001b[2J',
    'inserted sku=3 (data row 3)',
    '+ price=3.00',
  ];
  const trial = await run([...load, '--dry-run']);
  assert.equal(trial.code, 0, trial.err);
  assert.ok(trial.err.includes(`${shown.join('\n')}\n`), trial.err);
  const saved = await run(['profiles', 'save', 'stock', '--if-exists', 'append', '--on-conflict', 'update']);
  assert.equal(saved.code, 0, saved.err);
  const byProfile = await run(['load', 'stock.csv', '--upload-profile', 'stock', '--dry-run']);
  assert.ok(byProfile.err.includes(`${shown.join('\n')}\n`), byProfile.err);
  const { load: loaded } = JSON.parse((await run([...load, '--json'])).out);
  assert.deepEqual((await run(['changes', loaded.id])).out.trimEnd().split('\n'), shown);
  const cut = await run(['changes', loaded.id, '--limit', '1']);
  assert.match(cut.out, /^… and 1 more change\.$/m);
  const { counts, changes } = JSON.parse((await run(['changes', loaded.id, '--json'])).out);
  assert.deepEqual([counts, changes.length], [{ inserted: 1, changed: 1, unchanged: 1 }, 2]);
  assert.equal((await run(['changes'])).code, 2);
});
