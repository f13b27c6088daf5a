/**
 * `node scripts/run.mjs scripts/record-terminal.ts`: runs commands of `tablewright` on a terminal, with a service of its own, and
 * writes what the terminal showed into docs/command-line.md. It needs `script` of util-linux.
 *
 * A bar draws over itself. The recording shows some of its states, each on a line.
 */
import { execFile } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import process from 'node:process';
import { promisify } from 'node:util';
import { readConfig } from '../src/core/settings/config.ts';
import { startService } from '../src/service/service.ts';
import {
  allScopes,
  resolveTokenSettings,
  signDevToken,
  signingSettings,
} from '../src/service/start/dev-token.ts';

const project = join(import.meta.dirname, '..');
const page = join(project, 'docs', 'command-line.md');
/** The block of code in this section of the page is replaced. */
const block = /(?<=^## A recording\n.*?^```text\n).*?(?=^```$)/ms;
const columns = 110;
const shownStates = 4;

const commands = [
  'tablewright load readings.ndjson',
  'cat people.csv',
  'tablewright load people.csv --definition people.json',
  "sed -i 's/2023-02-30/2023-02-28/; s/twelve/12/' people.csv",
  'tablewright load people.csv --definition people.json',
];

const folder = await mkdtemp(join(tmpdir(), 'tablewright-recording-'));
try {
  await writeFiles();
  writePage(await record());
} finally {
  await rm(folder, { recursive: true, force: true });
}

async function writeFiles(): Promise<void> {
  const lines = Array.from({ length: 400_000 }, (_, index) => {
    const at = new Date(1_700_000_000_000 + index * 1000).toISOString();
    return `{"sensor":"s-${index % 40}","at":"${at}","value":${(index % 997) / 10},"note":"reading ${index}"}\n`;
  });
  await writeFile(join(folder, 'readings.ndjson'), lines.join(''));
  await writeFile(
    join(folder, 'people.csv'),
    'no,name,joined,points\n1,Ada,2023-01-15,7\n2,Ben,2023-02-30,9\n3,Cleo,2023-03-01,twelve\n',
  );
  const definition = {
    columns: [
      { name: 'no', type: 'integer' },
      { name: 'name', type: 'text' },
      { name: 'joined', type: 'date' },
      { name: 'points', type: 'integer' },
    ],
    constraints: { primary_key: { columns: ['no'] } },
  };
  await writeFile(join(folder, 'people.json'), JSON.stringify(definition));
}

/** Runs the commands one after the other. */
async function record(): Promise<string> {
  const config = readConfig({ PORT: '0', LOG_LEVEL: 'silent', DATA_DIR: join(folder, 'data') });
  const signing = signingSettings(await resolveTokenSettings(config))!;
  const service = await startService(config);
  const program = `${process.execPath} ${join(project, 'cli', 'main.ts')}`;
  const environment = {
    PATH: process.env.PATH,
    HOME: folder,
    LANG: 'C.UTF-8',
    TERM: 'xterm',
    TABLEWRIGHT_URL: service.url,
    TABLEWRIGHT_TOKEN: await signDevToken(signing, { scope: allScopes, ttlSeconds: 600 }),
  };
  try {
    let shown = '';
    for (const command of commands) {
      const line = `stty cols ${columns}; ${command.replace(/^tablewright/, program)}`;
      // The exit code is that of the command, and one of the loads is refused.
      const { stdout } = await promisify(execFile)('script', ['-qec', line, '/dev/null'], {
        cwd: folder,
        env: environment,
      }).catch((error: { stdout?: string }) => {
        if (error.stdout === undefined) throw error;
        return { stdout: error.stdout };
      });
      shown += `$ ${command}\n${textOf(stdout)}`;
    }
    return shown;
  } finally {
    await service.stop();
  }
}

/** Returns what the terminal showed, with some states of the bar. */
function textOf(output: string): string {
  const parts = output.split('\r\u001b[K');
  const end = parts.pop()!;
  const states = parts.filter((part) => part.trim() !== '');
  const percent = (state: string | undefined) => /\d+%/.exec(state ?? '')?.[0];
  const bars = states.filter((state, index) => percent(state) !== percent(states[index + 1]));
  const step = Math.max(1, Math.ceil(bars.length / shownStates));
  const some = bars.filter((_, index) => index % step === 0 || index === bars.length - 1);
  return [...some.map((bar) => `${bar.trimEnd()}\n`), end.replaceAll('\r\n', '\n')].join('');
}

function writePage(shown: string): void {
  const text = readFileSync(page, 'utf8');
  if (!block.test(text)) throw new Error(`${page} has no section for the recording.`);
  writeFileSync(
    page,
    text.replace(block, () => shown),
  );
}
