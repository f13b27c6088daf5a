/** What is needed to find the cause of a violation: the record of its load, and what the service has logged. */
import { logLines } from '../test/support/log-lines.ts';
import type { ReadTexts } from './ledger.ts';

const errorLevel = 50;
const mostLines = 5;

/**
 * @param loads the ids of loads that the violation names
 * @param output everything that the processes of the service have printed
 */
export async function evidenceOf(loads: string[], output: string, read: ReadTexts): Promise<string[]> {
  const records = await read(
    `SELECT (to_jsonb(l) - ARRAY['answer_body', 'owner', 'answer_headers']
        || jsonb_build_object('answer', left(convert_from(answer_body, 'UTF8'), 300)))::text
      FROM tablewright_service.loads l WHERE id::text = ANY ($1)`,
    [loads],
  );
  const lines = logLines(output).sort((a, b) => Number(a.time) - Number(b.time));
  const about = lines.filter((line) => loads.some((id) => JSON.stringify(line).includes(id)));
  const errors = lines.filter(({ level }) => Number(level) >= errorLevel);
  return [
    ...records.map(([record]) => `record: ${record}`),
    ...about.slice(-mostLines).map((line) => `log of the load: ${JSON.stringify(line)}`),
    ...errors.slice(-mostLines).map((line) => `error in the log: ${JSON.stringify(line)}`),
  ];
}

const uuid = /[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/g;

/** Returns the ids in a violation. */
export function idsIn(violation: string): string[] {
  return violation.match(uuid) ?? [];
}
