/**
 * Objects that another role makes in `public`, with the names and signatures of everything that the statements of the service use. Each of them warns
 * with the name of its caller when it is used, and then fails.
 */
import pg from 'pg';
import { reservedTypeNames } from '../../src/engine/tables/column-types.ts';

/** What the types in `public` with the names of aliases and of PostgreSQL's own types are. */
export type HostileTypes = 'domains' | 'tables';

/**
 * Makes the objects as the role of the connection. What PostgreSQL does not let the role make is left out.
 *
 * @param sent the statements of the service in a database without the objects
 * @returns how many objects of each kind there are
 */
export async function setTraps(
  url: string,
  sent: string[],
  types: HostileTypes,
): Promise<Record<string, number>> {
  const client = new pg.Client(url);
  await client.connect();
  try {
    await client.query('SET search_path TO pg_catalog; SET check_function_bodies TO off');
    const statements = [
      hostileFunction('hostile', ['text'], 'boolean'),
      ...(await functionsLike(client, sent)),
      ...(await operatorsLike(client, sent)),
      ...(await typesLike(client, types)),
      ...(await viewsLike(client)),
      ...(await collationsAndConfigurations(client)),
      ...castsOfOwnType,
    ];
    for (let at = 0; at < statements.length; at += batch)
      await client.query(makeWhatIsAllowed(statements.slice(at, at + batch)));
    const { rows } = await client.query<{ kind: string; count: number }>(madeObjects);
    return Object.fromEntries(rows.map(({ kind, count }) => [kind, count]));
  } finally {
    await client.end();
  }
}

/** The objects of one transaction, which has a lock for each of them. */
const batch = 1000;

/** Records the text of every statement that this process sends to PostgreSQL. @returns the function that ends it */
export function recordStatements(sent: string[]): () => void {
  const prototype = pg.Connection.prototype as unknown as {
    query(text: string): void;
    parse(query: { text: string }): void;
  };
  const { query, parse } = prototype;
  prototype.query = function (text) {
    sent.push(text);
    query.call(this, text);
  };
  prototype.parse = function (...args) {
    sent.push(args[0].text);
    parse.apply(this, args);
  };
  return () => Object.assign(prototype, { query, parse });
}

/**
 * Records the warnings of the traps that reach this process. A transaction that only reads or is rolled back sends warnings, too.
 *
 * @returns the function that ends it
 */
export function recordCalls(calls: string[]): () => void {
  const prototype = pg.Connection.prototype as unknown as {
    emit(name: string, message?: { message?: unknown }): boolean;
  };
  const { emit } = prototype;
  prototype.emit = function (name, message) {
    const text = name === 'notice' ? message?.message : undefined;
    if (typeof text === 'string' && text.startsWith('hostile: ')) calls.push(text);
    return emit.call(this, name, message);
  };
  return () => Object.assign(prototype, { emit });
}

/** Replaces the comments, strings and quoted names of a statement. */
export function withoutQuotes(text: string): string {
  return text
    .replace(/--.*$/gm, ' ')
    .replace(/E?'(?:[^']|'')*'/g, "''")
    .replace(/"(?:[^"]|"")*"/g, '"x"');
}

function hostileFunction(name: string, types: string[], result: string): string {
  return `CREATE FUNCTION public."${name}"(${types.join(', ')}) RETURNS ${result} LANGUAGE plpgsql AS
'BEGIN RAISE WARNING ''hostile: function ${name}(${types.join(', ').replaceAll('"', '')}) ran as %'', current_user; RAISE EXCEPTION ''hostile''; END'`;
}

function makeWhatIsAllowed(statements: string[]): string {
  return `DO $do$ DECLARE statement text; BEGIN
  FOREACH statement IN ARRAY ARRAY[${statements.map((one) => pg.escapeLiteral(one)).join(',\n')}] LOOP
    BEGIN EXECUTE statement; EXCEPTION WHEN OTHERS THEN NULL; END;
  END LOOP; END $do$`;
}

interface Signature {
  name: string;
  types: string[];
  result: string;
}

/** The types that arguments of the service's calls have. */
const commonTypes = ['text', 'name', '"char"', 'boolean', 'smallint', 'integer', 'bigint', 'oid', 'json'];

