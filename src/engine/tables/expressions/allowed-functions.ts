/**
 * The functions and operators that an expression of a definition may call. The service has its own list, because PostgreSQL does not say which functions write,
 * sleep, read files or settings, take locks, or need memory and time without bound. The functions of `pg_catalog` are always called with
 * that schema. Of an extension, only the functions in this list can be called; the setting DEFAULT_FUNCTIONS adds others.
 */

export interface FunctionRule {
  /** The value is short whatever the arguments are: a number, a boolean, a time. */
  isSmall?: true;
  /**
   * Arguments that must be literal texts of at most `maxPatternLength` characters, by index. The time of a search grows with the product of both
   * texts, and PostgreSQL keeps 24 KB for each name of a time zone.
   */
  literals?: number[];
  /** The argument that is a regular expression. */
  pattern?: number;
  /** The value has the text of each group of the regular expression, so there may be few. */
  hasGroups?: true;
  /** The text at the second of these indexes replaces that of the first one, and must not have more bytes (UTF-8). */
  replaces?: [number, number];
  /** The maximum number of arguments. */
  most?: number;
  /** The value is a time or a range of times, so it is not read from a text when it is cast. */
  isTime?: true;
  /** The first argument is the name of a text search configuration of PostgreSQL. */
  hasConfiguration?: true;
}

/** The maximum number of characters of a literal that a function or an operator searches for. */
export const maxPatternLength = 512;

/** The maximum number of groups of a regular expression whose matches are returned. */
export const maxGroups = 10;

const rules: [FunctionRule, string][] = [
  [
    { isSmall: true },
    `length char_length character_length octet_length bit_length ascii bit_count chr md5 hashtext num_nulls num_nonnulls starts_with
    abs ceil ceiling floor round trunc mod div sign sqrt cbrt degrees radians sin cos tan asin acos atan atan2 scale min_scale trim_scale
    width_bucket int4 int8 float8 numeric isfinite date_part extract get_byte get_bit sha224 sha256 sha384 sha512
    array_length cardinality array_ndims array_lower array_upper json_typeof jsonb_typeof json_array_length jsonb_array_length
    isempty lower_inc upper_inc lower_inf upper_inf range_contains_elem family masklen inet_same_family
    uuid_extract_version area box point center diameter radius numnode to_hex`,
  ],
  [
    { isSmall: true, isTime: true },
    `date date_bin make_date make_time make_timestamp make_interval justify_days justify_hours justify_interval age overlaps
    uuid_extract_timestamp`,
  ],
  [{ isSmall: true, isTime: true, most: 1 }, 'to_timestamp'],
  [{ isSmall: true, literals: [0], isTime: true }, 'timezone'],
  [{ isSmall: true, literals: [2], isTime: true }, 'date_trunc'],
  [
    {},
    `lower upper initcap reverse left right substr concat jsonb_build_object jsonb_build_array json_build_object json_build_array to_jsonb
    to_json jsonb_strip_nulls jsonb_extract_path jsonb_extract_path_text json_extract_path json_extract_path_text jsonb_set
    array_append array_prepend array_cat array_remove array_to_tsvector setweight strip overlay int4range int8range numrange daterange tsrange
    tstzrange range_merge host hostmask netmask network broadcast abbrev set_masklen textcat quote_ident`,
  ],
  [{ literals: [1] }, 'to_char encode decode convert_to split_part btrim ltrim rtrim '],
  [{ literals: [1], isSmall: true }, 'strpos position'],
  [{ literals: [1, 2] }, 'string_to_array'],
  [{ literals: [1, 2], replaces: [1, 2] }, 'replace translate'],
  [{ literals: [0, 1] }, 'like_escape similar_to_escape'],
  [{ literals: [1, 2, 3], pattern: 1, replaces: [1, 2] }, 'regexp_replace'],
  [{ literals: [1], pattern: 1 }, 'regexp_like regexp_count regexp_instr regexp_substr substring'],
  [{ literals: [1], pattern: 1, hasGroups: true }, 'regexp_match'],
  [{ hasConfiguration: true }, 'to_tsvector plainto_tsquery'],
];

/** The functions that only defaults may call, because their values are not always the same for the same arguments. */
const ofDefaults: [FunctionRule, string][] = [
  [{ isSmall: true, isTime: true }, 'now transaction_timestamp statement_timestamp clock_timestamp'],
  [{ isSmall: true }, 'random gen_random_uuid uuidv4 uuidv7 nextval'],
];

export const functionRules = toMap(rules);
export const rulesOfDefaults = toMap(ofDefaults);

function toMap(lists: [FunctionRule, string][]): Map<string, FunctionRule> {
  return new Map(lists.flatMap(([rule, names]) => names.split(/\s+/).map((name) => [name, rule] as const)));
}

/** The functions of extensions. */
export const extensionFunctions = new Map(
  `similarity word_similarity unaccent soundex metaphone levenshtein hstore akeys avals exist defined delete_key
  subpath nlevel lca ltree2text text2ltree cube ll_to_earth earth_distance digest vector_dims
  st_x st_y st_z st_srid st_isvalid st_isempty st_isclosed st_ndims st_npoints st_geometrytype geometrytype st_coorddim st_geohash
  st_makepoint st_point st_setsrid st_transform st_envelope st_centroid st_area st_length st_force2d
  uuid_generate_v1 uuid_generate_v1mc uuid_generate_v4`
    .split(/\s+/)
    .map((name): [string, FunctionRule] => [name, {}]),
);

/** Comparisons, whose value is a boolean. */
export const comparisons = new Set(
  '= <> != < <= > >= ~ ~* !~ !~* ~~ !~~ ~~* !~~* ^@ @> <@ && -|- &< &> |>> <<| &<| |&> <<= >>= ? ?| ?& ~=~ ~<~ ~>~ ~<=~ ~>=~ % %> <% ~='.split(
    ' ',
  ),
);
/** Operators whose value is a number, a time or a distance. */
export const arithmetic = new Set('+ * / |/ ||/ @ <-> <#> <=> <+>'.split(' '));
/** Operators whose value is as long as their operands together. */
export const growing = new Set('- || -> ->> #> #>> #- & | # << >>'.split(' '));

/** The operators whose right operand is a pattern. */
export const patternOperators = new Set('~ ~* !~ !~* ~~ !~~ ~~* !~~*'.split(' '));
export const regularExpressions = new Set('~ ~* !~ !~*'.split(' '));
/** The operators whose time may grow with the product of the parts of two values: arrays, `jsonb`, paths and polygons. */
export const pairingOperators = new Set('@> <@ && ?| ?& - <-> ~='.split(' '));
