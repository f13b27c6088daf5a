/**
 * Scores what the service reads of published sets of files, over HTTP: `npm run bench -- quality [pollock saus sortinghat]`. The environment variable
 * `QUALITY_DATA` names the folder that has a folder for each set (docs/quality.md).
 */
import { join } from 'node:path';
import { scorePollock } from './quality/pollock.ts';
import type { QualityRun } from './quality/quality-run.ts';
import { scoreSaus } from './quality/saus.ts';
import { scoreSortingHat } from './quality/sortinghat.ts';
import { startBenchServer, startBenchService } from './support/bench-server.ts';
import { formatTable } from './support/rounds.ts';

/** Each function returns the lines of its table; the first line is the header. */
const benchmarks: Record<string, (run: QualityRun) => Promise<string[][]>> = {
  pollock: scorePollock,
  saus: scoreSaus,
  sortinghat: scoreSortingHat,
};

export async function benchQuality(words: string[]): Promise<void> {
  const data = process.env.QUALITY_DATA;
  if (data === undefined) throw new Error('QUALITY_DATA must name the folder with the sets of files');
  const server = await startBenchServer();
  const service = await startBenchService(server, { settings: { MAX_REQUESTS_PER_MINUTE: '0' } });
  try {
    for (const name of words.length === 0 ? Object.keys(benchmarks) : words) {
      const score = benchmarks[name];
      if (score === undefined) throw new Error(`there is no ${name}, only ${Object.keys(benchmarks)}`);
      const { url, token } = service;
      const lines = await score({ data: join(data, name), url, token, databaseUrl: server.databaseUrl });
      process.stdout.write(`\n${name}\n${formatTable(lines)}\n`);
    }
  } finally {
    await service.stop();
    await server.stop();
  }
}
