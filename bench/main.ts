/**
 * Runs the benchmarks: `npm run bench -- citus`, `npm run bench -- command-line`, `npm run bench -- create`, `npm run bench -- csv`,
 * `npm run bench -- excel [small large]`, `npm run bench -- export`, `npm run bench -- json [shape …]`, `npm run bench -- quality [set …]`,
 * `npm run bench -- readers [replaces] [changes]`, `npm run bench -- small`, `npm run bench -- update [main.ts]`, `npm run bench -- workers`. All but `quality` run their programs in turn on one
 * server, for several rounds.
 */
import { benchCitus } from './citus.ts';
import { benchCommandLine } from './command-line.ts';
import { benchCreate } from './create.ts';
import { benchCsv } from './csv.ts';
import { benchExcel } from './excel.ts';
import { benchExport } from './export.ts';
import { benchJson } from './json.ts';
import { benchQuality } from './quality.ts';
import { benchReaders } from './readers.ts';
import { benchSmall } from './small.ts';
import { benchUpdate } from './update.ts';
import { benchWorkers } from './workers.ts';

const benches: Record<string, (words: string[]) => Promise<void>> = {
  citus: benchCitus,
  'command-line': benchCommandLine,
  create: benchCreate,
  csv: benchCsv,
  excel: benchExcel,
  export: benchExport,
  json: benchJson,
  quality: benchQuality,
  readers: benchReaders,
  small: benchSmall,
  update: benchUpdate,
  workers: benchWorkers,
};

const [name = '', ...words] = process.argv.slice(2);
const bench = benches[name];
if (bench === undefined) {
  process.stderr.write(`usage: npm run bench -- ${Object.keys(benches).join('|')}\n`);
  process.exitCode = 2;
} else {
  await bench(words);
}
