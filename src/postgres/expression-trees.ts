/**
 * Estimates how long an expression of the catalogue becomes when PostgreSQL writes it as text, before PostgreSQL writes it.
 *
 * The catalogue has an expression as a tree (`pg_node_tree`), which is a text with about four characters for each byte of a constant. The text
 * of most constants is shorter than that. A `numeric` is the exception: `1e131071` takes 12 bytes and has 131,072 digits, and PostgreSQL
 * needs several copies of the text. The names in a tree are PostgreSQL's internals (server-internals.ts): nodes/outfuncs.c and
 * utils/numeric.c. expression-trees.database.test.ts compares the estimates with a real server.
 */
import { longestNumber } from '../core/cells/number-lengths.ts';
import { HEAVY, Pace } from '../core/pause-for-others.ts';

/** The types that contain numbers of any length: `numeric` and `jsonb`, and PostgreSQL's own arrays, ranges and multiranges of them (pg_type.dat). */
export const typesOfNumbers = [1700, 1231, 3906, 3907, 4532, 6151, 3802, 3807, 4072, 4073];

/** How the tree shows a constant that is a single number. */
const oneNumber = ':consttype 1700 ';
/** A pattern for a constant that may contain several numbers. It includes types of users: their identifiers have five digits or more, and types that contain numbers have no collation. */
const severalNumbers = `:consttype ((${typesOfNumbers.slice(1).join('|')}) |[1-9][0-9]{4,} :consttypmod -?[0-9]+ :constcollid 0 :constlen -1 )`;

/** The maximum number of bytes of a tree that is searched for constants. The tree of a text of 1 MiB has 4 to 5 MiB. */
export const maxTreeBytes = 8 * 1024 * 1024;

/** Returns the bytes of a tree as SQL. PostgreSQL knows them without reading a long tree. @param tree SQL of a `pg_node_tree` */
export const treeBytes = (tree: string) => `pg_catalog.octet_length(${tree}::pg_catalog.text)`;

/**
 * Returns SQL for an upper bound of the digits of the numbers in the tree. If a constant may contain several numbers, each is
 * assumed to take six bytes, which the tree writes with 24 characters.
 */
export const mostDigits = (tree: string) => `
  CASE WHEN ${treeBytes(tree)} > ${maxTreeBytes} THEN 0
    WHEN ${tree}::pg_catalog.text ~ '${severalNumbers}' THEN ${treeBytes(tree)}::int8 * ${Math.ceil(longestNumber / 24)}
    ELSE pg_catalog.regexp_count(${tree}::pg_catalog.text, '${oneNumber}')::int8 * ${longestNumber} END`;

/** Returns SQL for whether the text of the expression is certainly at most some MiB long, so that it can be read without estimating its digits. */
export const isShortExpression = (tree: string) =>
  `(${treeBytes(tree)} <= 4096 OR ${treeBytes(tree)} <= ${maxTreeBytes} AND ${tree}::pg_catalog.text !~ '${severalNumbers}')`;

/** Returns SQL for whether the value comes from a function or an operator that the expression calls. Implicit casts do not count. */
export const callsFunctions = (tree: string) =>
  `(${treeBytes(tree)} > ${maxTreeBytes} OR ${tree}::pg_catalog.text ~ '\\{OPEXPR |:funcformat [013] ')`;

/** The nodes that have a value of the row: a column, or the VALUE of a check of a domain. */
const rowValues = '\\{(VAR|COERCETODOMAINVALUE) ';

/** The maximum number of copies of values that are counted for one expression besides those of casts, as many as one of a definition may make (expressions/expression-reader.ts). */
export const mostCopies = 64;
/** Types whose values have at most some bytes: numbers, dates, times and UUIDs (pg_type.dat). */
export const fixedTypes = '16|18|20|21|23|26|700|701|1082|1083|1114|1184|1186|1266|2950';
/** The digits of `numeric` are counted apart (number-trees.ts). */
const shortTypes = `${fixedTypes}|1700`;

