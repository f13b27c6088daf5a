/** What a new table takes over from the table that it replaces: the owner, the grants, the storage parameters, and the comments that its own definition does not have. */

import { type CallersStatement, qualified } from '../../../postgres/callers-statement.ts';
import { quoteIdentifier, type Statement } from '../../../postgres/sql.ts';
import { commentOn } from '../ddl.ts';
import { type NumberingFacts, numberingFacts } from '../numbering.ts';

/** Returns the statements that copy settings, grants, comments and the owner from the old table to the new one. */
export function inheritanceStatements(inheritance: Inheritance, built: string): CallersStatement[] {
  const { owner, grants, revoked, ownRights, settings, comment, columnComments, sequenceComments } =
    inheritance;
  const statements: CallersStatement[] = [];
  if (settings !== null) statements.push(qualified`ALTER TABLE ${built} SET (${settings})`);
  for (const { grantee, sequence } of revoked) {
    statements.push(qualified`REVOKE ALL ON ${grantTarget(built, sequence)} FROM ${roleName(grantee)}`);
  }
  for (const { grantee, privilege, column, sequence, withGrantOption } of grants) {
    const what = column === null ? privilege : `${privilege} (${quoteIdentifier(column)})`;
    const option = withGrantOption ? ' WITH GRANT OPTION' : '';
    statements.push(
      qualified`GRANT ${what} ON ${grantTarget(built, sequence)} TO ${roleName(grantee)}${option}`,
    );
  }
  if (comment !== null) statements.push(commentOn(`TABLE ${built}`, comment));
  for (const { column, text } of columnComments)
    statements.push(commentOn(`COLUMN ${built}.${quoteIdentifier(column)}`, text));
  for (const { sequence, text } of sequenceComments) statements.push(commentOn(`SEQUENCE ${sequence}`, text));
  // The owner changes near the end, because a role that is no longer the owner may not change the table.
  if (owner !== null) statements.push(qualified`ALTER TABLE ${built} OWNER TO ${quoteIdentifier(owner)}`);
  for (const { role, privilege, sequence } of ownRights) {
    statements.push(
      qualified`REVOKE ${privilege} ON ${grantTarget(built, sequence)} FROM ${quoteIdentifier(role)}`,
    );
  }
  return statements;
}

export interface Inheritance {
  /** null: the owner does not change. */
  owner: string | null;
  /** The roles that got privileges on the new table and its sequences from the default privileges, which are revoked. */
  revoked: Pick<Grant, 'grantee' | 'sequence'>[];
  grants: Grant[];
  /** The storage parameters as SQL; null: the table has none. */
  settings: string | null;
  comment: string | null;
  columnComments: { column: string; text: string }[];
  /** The comments on the sequences of numbered columns. The sequence is quoted, and has its name from before the swap. */
  sequenceComments: { sequence: string; text: string }[];
  /** The privileges that the owner of the old table has revoked from itself. */
  ownRights: { role: string; privilege: string; sequence: string | null }[];
  /** The sequences of the old table that a default of the new table uses, quoted. They would be dropped with the old table. */
  sequences: { sequence: string; column: string; numbering: NumberingFacts }[];
  /** The names of the sequences of the new table's identity columns. */
  identities: { sequence: string; column: string }[];
}

interface Grant {
  /** The role that has the privilege; null: PUBLIC. */
  grantee: string | null;
  privilege: string;
  column: string | null;
  /** The sequence, quoted, with its name from before the swap; null: the grant is on the table. */
  sequence: string | null;
  withGrantOption: boolean;
}

function grantTarget(built: string, sequence: string | null): string {
  return sequence === null ? `TABLE ${built}` : `SEQUENCE ${sequence}`;
}

function roleName(role: string | null): string {
  return role === null ? 'PUBLIC' : quoteIdentifier(role);
}

/** Returns a query of the `Inheritance`. @param old the quoted name of the old table @param built that of the new table */
export function readInheritance(old: string, built: string): Statement {
  return { text: inheritanceQuery, values: [old, built] };
}

/**
 * Returns a query of the sequences that belong to columns of a table, which is a row of `pg_class`. `is_numbering`: the column takes its
 * numbers from the sequence.
 */
export const ownedSequences = (table: string) => `
  SELECT s.*, o.attname AS column_name, d.deptype AS dependency, d.deptype = 'i' OR EXISTS (
    SELECT FROM pg_attrdef f JOIN pg_depend used ON used.classid = 'pg_attrdef'::regclass AND used.objid = f.oid
    WHERE f.adrelid = ${table}.oid AND f.adnum = o.attnum
      AND used.refclassid = 'pg_class'::regclass AND used.refobjid = s.oid) AS is_numbering
  FROM ${table}
  JOIN pg_depend d ON d.classid = 'pg_class'::regclass AND d.refclassid = 'pg_class'::regclass
    AND d.refobjid = ${table}.oid AND d.deptype IN ('a', 'i')
  JOIN pg_class s ON s.oid = d.objid AND s.relkind = 'S'
  JOIN pg_attribute o ON o.attrelid = ${table}.oid AND o.attnum = d.refobjsubid`;

const sequenceName = (row: string) => `format('%s.%I', ${row}.relnamespace::regnamespace, ${row}.relname)`;

const granteeName = (acl: string) =>
  `CASE WHEN ${acl}.grantee = 0 THEN NULL ELSE pg_get_userbyid(${acl}.grantee) END`;

