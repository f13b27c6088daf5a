/**
 * Runs the programs in turn, A B C A B C …, because a machine's speed changes over time. Returns medians and ratios of medians.
 */
export interface Contender {
  name: string;
  /** The timed work. */
  run: () => Promise<void>;
  /** The work before each run, which is not timed. */
  prepare?: () => Promise<void>;
  /** true: it begins again each time, so a round that is not counted would have no use. */
  isWarm?: boolean;
}

export interface Measured {
  name: string;
  medianMs: number;
  minMs: number;
  maxMs: number;
}

/** Runs the rounds. The first one is not counted. */
export async function runRounds(contenders: Contender[], rounds: number): Promise<Measured[]> {
  const times = new Map(contenders.map((contender) => [contender.name, [] as number[]]));
  for (let round = 0; round <= rounds; round += 1) {
    for (const { name, run, prepare, isWarm } of contenders) {
      if (round === 0 && isWarm) continue;
      await prepare?.();
      const startedAt = performance.now();
      await run();
      if (round > 0) times.get(name)!.push(performance.now() - startedAt);
    }
  }
  return contenders.map(({ name }) => summary(name, times.get(name)!));
}

export function summary(name: string, timesMs: number[]): Measured {
  const sorted = timesMs.toSorted((a, b) => a - b);
  return { name, medianMs: median(sorted), minMs: sorted[0]!, maxMs: sorted.at(-1)! };
}

/** Returns a table with each program's median and its ratio to the medians of `references`. */
export function formatMeasured(measured: Measured[], references: string[]): string {
  const medianOf = (name: string) => measured.find((entry) => entry.name === name)?.medianMs;
  const header = ['', 'median s', 'min', 'max', ...references.map((name) => `/ ${name}`)];
  const lines = measured.map(({ name, medianMs, minMs, maxMs }) => [
    name,
    ...[medianMs, minMs, maxMs].map((ms) => (ms / 1000).toFixed(2)),
    ...references.map((reference) => {
      const base = medianOf(reference);
      return base === undefined ? '' : (medianMs / base).toFixed(2);
    }),
  ]);
  return formatTable([header, ...lines]);
}

export function formatTable(lines: string[][]): string {
  const widths = lines[0]!.map((_, column) => Math.max(...lines.map((line) => line[column]!.length)));
  return lines
    .map((line) =>
      line
        .map((cell, column) => (column === 0 ? cell.padEnd(widths[0]!) : cell.padStart(widths[column]!)))
        .join('  '),
    )
    .join('\n');
}

function median(sorted: number[]): number {
  const middle = sorted.length >> 1;
  return sorted.length % 2 === 1 ? sorted[middle]! : (sorted[middle - 1]! + sorted[middle]!) / 2;
}
