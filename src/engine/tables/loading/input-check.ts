/** Finds or makes the function that checks if a text is valid input of a type. */
import type { ClientBase } from 'pg';
import { qualified } from '../../../postgres/callers-statement.ts';
import { atThisNodeOnly } from '../../../postgres/citus/session-settings.ts';
import { pipeline } from '../../../postgres/pipeline.ts';
import { apartInCallersPath } from '../../../postgres/search-path.ts';

/** The function of PostgreSQL itself, since version 16. */
export const builtInInputCheck = 'pg_catalog.pg_input_is_valid';
/** A function that checks the text by converting it, for PostgreSQL 15, which lacks the built-in function. It is many times slower. */
export const ownInputCheck = 'pg_temp."tablewright input is valid"';

/** Returns PostgreSQL's own function if the server has it. */
export async function findInputCheck(client: ClientBase): Promise<string | undefined> {
  const { rows } = await client.query<{ exists: boolean }>(
    `SELECT to_regproc('${builtInInputCheck}') IS NOT NULL AS exists`,
  );
  return rows[0]!.exists ? builtInInputCheck : undefined;
}

/** Makes a function if the server has none. It must be dropped (`dropOwnInputCheck`) if the transaction is not rolled back. */
export async function makeInputCheck(client: ClientBase): Promise<string> {
  const builtIn = await findInputCheck(client);
  if (builtIn === undefined)
    await pipeline(client, apartInCallersPath(...atThisNodeOnly(createOwnInputCheck)));
  return builtIn ?? ownInputCheck;
}

const createOwnInputCheck = qualified`CREATE OR REPLACE FUNCTION ${ownInputCheck}(value pg_catalog.text, type pg_catalog.text) RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
  IF type OPERATOR(pg_catalog.=) ANY (ARRAY['pg_catalog.json', 'pg_catalog.jsonb']) THEN
    -- A record would get the text as a JSON string.
    EXECUTE 'SELECT $1::' OPERATOR(pg_catalog.||) type USING value;
  ELSE
    -- A cast would cut off surplus bits instead of failing.
    EXECUTE 'SELECT v FROM pg_catalog.json_to_record(pg_catalog.json_build_object(''v'', $1)) AS r(v ' OPERATOR(pg_catalog.||) type OPERATOR(pg_catalog.||) ')' USING value;
  END IF;
  RETURN true;
EXCEPTION WHEN OTHERS THEN
  RETURN false;
END $$`;

export const dropOwnInputCheck = `DROP FUNCTION IF EXISTS ${ownInputCheck}(text, text)`;