/** Functions by what they do with values. An extension may have them in any schema. */
const functions = {
  /** Their workspace is up to four times as long as the text. Those of `json` copy each number and string into 16 bytes or more. */
  working: [
    ...['regexp_replace', 'regexp_count', 'regexp_instr', 'regexp_substr', 'json_array_length'],
    ...['json_object_field', 'json_array_element', 'json_extract_path'].flatMap((name) => [
      name,
      `${name}_text`,
    ]),
  ],
  /** An array takes 32 bytes for each element while PostgreSQL divides a text of two bytes for each. That of `regexp_match` has the text for each group. */
  dividing: ['string_to_array', 'akeys', 'avals', 'regexp_match'],
  /** Their values may be twice as long: they write two digits for each byte, or escape characters. */
  doubling: 'concat textanycat anytextcat quote_ident convert_to hstore unaccent'.split(' '),
  /** They write a byte as up to six characters, or their values are written so. */
  escaping:
    'encode to_json json_build_array json_build_object to_jsonb jsonb_build_array jsonb_build_object jsonb_set'.split(
      ' ',
    ),
  /** They join values, so that one of them has all parts. */
  joining:
    `concat textcat textanycat anytextcat byteacat bitcat overlay hs_concat hstore tsvector_concat multirange_union
    array_cat array_append array_prepend jsonb_concat jsonb_set jsonb_build_array jsonb_build_object json_build_array json_build_object`.split(
      /\s+/,
    ),
  /** Comparisons that read all of the value. */
  comparing: ['bpchar', 'text_', 'jsonb_', 'citext_'].flatMap((type) =>
    ['eq', 'ne', 'lt', 'le', 'gt', 'ge'].map((name) => type + name),
  ),
  formatting: ['to_char'],
};

/**
 * Returns a query of one row: how often the expression calls functions of each kind, also as operators, or may. The estimates below that have
 * a parameter `calls` need it.
 *
 * @param tree SQL of the text of a `pg_node_tree`
 * @param others other kinds, each with the names of functions in any schema
 */
export function callsIn(tree: string, others: Record<string, readonly string[]>): string {
  const isLong = `pg_catalog.octet_length(${tree}) > ${maxTreeBytes}`;
  const counts = Object.entries({ ...functions, ...others }).map(
    ([kind, names]) => `CASE WHEN ${isLong} THEN ${mostCopies}
      ELSE pg_catalog.count(*) FILTER (WHERE p.proname = ANY ('{${names}}'::pg_catalog.name[])) END AS ${kind}`,
  );
  return `SELECT ${counts}
    FROM pg_catalog.regexp_matches(CASE WHEN ${isLong} THEN '' ELSE ${tree} END, 'funcid (\\d+) ', 'g') AS m
    JOIN pg_catalog.pg_proc p ON p.oid = m[1]::pg_catalog.oid`;
}

/** SQL for the bytes of all constants in the tree. */
const constantBytes = (tree: string) =>
  `(SELECT coalesce(sum(m[1]::int8), 0) FROM pg_catalog.regexp_matches(${tree}, ':constvalue (\\d+) \\[', 'g') AS m)`;

/** A pattern for casts that may copy a long value. */
const longCasts = `\\{(COERCEVIAIO|ARRAYCOERCEEXPR) |:funcresulttype (?!(${shortTypes}) )\\d+ :funcretset \\w+ :funcvariadic \\w+ :funcformat [12] `;

/**
 * Returns SQL for about how many copies of the values of its columns the expression makes.
 *
 * @param tree SQL of the text of a `pg_node_tree`
 * @param calls the row of `callsIn`
 */
