/** Writes requests and queries as commands for a terminal. */
import { toJson } from '../../client/exact-json.ts';
import type { DownloadFormat, TableName } from '../state.ts';
import type { UploadPlan } from './request.ts';
import { fileOfTable } from './table.ts';

/** Returns the request of the page as a `curl` command. */
export function curlText(plan: UploadPlan, fileName: string, origin: string, link?: string): string {
  const operation = plan.kind === 'spreadsheet' ? 'excel' : 'json';
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(plan.query)) query.set(name, String(value));
  const text = query.size > 0 ? `?${query.toString().replaceAll('+', '%20')}` : '';
  const url = `${origin}/api/v1/table/${encodeURIComponent(plan.table)}/upload/${operation}${text}`;
  const definition = plan.definition && JSON.stringify(plan.definition);
  const patch = plan.patch && toJson(plan.patch);
  const lines = ['curl -H "Authorization: Bearer $TOKEN"'];
  let before = '';
  if (plan.kind === 'spreadsheet') {
    // Without quotes, curl would end the file name at a semicolon.
    const name = fileName.replace(/["\\]/g, '\\$&');
    if (patch) lines.push(`--form-string ${shellWord(`patch=${patch}`)}`);
    const source = JSON.stringify({ from_url: link });
    lines.push(
      `-F ${shellWord(link === undefined ? `file=@"${name}"` : `source=${source};type=application/json`)}`,
    );
    if (definition) lines.push(`-F ${shellWord(`body={"table":${definition}};type=application/json`)}`);
  } else {
    const members = [['table', definition] as const, ['patch', patch] as const].filter(([, text]) => text);
    const type = plan.kind === 'json' || members.length > 0 ? 'application/json' : 'application/x-ndjson';
    lines.push(`-H "Content-Type: ${type}"`);
    const file = shellWord(fileName);
    if (members.length === 0) lines.push(`--data-binary ${shellWord(`@${fileName}`)}`);
    else {
      const all = plan.kind === 'ndjson' ? `jq -s` : 'jq';
      const values = members.map(([name, text]) => `--argjson ${name} ${shellWord(text!)}`).join(' ');
      const head = members.map(([name]) => `${name}: $${name}`).join(', ');
      const data = plan.query.rows_at ? `. + {${head}}` : `{${head}, data: (.data? // .)}`;
      before = `${all} -c ${values} ${shellWord(data)} ${file} |\n  `;
      lines.push('--data-binary @-');
    }
  }
  lines.push(shellWord(url));
  return `${before}${lines.join(' \\\n  ')}`;
}

/** Returns the `curl` command that saves all rows of a table in a file. */
export function downloadText(table: TableName, format: DownloadFormat, origin: string): string {
  const query = new URLSearchParams({ schema: table.schema, format });
  const url = `${origin}/api/v1/table/${encodeURIComponent(table.name)}/rows?${query.toString().replaceAll('+', '%20')}`;
  const file = shellWord(fileOfTable(table, format));
  return `curl --fail -H "Authorization: Bearer $TOKEN" -o ${file} \\\n  ${shellWord(url)}`;
}

/** Quotes a word for a POSIX shell. */
function shellWord(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}

/** Returns the `psql` command that shows the first rows of the table. */
export function psqlText(schema: string, table: string): string {
  return `psql "$DATABASE_URL" -c ${shellWord(`SELECT * FROM ${quoted(schema)}.${quoted(table)} LIMIT 20`)}`;
}

function quoted(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}
