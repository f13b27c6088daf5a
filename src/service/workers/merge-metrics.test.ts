import assert from 'node:assert/strict';
import { test } from 'node:test';
import { mergeMetrics } from './merge-metrics.ts';

const ofWorker = (worker: number) => `# HELP rows_total Rows: added\\nand updated.
# TYPE rows_total counter
rows_total{format="json",worker="${worker}"} ${worker}0
rows_total{format="csv",worker="${worker}"} 1

# HELP waiting Requests that wait.
# TYPE waiting gauge
waiting{worker="${worker}"} 0
`;

test('each metric is described once, directly before the series of all processes', () => {
  assert.equal(
    mergeMetrics([ofWorker(1), ofWorker(2), '']),
    `# HELP rows_total Rows: added\\nand updated.
# TYPE rows_total counter
rows_total{format="json",worker="1"} 10
rows_total{format="csv",worker="1"} 1
rows_total{format="json",worker="2"} 20
rows_total{format="csv",worker="2"} 1

# HELP waiting Requests that wait.
# TYPE waiting gauge
waiting{worker="1"} 0
waiting{worker="2"} 0
`,
  );
});