/** The columns of the old table (`o`) that the new one has, too (`n`). */
const sharedColumns = `old JOIN pg_attribute o ON o.attrelid = old.oid AND o.attnum > 0 AND NOT o.attisdropped
  JOIN new ON true JOIN pg_attribute n ON n.attrelid = new.oid AND n.attname = o.attname AND NOT n.attisdropped`;

/** The sequences that number a column of the old table (`o`), and those that number the same column of the new one (`n`). */
const sharedSequences =
  '(SELECT * FROM old_sequences WHERE is_numbering) o JOIN new_sequences n USING (column_name)';

/** The grants on the old table. An access list that was never changed is NULL and means the default privileges. */
const grantsOfOld = `
  SELECT a.*, NULL::name AS column_name, NULL::text AS sequence FROM old, aclexplode(old.relacl) a
  UNION ALL
  SELECT a.*, o.attname, NULL FROM ${sharedColumns}, aclexplode(o.attacl) a
  UNION ALL
  SELECT a.*, NULL, ${sequenceName('n')} FROM ${sharedSequences}, aclexplode(o.relacl) a`;

/** The storage parameters of the old table. Those of its TOAST table are set together with them. */
const settings = `
  SELECT string_agg(format('%s%I = %L', o.prefix, split_part(o.setting, '=', 1),
    substr(o.setting, strpos(o.setting, '=') + 1)), ', ')
  FROM (SELECT '' AS prefix, unnest(reloptions) AS setting FROM old
        UNION ALL SELECT 'toast.', unnest(t.reloptions) FROM old JOIN pg_class t ON t.oid = old.reltoastrelid) o`;

/** SQL of each list of the `Inheritance`: the members of an object, the FROM clause, and whether equal objects are left out. */
const lists: Record<string, [members: string, from: string, distinct?: 'DISTINCT']> = {
  revoked: [
    `'grantee', ${granteeName('a')}, 'sequence', made.sequence`,
    `(SELECT relacl, NULL AS sequence FROM new
      UNION ALL SELECT relacl, ${sequenceName('new_sequences')} FROM new_sequences) made,
    aclexplode(made.relacl) a, new WHERE a.grantee <> new.relowner`,
    'DISTINCT',
  ],
  grants: [
    `'grantee', ${granteeName('g')}, 'privilege', g.privilege_type, 'column', g.column_name, 'sequence', g.sequence,
    'withGrantOption', g.is_grantable`,
    `(${grantsOfOld}) g, old WHERE g.grantee <> old.relowner`,
  ],
  columnComments: [
    `'column', o.attname, 'text', d.description`,
    `${sharedColumns}
    JOIN pg_description d ON d.objoid = old.oid AND d.classoid = 'pg_class'::regclass AND d.objsubid = o.attnum
    WHERE col_description(new.oid, n.attnum) IS NULL`,
  ],
  sequenceComments: [
    `'sequence', ${sequenceName('n')}, 'text', d.description`,
    `${sharedSequences}
    JOIN pg_description d ON d.objoid = o.oid AND d.classoid = 'pg_class'::regclass AND d.objsubid = 0`,
  ],
  ownRights: [
    `'role', pg_get_userbyid(own.relowner), 'privilege', r.privilege_type, 'sequence', own.sequence`,
    `(SELECT relowner, relacl, 'r'::"char" AS kind, NULL AS sequence FROM old
      UNION ALL
      SELECT o.relowner, o.relacl, 's', ${sequenceName('n')} FROM ${sharedSequences}) own,
    aclexplode(acldefault(own.kind, own.relowner)) r
    WHERE own.relacl IS NOT NULL AND r.grantee = own.relowner AND NOT EXISTS (
      SELECT FROM aclexplode(own.relacl) a WHERE a.grantee = own.relowner AND a.privilege_type = r.privilege_type)`,
  ],
  sequences: [
    `'sequence', ${sequenceName('s')}, 'column', n.attname,
      'numbering', (SELECT ${numberingFacts('q')} FROM pg_sequence q WHERE q.seqrelid = s.oid)`,
    `old_sequences s
    JOIN pg_depend used ON used.classid = 'pg_attrdef'::regclass AND used.refclassid = 'pg_class'::regclass AND used.refobjid = s.oid
    JOIN pg_attrdef d ON d.oid = used.objid
    JOIN new ON d.adrelid = new.oid JOIN pg_attribute n ON n.attrelid = new.oid AND n.attnum = d.adnum
    WHERE s.dependency = 'a'`,
    'DISTINCT',
  ],
  identities: [`'sequence', relname, 'column', column_name`, `new_sequences WHERE dependency = 'i'`],
};

const listColumns = Object.entries(lists).map(
  ([name, [members, from, distinct = '']]) =>
    `(SELECT coalesce(jsonb_agg(${distinct} jsonb_build_object(${members})), '[]') FROM ${from}) AS "${name}"`,
);

const inheritanceQuery = `
WITH old AS (SELECT * FROM pg_class WHERE oid = $1::regclass), new AS (SELECT * FROM pg_class WHERE oid = $2::regclass),
old_sequences AS (${ownedSequences('old')}),
new_sequences AS (${ownedSequences('new')})
SELECT (SELECT CASE WHEN old.relowner <> new.relowner THEN pg_get_userbyid(old.relowner) END FROM old, new) AS owner,
  (${settings}) AS settings, CASE WHEN obj_description($2::regclass, 'pg_class') IS NULL THEN obj_description($1::regclass, 'pg_class') END AS comment,
  ${listColumns.join(',\n  ')}`;
