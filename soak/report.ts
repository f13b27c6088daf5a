/** The figures of a run, for people and for docs/reliability.md. */
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { SoakFigures } from './run-soak.ts';

export const reportFile = join(import.meta.dirname, '..', 'docs', 'reliability.md');
/** The last sentence before the figures. */
const introduction = '`npm run soak -- --report` writes this section.\n';

/** The figures as Markdown. */
export function figuresText(figures: SoakFigures): string {
  const { operations, acknowledged, refused, failed, unanswered, violations } = figures;
  const { manners, peakMemoryBytes, peakBackendBytes } = figures;
  const count = Object.values(figures.faults).reduce((sum, { times }) => sum + times, 0);
  const lines = [
    `${operations.toLocaleString('en')} operations under ${count} faults in ${Math.round(figures.durationMs / 1000)} seconds (seed ${figures.seed}): **${violations.length} violations**.`,
    '',
    '| operations | |',
    '|---|---|',
    `| acknowledged; what they changed was found in whole | ${acknowledged} |`,
    `| refused, as they must be; they changed nothing | ${refused} |`,
    `| answered with 503, 429 or 408 because of a fault; they changed nothing, unless the answer says that this is not known | ${failed} |`,
    `| not answered because of a fault; what they change was found in whole or not at all | ${unanswered} |`,
    '',
    '| fault | times | operations that failed or were not answered |',
    '|---|---|---|',
    ...Object.entries(figures.faults).map(([title, { times, hits }]) => `| ${title} | ${times} | ${hits} |`),
    '',
    `${figures.checks} checks compared ${figures.comparedTables.toLocaleString('en')} tables with the ledger, row by row, and searched for anything that was left behind.`,
  ];
  if (Object.keys(manners).length > 0) {
    const { asynchronous = 0, repeated = 0, parallel = 0, cancelled = 0, again = 0 } = manners;
    lines.push(
      `Of the operations ${asynchronous} were asynchronous, ${repeated} were sent again and ${parallel} three times in parallel with one idempotency key, and ${cancelled} were cancelled. Their requests had to be sent ${again} times more because of a fault, and the work was done once.`,
    );
  }
  lines.push(
    `${figures.events} events arrived at the receiver of a webhook, in ${figures.deliveries} requests, some of which it refused on purpose. The readers of the feed connected ${figures.feedConnections.join(' and ')} times. All events that happened arrived, and no others, once in the feed.`,
  );
  if (peakMemoryBytes !== undefined) {
    lines.push(
      `A process of the service took at most ${inMebibytes(peakMemoryBytes)} of private memory, and a process of PostgreSQL ${inMebibytes(peakBackendBytes)}.`,
    );
  }
  for (const title of figures.leftOutFaults)
    lines.push(`Left out, because this machine does not support it: ${title}.`);
  return lines.join('\n');
}

function inMebibytes(bytes: number): string {
  return `${Math.round(bytes / 2 ** 20)} MiB`;
}

export async function writeReport(figures: SoakFigures): Promise<void> {
  const text = await readFile(reportFile, 'utf8');
  const end = text.indexOf(introduction);
  if (end < 0) throw new Error(`${reportFile} has no place for the figures`);
  await writeFile(reportFile, `${text.slice(0, end)}${introduction}\n${figuresText(figures)}\n`);
}
