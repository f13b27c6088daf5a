/**
 * Compares a workbook over HTTP with `psql \copy` of the same rows as CSV, and with readers that only read it; and a small
 * workbook with the same rows as JSON.
 */
import { execFile } from 'node:child_process';
import { readFile, stat } from 'node:fs/promises';
import { Agent } from 'node:http';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { promisify } from 'node:util';
import {
  type BenchServer,
  type BenchService,
  startBenchServer,
  startBenchService,
} from './support/bench-server.ts';
import { multipart, writeMultipart } from './support/multipart.ts';
import { type Contender, formatMeasured, formatTable, runRounds } from './support/rounds.ts';
import { type Shape, shapes, writeCsv, writeJson } from './support/shapes.ts';
import { writeWorkbook } from './support/workbook-writer.ts';

const rounds = Number(process.env.BENCH_ROUNDS ?? 5);
const requestsPerContender = 200;

/**
 * Runs the benchmarks of Excel uploads.
 *
 * @param words `small` (100,000 rows and 200), `large` (1,000,000 rows); empty: both
 */
export async function benchExcel(words: string[]): Promise<void> {
  const isAsked = (word: string) => words.length === 0 || words.includes(word);
  const server = await startBenchServer();
  try {
    if (isAsked('small')) await benchRequests(server, sheetShape(200));
    if (isAsked('small')) await benchWorkbook(server, sheetShape(100_000));
    if (isAsked('large')) await benchWorkbook(server, sheetShape(1_000_000));
  } finally {
    await server.stop();
  }
}

/**
 * Returns the shape of the mixed rows in a sheet: dates and times have no time zone, and there are half as many different
 * strings as rows.
 */
function sheetShape(rows: number): Shape {
  const mixed = shapes.find(({ name }) => name === 'mixed')!;
  const place = (name: string) => mixed.columns.findIndex((column) => column.name === name);
  const [key, email, createdAt] = [place('key'), place('email'), place('created_at')];
  return {
    name: `sheet-${rows}`,
    rows,
    columns: mixed.columns.map((column, index) =>
      index === createdAt ? { ...column, type: 'timestamp' } : column,
    ),
    row: (index) => {
      const row = mixed.row(index);
      const repeated = mixed.row(index % (rows / 4));
      row[key] = repeated[key];
      row[email] = repeated[email];
      row[createdAt] = String(row[createdAt]).slice(0, -1);
      return row;
    },
  };
}

async function benchWorkbook(server: BenchServer, shape: Shape): Promise<void> {
  const file = (ending: string) => join(server.folder, `${shape.name}.${ending}`);
  const strings = await writeWorkbook(shape, file('xlsx'));
  await writeCsv(shape, file('csv'));
  await writeMultipart(file('xlsx'), file('definition'), shape);
  await writeMultipart(file('xlsx'), file('inferred'));
  const create = `CREATE TABLE bench (${shape.columns.map(({ name, type }) => `"${name}" ${type}`).join(', ')})`;

  const services = {
    'service, definition': { service: await startBenchService(server), body: file('definition') },
    'service, inferred': { service: await startBenchService(server), body: file('inferred') },
  };
  const cpuSeconds = new Map<string, number[]>();
  const uploading = ([name, { service, body }]: [
    string,
    { service: BenchService; body: string },
  ]): Contender => ({
    name,
    run: async () => {
      const before = await service.cpuSeconds();
      await service.upload('/api/v1/table/bench/upload/excel', body, multipart);
      const spent = (await service.cpuSeconds()) - before;
      cpuSeconds.set(name, [...(cpuSeconds.get(name) ?? []), spent]);
    },
  });
  const prepare = () => server.sql('DROP TABLE IF EXISTS bench');
  const readers = await findReaders(file('xlsx'), shape.rows);
  const contenders: Contender[] = [
    ...Object.entries(services).map(uploading),
    { name: 'psql csv', run: () => server.psql(create, `\\copy bench FROM '${file('csv')}' (FORMAT csv)`) },
    ...readers.map(({ name, run }): Contender => ({ name, run, isWarm: true })),
  ].map((contender) => ({ ...contender, prepare }));
  const measured = await runRounds(contenders, rounds);

  const mib = ((await stat(file('xlsx'))).size / 2 ** 20).toFixed(0);
  process.stdout.write(
    `\n${shape.rows} rows × ${shape.columns.length} columns, ${strings} different strings, ${mib} MiB, ${rounds} rounds\n`,
  );
  process.stdout.write(`${formatMeasured(measured, ['psql csv', 'exceljs'])}\n`);
  const lines: string[][] = [['', 'CPU s (median)', 'peak MiB']];
  for (const [name, { service }] of Object.entries(services)) {
    // The first run is the one before the counted rounds.
    const seconds = cpuSeconds
      .get(name)!
      .slice(1)
      .toSorted((a, b) => a - b);
    lines.push([name, seconds[seconds.length >> 1]!.toFixed(2), (await service.peakMib()).toFixed(0)]);
    await service.stop();
  }
  for (const { name, peakMib } of readers) lines.push([name, '', peakMib()]);
  process.stdout.write(`${formatTable(lines)}\n`);
  await prepare();
}