/** Functions with the names of those that the statements call, with the signatures of PostgreSQL's own ones and with closer ones. */
async function functionsLike(client: pg.Client, sent: string[]): Promise<string[]> {
  const text = sent.map(withoutQuotes).join('\n');
  const words = new Set([...text.matchAll(/\b([a-z_][a-z_0-9]*)\s*\(/g)].map(([, word]) => word!));
  const { rows } = await client.query<Signature>(
    `SELECT proname::text AS name, result,
       ARRAY(SELECT t::regtype::text FROM unnest(proargtypes::oid[]) WITH ORDINALITY AS a(t, place) ORDER BY place) AS types
     FROM pg_proc, LATERAL (SELECT CASE WHEN typtype = 'p' AND typname NOT LIKE 'any%' THEN 'json' ELSE prorettype::regtype::text END AS result
       FROM pg_type WHERE pg_type.oid = prorettype) r
     WHERE pronamespace = 'pg_catalog'::regnamespace AND proname = ANY ($1::text[])`,
    [[...words]],
  );
  const functions = new Map<string, string>();
  for (const signature of rows) {
    for (const types of [signature.types, ...closerTypes(signature.types)]) {
      const result = types === signature.types ? signature.result : exactResult(signature.result);
      const key = `${signature.name}(${types})`;
      if (!functions.has(key)) functions.set(key, hostileFunction(signature.name, types, result));
    }
  }
  return [...functions.values()];
}

/** A function of arguments that are not polymorphic cannot have a polymorphic result. */
function exactResult(result: string): string {
  return result.startsWith('any') || result.startsWith('"any') ? 'text' : result;
}

/** Lists of arguments that fit a call better than the given one if the call converts an argument. */
function closerTypes(types: string[]): string[][] {
  if (types.includes('"any"')) {
    const pairs = commonTypes.flatMap((a) => commonTypes.map((b) => [a, b]));
    const entries = pairs.map(([a, b]) => ['text', a!, 'text', b!]);
    return [
      ...commonTypes.map((type) => [type]),
      ...pairs,
      ...pairs.map(([a, b]) => ['text', a!, b!]),
      ...entries,
    ];
  }
  const isPolymorphic = types.some((type) => type.startsWith('any'));
  if (isPolymorphic) return commonTypes.map((type) => types.map((one) => exactType(one, type)));
  return types.flatMap((_, place) => commonTypes.map((type) => types.with(place, type)));
}

function exactType(type: string, exact: string): string {
  if (!type.startsWith('any')) return type;
  return type.endsWith('array') ? `${exact}[]` : exact;
}

/** Operators with the names of those that the statements use, for the operands of PostgreSQL's own ones and for all pairs of common types. */
async function operatorsLike(client: pg.Client, sent: string[]): Promise<string[]> {
  const text = sent.map(withoutQuotes).join('\n');
  const symbols = new Set([...(text.match(/[-+*/<>=~!@#%^&|`?]+/g) ?? []), '~~', '=', '<>']);
  const { rows } = await client.query<Signature>(
    `SELECT oprname::text AS name, ARRAY[oprleft::regtype::text, oprright::regtype::text] AS types, oprresult::regtype::text AS result
     FROM pg_operator WHERE oprnamespace = 'pg_catalog'::regnamespace AND oprkind = 'b' AND oprname = ANY ($1::text[])`,
    [[...symbols]],
  );
  const names = new Set(rows.map(({ name }) => name));
  const pairs = commonTypes.flatMap((a) => commonTypes.map((b) => [a, b]));
  const closer = [...names].flatMap((name) => pairs.map((types) => ({ name, types, result: 'boolean' })));
  return [...rows, ...closer].flatMap(({ name, types, result }, index) => [
    hostileFunction(`operator ${index}`, types, result),
    `CREATE OPERATOR public.${name} (LEFTARG = ${types[0]}, RIGHTARG = ${types[1]}, FUNCTION = public."operator ${index}")`,
  ]);
}

/** Types with the names of the aliases, of SQL's own spellings and of the types of `pg_catalog`. */
async function typesLike(client: pg.Client, types: HostileTypes): Promise<string[]> {
  const spelled = 'int integer smallint bigint real decimal dec float boolean varchar character'.split(' ');
  const { rows } = await client.query<{ name: string }>(
    `SELECT typname::text AS name FROM pg_type WHERE typnamespace = 'pg_catalog'::regnamespace AND typrelid = 0 AND typcategory <> 'A'`,
  );
  // Nothing else has the name citext, so a domain with this name would be found, and rightly.
  const unknown = types === 'tables' ? ['citext'] : [];
  const names = new Set([...reservedTypeNames, ...spelled, ...rows.map(({ name }) => name), ...unknown]);
  return [...names].flatMap((name) =>
    types === 'domains'
      ? [`CREATE DOMAIN public."${name}" AS pg_catalog.text CHECK (public.hostile(VALUE))`]
      : [
          `CREATE TABLE public."${name}" (a pg_catalog.text CHECK (public.hostile(a)))`,
          `GRANT ALL ON public."${name}" TO PUBLIC`,
        ],
  );
}

/** Views with the names of the tables of PostgreSQL's catalogue and of the service. */
async function viewsLike(client: pg.Client): Promise<string[]> {
  const { rows } = await client.query<{ name: string; schema: string }>(
    `SELECT c.relname::text AS name, n.nspname::text AS schema FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
     WHERE n.nspname IN ('pg_catalog', 'tablewright_service') AND c.relkind IN ('r', 'v', 'p')`,
  );
  return rows.flatMap(({ name, schema }) => {
    const columns = schema === 'pg_catalog' ? `* FROM pg_catalog."${name}"` : '1 AS a';
    return [
      hostileFunction(`view ${name}`, [], 'boolean'),
      `CREATE VIEW public."${name}" AS SELECT ${columns} WHERE public."view ${name}"()`,
      `GRANT ALL ON public."${name}" TO PUBLIC`,
    ];
  });
}

/** Collations under which different texts are equal, and text search configurations with another parser. */
async function collationsAndConfigurations(client: pg.Client): Promise<string[]> {
  const { rows } = await client.query<{ name: string }>(
    `SELECT DISTINCT collname::text AS name FROM pg_collation WHERE collname IN ('C', 'POSIX', 'default', 'ucs_basic', 'unicode', 'C.utf8')`,
  );
  return [
    ...rows.map(
      ({ name }) =>
        `CREATE COLLATION public."${name}" (provider = icu, locale = 'und-u-ks-level1', deterministic = false)`,
    ),
    ...['simple', 'english'].map(
      (name) => `CREATE TEXT SEARCH CONFIGURATION public.${name} (PARSER = pg_catalog.default)`,
    ),
  ];
}

/** Casts between a type of the role and PostgreSQL's types, which PostgreSQL may use without being asked to. */
const castsOfOwnType = [
  'CREATE TYPE public.hostile_type AS (a pg_catalog.text)',
  ...commonTypes.flatMap((type, index) => [
    hostileFunction(`to hostile ${index}`, [type], 'public.hostile_type'),
    hostileFunction(`from hostile ${index}`, ['public.hostile_type'], type),
    `CREATE CAST (${type} AS public.hostile_type) WITH FUNCTION public."to hostile ${index}"(${type}) AS IMPLICIT`,
    `CREATE CAST (public.hostile_type AS ${type}) WITH FUNCTION public."from hostile ${index}"(public.hostile_type) AS IMPLICIT`,
  ]),
];

const madeObjects = `
SELECT 'functions' AS kind, count(*)::int FROM pg_proc WHERE proowner = current_user::regrole
UNION ALL SELECT 'operators', count(*)::int FROM pg_operator WHERE oprowner = current_user::regrole
UNION ALL SELECT 'domains', count(*)::int FROM pg_type WHERE typowner = current_user::regrole AND typtype = 'd'
UNION ALL SELECT 'tables', count(*)::int FROM pg_class WHERE relowner = current_user::regrole AND relkind = 'r'
UNION ALL SELECT 'views', count(*)::int FROM pg_class WHERE relowner = current_user::regrole AND relkind = 'v'
UNION ALL SELECT 'collations', count(*)::int FROM pg_collation WHERE collowner = current_user::regrole
UNION ALL SELECT 'configurations', count(*)::int FROM pg_ts_config WHERE cfgowner = current_user::regrole
UNION ALL SELECT 'casts', count(*)::int FROM pg_cast WHERE oid > 16383`;
