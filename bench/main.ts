/**
 * Runs the benchmarks: `npm run bench -- create`, `npm run bench -- readers`, `npm run bench -- command-line`, `npm run bench --
 * json [shape …]`, `npm run bench -- excel [small large]`, `npm run bench -- workers`. Each compares the service with psql and others on one server, in turn, for several rounds.
 */
import { benchCommandLine } from './command-line.ts';
import { benchCreate } from './create.ts';
import { benchExcel } from './excel.ts';
import { benchJson } from './json.ts';
import { benchReaders } from './readers.ts';
import { benchWorkers } from './workers.ts';

const benches: Record<string, (words: string[]) => Promise<void>> = {
  'command-line': benchCommandLine,
  create: benchCreate,
  excel: benchExcel,
  json: benchJson,
  readers: benchReaders,
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
