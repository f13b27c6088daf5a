/** The statements for the table of processes, in which each process of the service renews its lease. */
import type { ServiceSchema } from '../../postgres/service-schema.ts';
import type { Statement } from '../../postgres/sql.ts';

/**
 * Returns the condition that a process has renewed its lease within an interval before now.
 *
 * @param process the name of the row of the process
 * @param interval an argument of `make_interval`, such as `secs => $1`
 */
export function hasRenewed(process: string, interval: string): string {
  return `${process}.seen_at > clock_timestamp() - make_interval(${interval})`;
}

/** Renews the lease of a process. */
export function renewLease({ quoted }: ServiceSchema, process: string): Statement {
  return {
    text: `INSERT INTO ${quoted}.processes AS known (id) VALUES ($1)
      ON CONFLICT (id) DO UPDATE SET seen_at = clock_timestamp()`,
    values: [process],
  };
}

/** Ends the leases of processes that have ended. */
export function endLeases({ quoted }: ServiceSchema, processes: string[]): Statement {
  return {
    text: `UPDATE ${quoted}.processes SET seen_at = '-infinity' WHERE id = ANY ($1::uuid[])`,
    values: [processes],
  };
}

/** Records that a process runs the loads whose bodies are in a folder. */
export function serveSpool({ quoted }: ServiceSchema, process: string, spool: string): Statement {
  return {
    text: `INSERT INTO ${quoted}.processes AS known (id, spool) VALUES ($1, $2)
      ON CONFLICT (id) DO UPDATE SET spool = excluded.spool, seen_at = clock_timestamp()`,
    values: [process, spool],
  };
}

/** Removes processes whose leases expired long ago and that have no running loads, at most `atMost` of them. */
export function removeOldProcesses(
  { quoted }: ServiceSchema,
  leaseSeconds: number,
  atMost: number,
): Statement {
  return {
    text: `DELETE FROM ${quoted}.processes WHERE id = ANY (ARRAY(
      SELECT p.id FROM ${quoted}.processes p
      WHERE NOT ${hasRenewed('p', 'secs => $1')}
        AND NOT EXISTS (SELECT FROM ${quoted}.loads l WHERE l.process = p.id AND l.ended_at IS NULL)
        AND (p.spool IS NULL OR NOT ${hasRenewed('p', 'days => 2')}) LIMIT $2 FOR UPDATE SKIP LOCKED))`,
    values: [leaseSeconds * 10, atMost],
  };
}
