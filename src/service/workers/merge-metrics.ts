/** Merges the metrics of several processes into one text. The series of each process have a label with its number, so they are not added up. */

/**
 * @param texts metrics in the text format of Prometheus. Each metric begins with its line `# HELP`
 * @returns each metric once, with the series of all texts, as the format demands
 */
export function mergeMetrics(texts: string[]): string {
  const metrics = new Map<string, { head: string; series: string[] }>();
  for (const text of texts) {
    for (const block of text.split(/^(?=# HELP )/m)) {
      const [, head, name, series] = /^(# HELP (\S+) .*\n# TYPE .*\n)([\s\S]*)$/.exec(block) ?? [];
      if (head === undefined) continue;
      const metric = metrics.get(name!) ?? { head, series: [] };
      metric.series.push(series!.trimEnd());
      metrics.set(name!, metric);
    }
  }
  return [...metrics.values()].map(({ head, series }) => `${head}${series.join('\n')}\n`).join('\n');
}
