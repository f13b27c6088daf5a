/** Finds or makes the function that checks if staged text is valid input of its type. */
import type { ClientBase } from 'pg';
import type { LoadColumn } from '../../../encoding/columns/load-column.ts';
import { atThisNodeOnly } from '../../postgres/citus/session-settings.ts';
import { pipeline } from '../../postgres/pipeline.ts';
import { apartInCallersPath } from '../../postgres/search-path.ts';
import { isStagedAsText } from '../copying/target-columns.ts';
import type { InputRule } from './row-rules.ts';
import {
  builtInInputCheck,
  createOwnInputCheck,
  findBuiltInInputCheck,
  ownInputCheck,
} from './staging-table.ts';

/** Returns PostgreSQL's own function if the server has it, or if none is needed. */
export async function findInputCheck(client: ClientBase, columns: LoadColumn[]): Promise<string | undefined> {
  if (!columns.some(isStagedAsText)) return builtInInputCheck;
  const { rows } = await client.query<{ exists: boolean }>(findBuiltInInputCheck);
  return rows[0]!.exists ? builtInInputCheck : undefined;
}

/** Makes a function if the server has none. It must be dropped (`dropOwnInputCheck`) if the transaction is not rolled back. */
export async function makeInputCheck(client: ClientBase, columns: LoadColumn[]): Promise<string> {
  const builtIn = await findInputCheck(client, columns);
  if (builtIn === undefined)
    await pipeline(client, apartInCallersPath(...atThisNodeOnly(createOwnInputCheck)));
  return builtIn ?? ownInputCheck;
}

export function inputRules(columns: LoadColumn[], inputCheck: string): InputRule[] {
  return columns.filter(isStagedAsText).map(({ name, type }) => {
    const { name: shown, sqlName = shown } = type;
    return { kind: 'input', name: '', columns: [name], type: shown, typeSql: sqlName, inputCheck };
  });
}
