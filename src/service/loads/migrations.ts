/**
 * The migrations of the service's own schema, one entry for each version.
 *
 * A migration only adds: an older version of the service may still run beside a newer one, so no migration changes or removes what an
 * earlier one has made. An entry that was released never changes.
 */

export interface Migration {
  /** The number of the migration. Each is one more than the number before it. */
  version: number;
  /** What the migration adds, in a few words. */
  name: string;
  /** Returns the statements. @param schema the name of the schema, quoted */
  statements: (schema: string) => string[];
}

export const migrations: readonly Migration[] = [
  {
    version: 1,
    name: 'loads and idempotency keys',
    statements: (schema) => [
      // A process of the service. It is alive as long as it renews its lease.
      `CREATE TABLE ${schema}.processes (
        id pg_catalog.uuid PRIMARY KEY,
        seen_at pg_catalog.timestamptz NOT NULL DEFAULT pg_catalog.clock_timestamp(),
        started_at pg_catalog.timestamptz NOT NULL DEFAULT pg_catalog.clock_timestamp())`,
      // `owner` is a hash of the token's subject. `answer_body` is the body with which the upload was answered.
      `CREATE TABLE ${schema}.loads (
        id pg_catalog.uuid PRIMARY KEY,
        state pg_catalog.text NOT NULL CHECK (state IN
          ('receiving', 'queued', 'running', 'committed', 'checked', 'refused', 'failed', 'cancelled')),
        operation pg_catalog.text NOT NULL,
        table_schema pg_catalog.text NOT NULL,
        table_name pg_catalog.text NOT NULL,
        dry_run pg_catalog.bool NOT NULL,
        owner pg_catalog.bytea NOT NULL,
        subject pg_catalog.text,
        role pg_catalog.text,
        process pg_catalog.uuid,
        spool pg_catalog.uuid,
        request pg_catalog.jsonb,
        bytes_expected pg_catalog.int8,
        bytes_received pg_catalog.int8 NOT NULL DEFAULT 0,
        rows_read pg_catalog.int8 NOT NULL DEFAULT 0,
        problems_found pg_catalog.int8 NOT NULL DEFAULT 0,
        cancel_requested pg_catalog.bool NOT NULL DEFAULT false,
        watched_until pg_catalog.timestamptz,
        created_at pg_catalog.timestamptz NOT NULL,
        started_at pg_catalog.timestamptz,
        ended_at pg_catalog.timestamptz,
        answer_status pg_catalog.int4,
        answer_headers pg_catalog.jsonb,
        answer_body pg_catalog.bytea)`,
      `CREATE INDEX loads_owner ON ${schema}.loads (owner, id)`,
      `CREATE INDEX loads_running ON ${schema}.loads (process) WHERE ended_at IS NULL`,
      // Pages of problems as JSON. `first` is the number of the first problem of the page, from 0.
      `CREATE TABLE ${schema}.load_problems (
        load pg_catalog.uuid NOT NULL REFERENCES ${schema}.loads ON DELETE CASCADE,
        first pg_catalog.int4 NOT NULL,
        problems pg_catalog.json NOT NULL,
        PRIMARY KEY (load, first))`,
      // A row without an answer belongs to a request that is still running in the process `process`.
      `CREATE TABLE ${schema}.idempotency_keys (
        owner pg_catalog.bytea NOT NULL,
        key pg_catalog.text NOT NULL,
        fingerprint pg_catalog.bytea,
        process pg_catalog.uuid NOT NULL,
        load pg_catalog.uuid,
        created_at pg_catalog.timestamptz NOT NULL DEFAULT pg_catalog.clock_timestamp(),
        answer_status pg_catalog.int4,
        answer_headers pg_catalog.jsonb,
        answer_body pg_catalog.bytea,
        PRIMARY KEY (owner, key))`,
      `CREATE INDEX idempotency_keys_age ON ${schema}.idempotency_keys (created_at)`,
    ],
  },
  {
    version: 2,
    name: 'events',
    statements: (schema) => [
      // `position` is the place in the order in which events are read. It is null until the event has a position.
      `CREATE TABLE ${schema}.events (
        id pg_catalog.uuid PRIMARY KEY,
        position pg_catalog.int8 UNIQUE,
        table_schema pg_catalog.text NOT NULL,
        event pg_catalog.jsonb NOT NULL,
        created_at pg_catalog.timestamptz NOT NULL DEFAULT pg_catalog.clock_timestamp())`,
      `CREATE INDEX events_new ON ${schema}.events (created_at, id) WHERE position IS NULL`,
      `CREATE INDEX events_age ON ${schema}.events (created_at)`,
      `CREATE SEQUENCE ${schema}.event_positions`,
      // This table has one row with a position. The events up to it may have been removed.
      `CREATE TABLE ${schema}.event_state (
        id pg_catalog.bool PRIMARY KEY DEFAULT true CHECK (id),
        removed_to pg_catalog.int8 NOT NULL DEFAULT 0)`,
      `INSERT INTO ${schema}.event_state DEFAULT VALUES`,
    ],
  },
  {
    version: 3,
    name: 'asynchronous loads',
    statements: (schema) => [
      // The folder of stored bodies that a process serves.
      `ALTER TABLE ${schema}.processes ADD COLUMN spool pg_catalog.uuid`,
      `CREATE INDEX loads_queued ON ${schema}.loads (spool, id) WHERE state = 'queued'`,
    ],
  },
  {
    version: 4,
    name: 'webhooks',
    statements: (schema) => [
      // All deliveries of events up to `position` exist. `schemas` are the patterns that the caller wants, and `token_schemas`
      // those that the caller's token allowed; null: all.
      `CREATE TABLE ${schema}.webhooks (
        id pg_catalog.uuid PRIMARY KEY,
        owner pg_catalog.bytea NOT NULL,
        url pg_catalog.text NOT NULL,
        types pg_catalog.text[] NOT NULL,
        schemas pg_catalog.text[],
        token_schemas pg_catalog.text[],
        secret pg_catalog.text NOT NULL,
        position pg_catalog.int8 NOT NULL,
        disabled_at pg_catalog.timestamptz,
        created_at pg_catalog.timestamptz NOT NULL DEFAULT pg_catalog.clock_timestamp())`,
      `CREATE INDEX webhooks_owner ON ${schema}.webhooks (owner)`,
      // `event` is a copy, because the delivery of an event may be kept longer than the event.
      `CREATE TABLE ${schema}.deliveries (
        webhook pg_catalog.uuid NOT NULL REFERENCES ${schema}.webhooks ON DELETE CASCADE,
        event_id pg_catalog.uuid NOT NULL,
        event pg_catalog.jsonb NOT NULL,
        state pg_catalog.text NOT NULL DEFAULT 'pending' CHECK (state IN ('pending', 'delivered', 'dead')),
        attempts pg_catalog.int4 NOT NULL DEFAULT 0,
        next_at pg_catalog.timestamptz NOT NULL DEFAULT pg_catalog.clock_timestamp(),
        status pg_catalog.int4,
        error pg_catalog.text,
        created_at pg_catalog.timestamptz NOT NULL DEFAULT pg_catalog.clock_timestamp(),
        ended_at pg_catalog.timestamptz,
        PRIMARY KEY (webhook, event_id))`,
      `CREATE INDEX deliveries_due ON ${schema}.deliveries (webhook, next_at) WHERE state = 'pending'`,
      `CREATE INDEX deliveries_listed ON ${schema}.deliveries (webhook, created_at)`,
      `CREATE INDEX deliveries_ended ON ${schema}.deliveries (ended_at)`,
    ],
  },
  {
    version: 5,
    name: 'subjects of webhooks',
    statements: (schema) => [
      // For the operator of the service, who asks whose webhook it is. null: the token had no subject, or an older version has created the webhook.
      `ALTER TABLE ${schema}.webhooks ADD COLUMN subject pg_catalog.text`,
    ],
  },
  {
    version: 6,
    name: 'stored problems',
    statements: (schema) => [
      // How many problems of the load `load_problems` has, and the length of their JSON. null: none were stored.
      `ALTER TABLE ${schema}.loads ADD COLUMN problems_stored pg_catalog.int4, ADD COLUMN problem_bytes pg_catalog.int8`,
      `CREATE INDEX loads_with_problems ON ${schema}.loads (owner, id) WHERE problem_bytes IS NOT NULL`,
    ],
  },
  {
    version: 7,
    name: 'sizes of stored bodies',
    statements: (schema) => [
      // The size of the stored body of an asynchronous load.
      `ALTER TABLE ${schema}.loads ADD COLUMN spool_bytes pg_catalog.int8`,
    ],
  },
  {
    version: 8,
    name: 'announcements of events',
    statements: (schema) => [
      // This table has one row. All events up to this position have been announced with NOTIFY.
      `CREATE TABLE ${schema}.event_announcements (
        id pg_catalog.bool PRIMARY KEY DEFAULT true CHECK (id),
        announced_to pg_catalog.int8 NOT NULL)`,
      // Older versions announced each event in the transaction that caused it, so all existing events count as announced.
      `INSERT INTO ${schema}.event_announcements (announced_to)
        SELECT coalesce(pg_catalog.max(position), 0) FROM ${schema}.events`,
    ],
  },
  {
    version: 9,
    name: 'digests of files',
    statements: (schema) => [
      // The SHA-256 of the file of a committed load. null: the load is not compared with later ones.
      `ALTER TABLE ${schema}.loads ADD COLUMN digest pg_catalog.bytea`,
      `CREATE INDEX loads_digest ON ${schema}.loads (digest, table_schema, table_name, id) WHERE digest IS NOT NULL`,
      // The loads that have created or replaced their table.
      `CREATE INDEX loads_created ON ${schema}.loads (table_schema, table_name, id) WHERE answer_status = 201`,
    ],
  },
  {
    version: 10,
    name: 'stored changes',
    statements: (schema) => [
      // How many rows were inserted, changed and so on. null: the rows were not compared with those of the table. `changes_stored` and
      // `change_bytes` are for `load_changes` what `problems_stored` and `problem_bytes` are for `load_problems`.
      `ALTER TABLE ${schema}.loads ADD COLUMN change_counts pg_catalog.jsonb, ADD COLUMN changes_stored pg_catalog.int4,
        ADD COLUMN change_bytes pg_catalog.int8`,
      `CREATE INDEX loads_with_changes ON ${schema}.loads (owner, id) WHERE change_bytes IS NOT NULL`,
      // Pages of changes as JSON. `first` is the number of the first change of the page, from 0.
      `CREATE TABLE ${schema}.load_changes (
        load pg_catalog.uuid NOT NULL REFERENCES ${schema}.loads ON DELETE CASCADE,
        first pg_catalog.int4 NOT NULL,
        changes pg_catalog.json NOT NULL,
        PRIMARY KEY (load, first))`,
    ],
  },
  {
    version: 11,
    name: 'faulty rows',
    statements: (schema) => [
      // How many rows with problems of the load `load_faulty_rows` has, and the length of their pieces. null: none were stored.
      `ALTER TABLE ${schema}.loads ADD COLUMN faulty_rows pg_catalog.int4, ADD COLUMN faulty_row_bytes pg_catalog.int8`,
      `CREATE INDEX loads_with_faulty_rows ON ${schema}.loads (owner, id) WHERE faulty_row_bytes IS NOT NULL`,
      // The rows as they were sent, in pieces of a form of the service. `first` is the number of the piece; the piece 0 describes the columns.
      `CREATE TABLE ${schema}.load_faulty_rows (
        load pg_catalog.uuid NOT NULL REFERENCES ${schema}.loads ON DELETE CASCADE,
        first pg_catalog.int4 NOT NULL,
        rows pg_catalog.bytea NOT NULL,
        PRIMARY KEY (load, first))`,
    ],
  },
  {
    version: 12,
    name: 'profiles',
    statements: (schema) => [
      // `shared_with` is the schema whose users may use the profile; null: only its owner may.
      `CREATE TABLE ${schema}.profiles (
        id pg_catalog.uuid PRIMARY KEY,
        name pg_catalog.text NOT NULL,
        owner pg_catalog.bytea NOT NULL,
        subject pg_catalog.text,
        shared_with pg_catalog.text,
        version pg_catalog.int4 NOT NULL)`,
      `CREATE UNIQUE INDEX profiles_own ON ${schema}.profiles (owner, name) WHERE shared_with IS NULL`,
      `CREATE UNIQUE INDEX profiles_shared ON ${schema}.profiles (name, shared_with) WHERE shared_with IS NOT NULL`,
      `CREATE INDEX profiles_owner ON ${schema}.profiles (owner)`,
      // `definition` is the text of a definition as JSON. `bytes` is the size of the version.
      `CREATE TABLE ${schema}.profile_versions (
        profile pg_catalog.uuid NOT NULL REFERENCES ${schema}.profiles ON DELETE CASCADE,
        version pg_catalog.int4 NOT NULL,
        parameters pg_catalog.json NOT NULL,
        definition pg_catalog.text,
        headers pg_catalog.json,
        bytes pg_catalog.int4 NOT NULL,
        created_at pg_catalog.timestamptz NOT NULL DEFAULT pg_catalog.clock_timestamp(),
        PRIMARY KEY (profile, version))`,
      // The name and the version of the profile with which the load was accepted. The profile may have been deleted since.
      `ALTER TABLE ${schema}.loads ADD COLUMN profile pg_catalog.jsonb`,
    ],
  },
  {
    version: 13,
    name: 'files of loads',
    statements: (schema) => [
      // `file_name` is the name of the file as it was sent; null: none was sent. `change_table` is the oid of the table to which
      // `load_changes` belong, because another table may have its name later; null: an older version has written the load. `parameters` are those of the request.
      `ALTER TABLE ${schema}.loads ADD COLUMN file_name pg_catalog.text, ADD COLUMN change_table pg_catalog.oid,
        ADD COLUMN parameters pg_catalog.jsonb`,
    ],
  },
  {
    version: 14,
    name: 'loads of several tables',
    statements: (schema) => [
      // The tables of the plan, each with its schema. null: the load has only one table.
      `ALTER TABLE ${schema}.loads ADD COLUMN parts pg_catalog.jsonb`,
    ],
  },
  {
    version: 15,
    name: 'loads by the oids of tables',
    statements: (schema) => [
      // The oids of the tables that the load has emptied; null: none. A file is compared with the loads of its table (`change_table`) since then.
      // Only older versions use `loads_digest` and `loads_created`.
      `ALTER TABLE ${schema}.loads ADD COLUMN emptied pg_catalog.oid[]`,
      `CREATE INDEX loads_emptied ON ${schema}.loads USING gin (emptied) WHERE emptied IS NOT NULL`,
      `CREATE INDEX loads_file ON ${schema}.loads (change_table, digest, id) WHERE digest IS NOT NULL`,
    ],
  },
];
