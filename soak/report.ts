/** The figures of a run, for people and for docs/reliability.md. */
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { SoakFigures } from './run-soak.ts';

export const reportFile = join(import.meta.dirname, '..', 'docs', 'reliability.md');
/** The last sentence before the figures. */
const introduction = '`npm run soak -- --report` writes this section.\n';

/** The figures as Markdown. */
export function figuresText(figures: SoakFigures): string {
  const { operations, acknowledged, refused, failed, unanswered, violations, peakMemoryBytes } = figures;
  const count = Object.values(figures.faults).reduce((sum, { times }) => sum + times, 0);
  const kinds = Object.entries(figures.kinds).toSorted(([, a], [, b]) => b - a);
  const lines = [
    `${operations.toLocaleString('en')} operations under ${count} faults in ${Math.round(figures.durationMs / 1000)} seconds (seed ${figures.seed}): **${violations.length} violations**.`,
    '',
    '| operations | |',
    '|---|---|',
    `| acknowledged; what they changed was found in whole | ${acknowledged} |`,
    `| refused, as they must be; they changed nothing | ${refused} |`,
    `| answered with 503 or 408 because of a fault; they changed nothing, unless the answer says that this is not known | ${failed} |`,
    `| not answered because of a fault; what they change was found in whole or not at all | ${unanswered} |`,
    '',
    '| fault | times | operations that failed or were not answered |',
    '|---|---|---|',
    ...Object.entries(figures.faults).map(([title, { times, hits }]) => `| ${title} | ${times} | ${hits} |`),
    '',
    `Kinds of operations, and how often each was sent: ${kinds.map(([kind, times]) => `${kind} ${times}`).join(', ')}.`,
    '',
    `${figures.checks} checks compared ${figures.comparedTables.toLocaleString('en')} tables with the ledger, row by row, and searched for anything that was left behind.`,
  ];
  lines.push(
    `${figures.events} events arrived at the receiver of a webhook: all that happened, and no others.`,
  );
  if (peakMemoryBytes !== undefined) {
    lines.push(`The service took at most ${Math.round(peakMemoryBytes / 2 ** 20)} MiB of memory.`);
  }
  for (const title of figures.leftOutFaults)
    lines.push(`Left out, because nothing can be mounted: ${title}.`);
  return lines.join('\n');
}

export async function writeReport(figures: SoakFigures): Promise<void> {
  const text = await readFile(reportFile, 'utf8');
  const end = text.indexOf(introduction);
  if (end < 0) throw new Error(`${reportFile} has no place for the figures`);
  await writeFile(reportFile, `${text.slice(0, end)}${introduction}\n${figuresText(figures)}\n`);
}