export const copiesIn = (tree: string, calls: string) => `
  CASE WHEN pg_catalog.octet_length(${tree}) > ${maxTreeBytes} THEN ${mostCopies} ELSE ${lengtheningOf(tree, calls)} * (
    least(${mostCopies} + pg_catalog.regexp_count(${tree}, '${longCasts}'), ${partsOfValue(tree, calls)}
      * pg_catalog.regexp_count(${tree}, ':(op|func)resulttype (?!(${shortTypes}) )|\\{(COERCEVIAIO|ARRAYCOERCEEXPR|ARRAYEXPR|SUBSCRIPTINGREF) '))
    + 4 * ${calls}.working + 16 * ${calls}.dividing)
    + pg_catalog.regexp_count(${tree}, '\\{SCALARARRAYOPEXPR ') + (pg_catalog.regexp_count(${tree}, '\\{(OP|FUNC|DISTINCT|NULLIF)EXPR ')
      + CASE WHEN ${tree} ~ '\\{(MINMAX|ROWCOMPARE)EXPR ' THEN ${timesOfColumns(tree)} ELSE 0 END) / ${callsOfCopy}.0 END`;

/** SQL for whether the expression joins values, or may. */
const joinsValues = (tree: string, calls: string) =>
  `(${tree} ~ '\\{ARRAYEXPR |funcid [1-9][0-9]{4,} ' OR ${calls}.joining > 0)`;

/** SQL for how many values of the row one value of the expression may contain. */
const partsOfValue = (tree: string, calls: string) =>
  `CASE WHEN ${joinsValues(tree, calls)} THEN greatest(1, ${timesOfColumns(tree)}) ELSE 1 END`;

/** SQL for how often the expression has a value of the row. */
const timesOfColumns = (tree: string) => `pg_catalog.regexp_count(${tree}, '${rowValues}')::int8`;

/** SQL for how many times as long the values of the expression may become. Two steps of a definition may follow each other (expressions/refuse-costly.ts). */
const lengtheningOf = (
  tree: string,
  calls: string,
) => `(CASE WHEN ${calls}.escaping > 0 THEN ${2 * timesLonger}
    WHEN ${tree} ~ '${longTexts}' OR ${calls}.doubling > 0 THEN ${timesLonger} ELSE 1 END
    * CASE WHEN ${tree} ~ 'funcid ${REPEAT} ' THEN ${largestInteger(tree)} ELSE 1 END)`;

/** The identifier of repeat (pg_proc.dat). */
const REPEAT = 1622;

/** SQL for the largest constant of the type `integer` in the tree, at least 1. */
const largestInteger = (tree: string) => `(
  SELECT greatest(1, max((m[1]::int & 255) + (m[2]::int & 255) * 256 + (m[3]::int & 255) * 65536 + m[4]::int * 16777216::int8))
  FROM pg_catalog.regexp_matches(${tree}, ':consttype 23 [^\\[]*:constvalue 4 \\[ (-?\\d+) (-?\\d+) (-?\\d+) (-?\\d+) ', 'g') AS m)`;

/** A pattern for casts through a text whose value may be long. Only they have the members in this order. */
const longTexts = `:resulttype (?!(${shortTypes}) )\\d+ :resultcollid \\d+ :coerceformat `;
export const timesLonger = 4;

/** So many calls of functions and operators that only read a value take as long as a copy of it. PostgreSQL does not interrupt a row between them. */
export const callsOfCopy = 4;

/** Returns SQL for whether the expression compares a value with each element of an array by a function that reads all of the value, or may. @param tree as for `copiesIn` @param calls as for `copiesIn` */
export const comparesElements = (tree: string, calls: string) =>
  `(${calls}.comparing > 0 AND ${tree} ~ '\\{SCALARARRAYOPEXPR ')`;

/**
 * Returns SQL for how many copies of a value take as long as the searches in the expression, which PostgreSQL does not interrupt: it tries each byte of a
 * pattern at each byte of the text. All constants count, because the tree does not say simply which of them are patterns. The text may be one that the
 * expression has joined of all its columns.
 *
 * @param tree SQL of the text of a `pg_node_tree` with such a search
 * @param calls as for `copiesIn`
 */
