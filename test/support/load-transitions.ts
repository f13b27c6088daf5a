/** Records each change of the state of a load, also one that nobody could see, and checks that docs/loads.md allows it. */
import assert from 'node:assert/strict';
import { canReach, type LoadState } from '../../src/service/loads/load-state.ts';

type Rows = (sql: string) => Promise<Record<string, unknown>[]>;

const schema = 'tablewright_service';

/** Begins to record the changes in a database whose service has started once. */
export async function recordTransitions(rows: Rows): Promise<void> {
  await rows(`CREATE TABLE ${schema}.transitions (load uuid, before text, after text, ended_before boolean);
    CREATE FUNCTION ${schema}.record_transition() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
      INSERT INTO ${schema}.transitions VALUES (NEW.id, OLD.state, NEW.state, OLD.ended_at IS NOT NULL);
      RETURN NULL; END $$;
    CREATE TRIGGER record_transition AFTER UPDATE ON ${schema}.loads FOR EACH ROW
      WHEN (OLD.state <> NEW.state OR OLD.ended_at IS NOT NULL AND OLD.ended_at <> NEW.ended_at)
      EXECUTE FUNCTION ${schema}.record_transition()`);
}

/** Returns the recorded changes after checking them. A record may skip states that a load had for a short time only. */
export async function assertTransitions(rows: Rows): Promise<string[]> {
  const found = await rows(
    `SELECT before, after, bool_or(ended_before) AS ended FROM ${schema}.transitions GROUP BY before, after ORDER BY before, after`,
  );
  for (const { before, after, ended } of found) {
    assert.equal(ended, false, `a load that had ended became ${after}`);
    assert.ok(canReach(before as LoadState, after as LoadState), `${before} became ${after}`);
  }
  return found.map(({ before, after }) => `${before} → ${after}`);
}
