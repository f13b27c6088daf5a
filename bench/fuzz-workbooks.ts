/**
 * `node bench/fuzz-workbooks.ts [count] [seed]`: tries changed workbooks without end, to find errors that the short test does
 * not find.
 *
 * A changed workbook that is neither loaded nor refused, or takes long, is kept as a file, and its name and error are printed.
 */
import { mkdtemp, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { randomNumbers } from '../test/support/random-numbers.ts';
import { mutant, outcomeOf, readSeeds } from '../test/support/workbook-mutants.ts';

/** The most processor time. It is not elapsed time, because other programs may use the machine. */
const maxMs = 2000;

const [count = 30_000, seed = 1] = process.argv.slice(2).map(Number);
const seeds = await readSeeds();
const random = randomNumbers(seed);
const outcomes = new Map<string, number>();
let slowestMs = 0;
let faults = 0;
let folder: string | undefined;
const startedAt = performance.now();
for (let run = 0; run < count; run++) {
  const bytes = mutant(seeds[random(seeds.length)]!, random);
  const before = process.cpuUsage();
  const outcome = await outcomeOf(bytes).catch(String);
  const { user, system } = process.cpuUsage(before);
  const ms = (user + system) / 1000;
  slowestMs = Math.max(slowestMs, ms);
  const isFault = outcome.includes(' ') || ms > maxMs;
  const name = isFault ? 'fault' : outcome;
  outcomes.set(name, (outcomes.get(name) ?? 0) + 1);
  if (!isFault || ++faults > 20) continue;
  folder ??= await mkdtemp(join(tmpdir(), 'tablewright-fuzz-'));
  const file = join(folder, `${seed}-${run}.xlsx`);
  await writeFile(file, bytes);
  process.stdout.write(`${file}: ${ms.toFixed(0)} ms, ${outcome}\n`);
}
const seconds = (performance.now() - startedAt) / 1000;
process.stdout.write(
  `${count} mutants in ${seconds.toFixed(0)} s, the slowest ${slowestMs.toFixed(0)} ms: ${JSON.stringify(Object.fromEntries(outcomes))}\n`,
);
process.exitCode = faults > 0 ? 1 : 0;