export const searchesIn = (tree: string, calls: string) => `
  CASE WHEN pg_catalog.octet_length(${tree}) > ${maxTreeBytes} THEN pg_catalog.octet_length(${tree}) / 4 ELSE
    ${constantBytes(tree)} * ${partsOfValue(tree, calls)} END / ${patternBytesOfCopy}`;

/** PostgreSQL compares a text with so many bytes of a pattern in about 10 ns for each byte of the text: a row with 140 MB of copies takes about two seconds. */
export const patternBytesOfCopy = 3;

/** The identifiers of md5, sha224, sha256, sha384 and sha512, and of the functions that pad to the lengths of char(n) and bit(n) (pg_proc.dat). */
const hashFunctions = '2311|2321|3419|3420|3421|3422';
const paddingFunctions = '668|1685';
/** The characters of the longest hash as text. */
export const bytesOfHash = 130;

/**
 * Returns SQL for about how many bytes the value of the expression has, besides copies of its columns: its constants, its hashes of short values, and the
 * padding of char(n) and bit(n), whose length is a constant of four bytes before a boolean one.
 *
 * @param tree SQL of the text of a `pg_node_tree`
 */
export const ownBytesIn = (tree: string) => `
  CASE WHEN pg_catalog.octet_length(${tree}) > ${maxTreeBytes} THEN pg_catalog.octet_length(${tree}) / 4 ELSE
    ${constantBytes(tree)}
    + pg_catalog.regexp_count(${tree}, 'funcid (${hashFunctions}) ') * ${bytesOfHash}
    + CASE WHEN ${tree} ~ 'funcid (${paddingFunctions}) ' THEN (
      SELECT coalesce(sum((m[1]::int & 255) + (m[2]::int & 255) * 256 + (m[3]::int & 255) * 65536 + (m[4]::int & 127) * 16777216::int8), 0)
      FROM pg_catalog.regexp_matches(${tree}, ':constvalue 4 \\[ (-?\\d+) (-?\\d+) (-?\\d+) (-?\\d+) [-\\d ]*\\]\\} \\{CONST :consttype 16 ', 'g') AS m) ELSE 0 END END`;

/**
 * Returns SQL for the bytes that the expression may search or copy whatever its columns have: its own bytes, if it joins or pads values.
 *
 * @param tree as for `copiesIn`
 * @param calls as for `copiesIn`
 */
export const computedBytesIn = (tree: string, calls: string) =>
  `CASE WHEN ${joinsValues(tree, calls)} OR ${tree} ~ 'funcid (${paddingFunctions}) ' THEN ${ownBytesIn(tree)} ELSE 0 END`;

/** Returns SQL for whether a long tree calls a function that pads or joins texts, which takes little memory: concat, textcat, textanycat and anytextcat (pg_proc.dat). */
export const mayCompute = (tree: string) =>
  [...paddingFunctions.split('|'), 3058, 1258, 2003, 2004]
    .map((oid) => `pg_catalog.strpos(${tree}, 'funcid ${oid} ') > 0`)
    .join(' OR ');

/** Returns SQL for how many copies of a byte take as long as the constants of the check of a domain, for each value. A number takes `to_char` 60 ns for each character of its format. */
export const copiesOfConstants = (tree: string, calls: string) =>
  `CASE WHEN pg_catalog.octet_length(${tree}) > ${maxTreeBytes} THEN ${maxTreeBytes} ELSE ${constantBytes(tree)} END
    * CASE WHEN ${calls}.formatting > 0 THEN 6 ELSE 0.25 END`;

