/**
 * `npm run soak -- [--way name] [--seed n] [--operations n] [--faults n] [--clients n] [--report]`: runs the fault loop and prints its seed. A run with the
 * same seed chooses the same operations and faults, but they do not happen at the same moments. `--report` writes the figures into docs/reliability.md.
 */
import { parseArgs } from 'node:util';
import { isWayKind, wayKinds } from './machinery.ts';
import { figuresText, writeReport } from './report.ts';
import { runSoak } from './run-soak.ts';

const { values } = parseArgs({
  options: {
    seed: { type: 'string', default: String(Math.floor(Math.random() * 1_000_000)) },
    operations: { type: 'string', default: '3000' },
    faults: { type: 'string', default: '150' },
    clients: { type: 'string', default: '6' },
    way: { type: 'string', default: 'direct' },
    report: { type: 'boolean', default: false },
  },
});

if (!isWayKind(values.way)) throw new Error(`--way must be one of ${wayKinds.join(', ')}`);

const stopping = new AbortController();
process.once('SIGINT', () => stopping.abort());
process.once('SIGTERM', () => stopping.abort());

const print = (text: string): void => {
  process.stdout.write(`${text}\n`);
};
print(`Seed ${values.seed}`);
const figures = await runSoak({
  seed: Number(values.seed),
  operations: Number(values.operations),
  faults: Number(values.faults),
  clients: Number(values.clients),
  way: values.way,
  log: print,
  signal: stopping.signal,
});
print(figuresText(figures));
for (const violation of figures.violations) print(`- ${violation}`);
if (figures.violations.length > 0) process.exitCode = 1;
if (values.report) await writeReport(figures);