interface Reader {
  name: string;
  run: () => Promise<void>;
  peakMib: () => string;
}

/** Returns the installed readers. For each missing one it prints a note. */
async function findReaders(file: string, rows: number): Promise<Reader[]> {
  const script = join(import.meta.dirname, 'support', 'read-workbook.ts');
  const python = 'import resource; peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024';
  const commands: [name: string, command: string, args: string[]][] = [
    ['exceljs', process.execPath, [script, 'exceljs', file]],
    ['sheetjs', process.execPath, ['--max-old-space-size=8192', script, 'sheetjs', file]],
    [
      'openpyxl',
      'python3',
      [
        '-c',
        `import sys, openpyxl\nrows = sum(1 for _ in openpyxl.load_workbook(sys.argv[1], read_only=True).worksheets[0].iter_rows(values_only=True))\n${python}\nprint(rows, peak)`,
        file,
      ],
    ],
    [
      'pandas',
      'python3',
      [
        '-c',
        `import sys, pandas\nrows = len(pandas.read_excel(sys.argv[1])) + 1\n${python}\nprint(rows, peak)`,
        file,
      ],
    ],
  ];
  const readers: Reader[] = [];
  for (const [name, command, args] of commands) {
    if (!(await isInstalled(name))) {
      process.stdout.write(`${name} is not installed and left out.\n`);
      continue;
    }
    let peak = '';
    readers.push({
      name,
      run: async () => {
        const { stdout } = await promisify(execFile)(command, args, { maxBuffer: 1 << 20 });
        const [found, mib] = stdout.trim().split(' ');
        if (Number(found) !== rows + 1) throw new Error(`${name} read ${found} rows of ${rows + 1}`);
        peak = mib!;
      },
      peakMib: () => peak,
    });
  }
  return readers;
}

async function isInstalled(name: string): Promise<boolean> {
  if (name === 'sheetjs') return true;
  try {
    if (name === 'exceljs')
      createRequire(join(process.env.BENCH_MODULES ?? '', 'package.json')).resolve(name);
    else await promisify(execFile)('python3', ['-c', `import openpyxl, ${name}`]);
    return true;
  } catch {
    return false;
  }
}

/** Measures whole small requests in turn: a workbook and the same rows as JSON. */
async function benchRequests(server: BenchServer, shape: Shape): Promise<void> {
  const file = (ending: string) => join(server.folder, `${shape.name}.${ending}`);
  await writeWorkbook(shape, file('xlsx'));
  const service = await startBenchService(server);
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  const bodies: [name: string, path: string, type: string, body: Buffer][] = [];
  for (const [name, definition] of [
    ['definition', shape],
    ['inferred', undefined],
  ] as const) {
    await writeMultipart(file('xlsx'), file(name), definition);
    await writeJson(shape, file('json'), definition !== undefined);
    bodies.push(
      [`workbook, ${name}`, 'excel', multipart, await readFile(file(name))],
      [`json, ${name}`, 'json', 'application/json', await readFile(file('json'))],
    );
  }
  const times = new Map<string, number[]>(bodies.map(([name]) => [name, []]));
  for (let request = -20; request < requestsPerContender; request++) {
    for (const [name, path, type, body] of bodies) {
      const startedAt = performance.now();
      await service.send(`/api/v1/table/small/upload/${path}`, body, type, agent);
      if (request >= 0) times.get(name)!.push(performance.now() - startedAt);
      await server.sql('DROP TABLE small');
    }
  }
  agent.destroy();
  await service.stop();
  const p50 = (name: string) => times.get(name)!.toSorted((a, b) => a - b)[requestsPerContender >> 1]!;
  process.stdout.write(`\n${shape.rows} rows, ${requestsPerContender} requests each\n`);
  const lines = bodies.map(([name]) => {
    const json = p50(name.replace('workbook', 'json'));
    return [name, p50(name).toFixed(2), (p50(name) / json).toFixed(2)];
  });
  process.stdout.write(`${formatTable([['', 'p50 ms', '/ json'], ...lines])}\n`);
}
