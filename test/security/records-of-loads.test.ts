/**
 * The records and events of loads are written with the rights of the service. Code that an append to a known table runs cannot replace the
 * prepared statements that write them, also if the catalogue does not show that the table runs code.
 */
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { after, before, test } from 'node:test';
import { startTestService, type TestService } from '../support/service.ts';

let service: TestService;
const role = `hostile_${randomBytes(6).toString('hex')}`;
let token: string;

before(async () => {
  // There are so few sessions that each of them is used again.
  service = await startTestService({ DATABASE_POOL_SIZE: '2', MAX_UPLOADS: '1', MAX_SMALL_UPLOADS: '1' });
  const [{ name } = {}] = await service.rows('SELECT current_user AS name');
  await service.rows(
    `CREATE ROLE ${role}; GRANT ${role} TO "${name}"; GRANT USAGE, CREATE ON SCHEMA public TO ${role}`,
  );
  token = await service.token({ role });
  await asOwner(`CREATE TABLE seen (who text, what text); GRANT ALL ON seen TO public;
    CREATE FUNCTION steal(bytea) RETURNS int LANGUAGE plpgsql AS $$ BEGIN
      INSERT INTO public.seen VALUES (current_user, 'stolen'); RETURN 1; END $$;
    CREATE FUNCTION strike() RETURNS int LANGUAGE plpgsql AS $$ BEGIN
      BEGIN
        EXECUTE 'DEALLOCATE "tablewright insert events"';
        EXECUTE 'PREPARE "tablewright insert events" (bytea) AS SELECT public.steal($1)';
        INSERT INTO public.seen VALUES (current_user, 'replaced');
      EXCEPTION WHEN OTHERS THEN NULL;
      END;
      RETURN 1; END $$;
    CREATE FUNCTION strikes(int) RETURNS int IMMUTABLE LANGUAGE plpgsql AS $$ BEGIN RETURN public.strike(); END $$;
    CREATE TABLE harmless (id int)`);
});
after(async () => {
  await service?.rows(`DROP OWNED BY ${role} CASCADE; DROP ROLE ${role}`);
  await service?.stop();
});

/** The code of the caller has run, and not with the rights of the service. A pooler gets no prepared statement that could be replaced. */
const onlyOfCaller = process.env.TEST_POOLER === undefined ? ['caller replaced'] : [];

async function asOwner(sql: string): Promise<void> {
  await service.rows(`SET ROLE ${role}; ${sql}; RESET ROLE`);
}

/** Appends rows to a known table, after appends that have prepared the statements of the service. @returns who ran what */
async function strike(table: string, row: object, each = ''): Promise<string[]> {
  await service.rows('DELETE FROM seen');
  for (let id = 0; id < 5; id++) {
    await asOwner(each.replace('{id}', String(id)));
    for (const [name, data] of [
      ['harmless', { id }],
      [table, { id, ...row }],
    ] as const) {
      const path = `/table/${name}/upload/json?if_exists=append`;
      const { status, body } = await service.post(path, { data: [data] }, { token });
      assert.equal(status, 200, JSON.stringify(body));
    }
  }
  const rows = await service.rows(
    "SELECT DISTINCT CASE WHEN who = $1 THEN 'caller' ELSE 'service' END || ' ' || what AS seen FROM seen",
    [role],
  );
  return rows.map(({ seen }) => String(seen));
}

test('a cast of a type of a user that PostgreSQL runs inside to_jsonb', async () => {
  await asOwner(`CREATE TYPE mood AS ENUM ('glad');
    CREATE FUNCTION mood_json(mood) RETURNS json LANGUAGE plpgsql AS $$ BEGIN PERFORM public.strike(); RETURN '1'; END $$;
    CREATE CAST (mood AS json) WITH FUNCTION mood_json(mood);
    CREATE CAST (mood AS jsonb) WITH FUNCTION pg_catalog.to_jsonb(anyelement);
    CREATE TABLE moods (id int, CHECK (('glad'::mood)::jsonb IS NOT NULL))`);
  assert.deepEqual(await strike('moods', {}), onlyOfCaller);
});

test('an expression of an index of the table that a foreign key refers to', async () => {
  await asOwner(`CREATE TABLE parents (id int PRIMARY KEY); INSERT INTO parents VALUES (7);
    CREATE INDEX parents_strikes ON parents (strikes(1));
    CREATE TABLE children (id int, parent int REFERENCES parents)`);
  const each = 'ALTER INDEX parents_strikes SET (fillfactor = 8{id})';
  assert.deepEqual(await strike('children', { parent: 7 }, each), onlyOfCaller);
});