/** Returns SQL for how many times as long as its columns the value of the expression may be, besides its own bytes. @param tree as for `copiesIn` @param calls as for `copiesIn` */
export const lengthIn = (
  tree: string,
  calls: string,
) => `CASE WHEN pg_catalog.octet_length(${tree}) > ${maxTreeBytes} THEN ${mostCopies}
    ELSE ${partsOfValue(tree, calls)} * ${lengtheningOf(tree, calls)} END`;

/** Returns SQL for how often the check of a domain has its VALUE. @param tree SQL of the text of a `pg_node_tree` */
export const domainValuesIn = (tree: string) => `pg_catalog.regexp_count(${tree}, '\\{COERCETODOMAINVALUE ')`;

/** Returns a query of the numbers of the columns in the expression, one row each time that it has a column. @param tree SQL of the text of a `pg_node_tree` */
export const columnsIn = (tree: string) =>
  `SELECT m[1]::int FROM pg_catalog.regexp_matches(${tree}, '\\{VAR :varno 1 :varattno (\\d+) ', 'g') AS m`;

/**
 * Returns SQL for how often the expression makes the parts of a `jsonb` from its columns. `->` and `#>` make none, and are left out by the identifiers of
 * their functions (pg_proc.dat). From a text a function makes one string, unless `string_to_array` (376, 394) has divided it.
 */
export const jsonCopiesIn = (tree: string, from: 'texts' | 'others') => `
  CASE WHEN pg_catalog.octet_length(${tree}) > ${maxTreeBytes} THEN ${mostCopies} ELSE pg_catalog.regexp_count(${tree}, '${rowValues}')::int8
    * pg_catalog.regexp_count(${tree}, ${from === 'texts' ? `CASE WHEN ${tree} ~ 'funcid (376|394) ' THEN '${jsonResults}' ELSE '${jsonCasts}' END` : `'${jsonResults}'`}) END`;

const jsonCasts = '(?<!funcid (3478|3215|3217) ):resulttype (3802|3807) ';
const jsonResults = '(?<!funcid (3478|3215|3217) ):(op|func)?resulttype (3802|3807) ';

/** The identifiers of nextval, now and gen_random_uuid (pg_proc.dat). */
const harmlessFunctions = '1574|1299|3432';
const plainNodes =
  'VAR|CONST|OPEXPR|SCALARARRAYOPEXPR|BOOLEXPR|NULLTEST|BOOLEANTEST|RELABELTYPE|ARRAYEXPR|CASEEXPR|CASEWHEN|SQLVALUEFUNCTION';

/**
 * Returns SQL for whether evaluating the expression leaves nothing in the session, because it has only operators, casts and a few functions,
 * all of PostgreSQL itself. The caller must check that it depends on no function and no operator that was created in this database.
 */
export const leavesNothing = (tree: string) =>
  `(${treeBytes(tree)} <= 65536 AND ${tree}::pg_catalog.text !~ '\\{(?!(${plainNodes}) |FUNCEXPR :funcid (${harmlessFunctions}) |FUNCEXPR :funcid \\d+ :funcresulttype \\d+ :funcretset false :funcvariadic false :funcformat [12] )')`;

/**
 * Returns an upper bound of the digits of the numbers in the tree. Unlike `mostDigits`, it reads the numbers. The time grows with
 * the length of the tree, and the work is done in turns.
 *
 * @param hasNumbers returns whether the values of a type of a user contain numbers of the type `numeric`
 */
export async function digitsOf(tree: string, hasNumbers: (type: number) => boolean): Promise<number> {
  let digits = 0;
  for (const [start, { 1: oid, 0: head }] of constantsOf(tree)) {
    const type = Number(oid);
    if (!(isOfUser(type) ? hasNumbers(type) : typesOfNumbers.includes(type))) continue;
    const bytes = await readBytes(tree, start + head.length);
    digits += await digitsOfBytes(bytes, alignedTypes.includes(type));
  }
  return digits;
}

/** Returns the types of users that the constants of the trees have. */
export function typesOfConstants(trees: readonly string[]): number[] {
  const types = new Set<number>();
  for (const tree of trees) for (const [, { 1: oid }] of constantsOf(tree)) types.add(Number(oid));
  return [...types].filter(isOfUser);
}

function* constantsOf(tree: string): Generator<[start: number, match: RegExpMatchArray]> {
  const constants = tree.matchAll(/:consttype (\d+) [^{}[\]]*:constvalue \d+ \[ /g);
  for (const match of constants) yield [match.index, match];
}

const isOfUser = (type: number): boolean => type >= 10_000;

/** How many characters of a tree, or bytes of a constant, are read before other work may run. */
const piece = 65_536;

/** Reads the bytes of a constant up to its closing bracket. In the tree they are signed numbers with spaces. */
async function readBytes(tree: string, start: number): Promise<Uint8Array> {
  const end = tree.indexOf(']', start);
  const bytes = new Uint8Array(Math.ceil((end - start) / 2));
  const pace = new Pace();
  let count = 0;
  let value = 0;
  let sign = 1;
  for (let at = start; at < end; at++) {
    const code = tree.charCodeAt(at);
    if (code === 32) {
      bytes[count++] = sign * value;
      value = 0;
      sign = 1;
    } else if (code === 45) sign = -1;
    else value = value * 10 + code - 48;
    if (at % piece !== 0) continue;
    const pause = pace.pause(HEAVY);
    if (pause) await pause;
  }
  return bytes.subarray(0, count);
}

/** The types whose values contain numbers only at multiples of four bytes, each with a header of four bytes: `numeric[]`, `jsonb` and `jsonb[]`. */
const alignedTypes = [1231, 3802, 3807];

/**
 * Adds up the digits of everything in the bytes that may be a number with a long header. Such a number has its length, its sign with the scale,
 * its weight, and its digits to the base 10,000. Other numbers have few digits. Where numbers begin depends on the type, so all places are
 * tried, from the end to the beginning. For even and for odd places, the position of the next two bytes that cannot be a digit is kept.
 */
async function digitsOfBytes(bytes: Uint8Array, areAligned: boolean): Promise<number> {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  const noDigit = new Int32Array(bytes.length + 2).fill(bytes.length);
  const pace = new Pace();
  let digits = 0;
  for (let at = bytes.length - 2; at >= 0; at--) {
    noDigit[at] = view.getUint16(at, true) > 9999 ? at : noDigit[at + 2]!;
    if (!areAligned || at % 4 === 0) digits += digitsAt(view, at, areAligned, noDigit);
    if (at % piece !== 0) continue;
    const pause = pace.pause(HEAVY);
    if (pause) await pause;
  }
  return digits;
}

/** Returns the digits of the number that may begin at the place; 0: none begins there, or it has few digits. */
function digitsAt(view: DataView, at: number, areAligned: boolean, noDigit: Int32Array): number {
  const first = view.getUint8(at);
  const isShort = !areAligned && (first & 1) === 1;
  if (at + (isShort ? 7 : 10) > view.byteLength || (!isShort && (first & 3) !== 0)) return 0;
  const header = isShort ? 1 : 4;
  const length = isShort ? first >> 1 : view.getUint32(at, true) >>> 2;
  const end = at + length;
  if (length < header + 6 || end > view.byteLength || (length - header) % 2 !== 0) return 0;
  const scale = view.getUint16(at + header, true);
  const weight = view.getInt16(at + header + 2, true);
  const start = at + header + 4;
  if (scale >= 0x8000 || noDigit[start]! < end || view.getUint16(start, true) === 0) return 0;
  // A number is stored without zeros at its end, and has only the digits before and after the point. Other bytes are not a number.
  const fraction = scale & 0x3fff;
  if (view.getUint16(end - 2, true) === 0 || (end - start) / 2 > weight + 1 + Math.ceil(fraction / 4))
    return 0;
  return 4 * Math.max(0, weight + 1) + fraction;
}
