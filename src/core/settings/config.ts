/**
 * Declares every setting once, in `declared` below: its name in the environment, its default, its bounds and its purpose. The
 * types, the parsing, the checks and `.env.example` follow from the declaration. Tests compare docs/settings.md and docs/limits.md
 * with it. All errors are reported together.
 */

import { isIP } from 'node:net';
import { databaseUrlProblem } from './database-url.ts';
import {
  isSafeKeyUrl,
  minSecretBytes,
  needsGeneratedSecret,
  tokenAlgorithms,
  tokenSettingErrors,
} from './token-settings.ts';

export type Environment = Record<string, string | undefined>;

/** An error in the settings. Its message lists every error for the person who starts the service, who needs no stack. */
export class ConfigError extends Error {
  readonly errors: string[];

  constructor(errors: string[]) {
    super(`The settings are not valid:\n${errors.map((error) => `  ${error}`).join('\n')}`);
    this.name = 'ConfigError';
    this.errors = errors;
  }
}

export interface Setting<Name extends string = string, Value = unknown> {
  name: Name;
  /** One or more sentences for the person who runs the service. */
  purpose: string;
  /** The default as the environment would have it; undefined: there is none. */
  default: string | undefined;
  example: string;
  /** The rule for the value, as the end of "must be …". */
  rule: string;
  fits: (value: string) => boolean;
  parse: (value: string | undefined) => Value;
  /** The unit of a number, such as `bytes`. */
  unit?: string;
  /** Messages must not show the value. */
  isSecret?: boolean;
}

interface TextRule {
  rule: string;
  example: string;
  fits?: (value: string) => boolean;
  isSecret?: boolean;
}

const KIB = 1024;
const MIB = 1024 * KIB;
const GIB = 1024 * MIB;
const DAY_MS = 86_400_000;
const ANY = Number.MAX_SAFE_INTEGER;
const fitsAlways = () => true;

const hostRule: TextRule = { rule: 'an IP address or a host name', example: '0.0.0.0', fits: isHost };
const originsRule: TextRule = {
  rule: 'origins (scheme://host or scheme://host:port) separated by spaces, or *',
  example: 'https://app.example.com http://localhost:3000',
  fits: areOrigins,
};
const basePathRule: TextRule = {
  rule: 'a path that begins with / and does not end with it, of letters, digits, -, _, . and /',
  example: '/tables',
  fits: (value) => /^(\/\.*[\w-][\w.-]*)+$/.test(value),
};
const pathRule: TextRule = {
  rule: 'a path',
  example: '/var/lib/tablewright-data',
  fits: (value) => !value.includes('\0'),
};
const databaseUrlRule: TextRule = {
  rule: 'a PostgreSQL URL',
  example: 'postgresql://user:password@localhost:5432/database',
  isSecret: true,
};
const portRule: TextRule = {
  rule: 'a whole number from 0 to 65535',
  example: '9464',
  fits: (value) => /^\d{1,5}$/.test(value) && Number(value) <= 65_535,
};
const proxiesRule: TextRule = {
  rule: 'a number of proxies from 1 to 10, or IP addresses and networks (CIDR) separated by spaces',
  example: '10.0.0.0/8 fd00::/8',
  fits: areProxies,
};
const networksRule: TextRule = {
  rule: 'IP addresses and networks (CIDR) separated by spaces',
  example: '10.0.0.0/8 fd00::/8',
  fits: areNetworks,
};
const functionsRule: TextRule = {
  rule: 'names of functions separated by spaces',
  example: 'app.next_number my_id',
  fits: areFunctions,
};
const serviceSchemaRule: TextRule = {
  rule: 'a name of lower-case letters, digits and _, which does not begin with pg_ and is not public',
  example: 'tablewright_service',
  fits: (value) => /^(?!pg_|public$|information_schema$)[a-z_][a-z0-9_]{0,62}$/.test(value),
};
const tokenSecretRule: TextRule = {
  rule: `at least ${minSecretBytes} bytes`,
  example: 'the output of "openssl rand -base64 32"',
  fits: (value) => Buffer.byteLength(value) >= minSecretBytes,
  isSecret: true,
};
const jwksUrlRule: TextRule = {
  rule: 'an https URL, or an http URL of this machine, without a user name and a fragment',
  example: 'https://login.example.com/.well-known/jwks.json',
  fits: isSafeKeyUrl,
  // The value may contain a password by mistake.
  isSecret: true,
};
// The value may be a private key by mistake, so no message shows it.
const publicKeyRule: TextRule = {
  rule: 'a public key in PEM or JWK form, or the path of a file that has one',
  example: '/etc/tablewright/token-key.pem',
  isSecret: true,
};
const algorithmsRule: TextRule = {
  rule: `some of ${tokenAlgorithms.join(', ')}, separated by spaces`,
  example: 'RS256 ES256',
  fits: (value) => value.split(/ +/).every((word) => tokenAlgorithms.includes(word)),
};
const claimRule: TextRule = {
  rule: 'the name of a claim, or a JSON Pointer (RFC 6901)',
  example: '/resource_access/tablewright/roles',
  fits: isClaim,
};
const claimsRule: TextRule = {
  rule: 'names of claims, or JSON Pointers (RFC 6901), separated by spaces',
  example: '/resource_access/tablewright/roles',
  fits: (value) => value.split(/ +/).every(isClaim),
};
const roleRule: TextRule = {
  rule: 'a name of a role with at most 63 bytes, and not "none"',
  example: 'reader',
  fits: (value) => value !== 'none' && Buffer.byteLength(value) <= 63 && !value.includes('\0'),
};
const clientIdRule: TextRule = { rule: 'a client id', example: 'tablewright-console' };
const scopeRule: TextRule = { rule: 'scopes separated by spaces', example: 'openid table:load table:read' };
const resourceRule: TextRule = {
  rule: 'a URI without a fragment',
  example: 'https://tables.example.com',
  fits: (value) => URL.canParse(value) && !value.includes('#'),
};
const issuerRule: TextRule = { rule: 'the `iss` of the tokens', example: 'https://login.example.com/' };
const audienceRule: TextRule = { rule: 'the `aud` of the tokens', example: 'tablewright' };

// biome-ignore format: one line for each setting
const declared = {
  http: {
    host: text('HOST', '127.0.0.1', 'The address to listen on; 0.0.0.0 for all addresses of the machine.', hostRule),
    port: integer('PORT', 8080, [0, 65_535], '', 'The port to listen on; 0 for any free port.'),
    maxConnections: integer('MAX_CONNECTIONS', 1000, [10, 1_000_000], 'connections', 'The most client connections at the same time. If all are in use, a new connection replaces the one that has been idle longest. The limit is lower if the process may not open enough files (ulimit -n); the log then says so.'),
    corsOrigins: words('CORS_ORIGINS', 'The origins of web pages that may call the service from a browser (CORS), separated by spaces, or * for every origin. If not set, no page of another origin may.', originsRule),
    /** '': the service is at the root of its host. */
    basePath: { ...optional('BASE_PATH', 'The path below which a proxy offers the service, such as /tables. The links, redirects and addresses in answers then begin with it. If not set, the service is at the root of its host.', basePathRule), parse: (value: string | undefined) => value ?? '' },
    trustProxy: optional('TRUST_PROXY', 'The proxies in front of the service whose headers X-Forwarded-For or Forwarded name the address of the client: how many they are, or their IP addresses and networks (CIDR) separated by spaces. If not set, no header counts, and the address is the one that the connection comes from.', proxiesRule),
    shutdownGraceMs: integer('SHUTDOWN_GRACE_MS', 5000, [0, DAY_MS], 'ms', 'When the service stops, running requests have this many milliseconds to end. Requests that still run then are rolled back.'),
  },
  workers: integer('WORKERS', 1, [1, 64], 'processes', 'The number of processes that serve the port. Each reads uploads on one core, so one for each core makes sense. Limits, DATABASE_POOL_SIZE and memory count for each process: docs/operations.md.'),
  console: {
    isOn: onOff('CONSOLE', 'on', 'Whether the service has the console, a web page at / for loading files. off: browsers get the list of guides at /.'),
    /** undefined: people paste a token. */
    oidcClientId: optional('CONSOLE_OIDC_CLIENT_ID', 'The client id of the console at the identity provider, which TOKEN_ISSUER names. People then sign in to the console there (authorization code with PKCE, a public client). The redirect URI is the address of the console: https://tables.example.com/. If not set, people paste a token.', clientIdRule),
    oidcScope: text('CONSOLE_OIDC_SCOPE', 'openid table:create table:load table:replace table:read', 'The scopes that the console asks the identity provider for, separated by spaces.', scopeRule),
    oidcResource: optional('CONSOLE_OIDC_RESOURCE', 'The resource (RFC 8707) that the console asks the identity provider for, if the provider issues tokens for this service only then.', resourceRule),
  },
  metrics: {
    /** undefined: no metrics. */
    port: { ...optional('METRICS_PORT', 'The port on which Prometheus gets the metrics of the service at /metrics, without a token; 0 for any free port. If not set, there are no metrics.', portRule), parse: (value: string | undefined) => (value === undefined ? undefined : Number(value)) },
    host: text('METRICS_HOST', '127.0.0.1', 'The address on which the metrics are served; 0.0.0.0 for all addresses of the machine. It must not be reachable from outside, because everybody who reaches it can read the metrics.', hostRule),
  },
  logLevel: oneOf('LOG_LEVEL', 'info', ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'], 'The least severe messages that are logged: fatal, error, warn, info, debug or trace; silent for no log.'),
  dataDir: text('DATA_DIR', '.tablewright', 'The folder for the embedded PostgreSQL and the generated secrets.', pathRule),
  database: {
    /** undefined: the embedded PostgreSQL. `databaseUrlProblem` checks the URL. */
    url: optional('DATABASE_URL', 'The URL of your own PostgreSQL, 15 or newer: postgresql://user:password@host:5432/database. Several hosts, of which the one that accepts changes is used: postgresql://user:password@one:5432,two:5432/database. If not set, the service starts its embedded PostgreSQL.', databaseUrlRule),
    poolSize: integer('DATABASE_POOL_SIZE', 20, [2, 1000], 'connections', 'The most connections to PostgreSQL for requests. It must be above MAX_UPLOADS. Each process opens up to eight more: four for exports, two for the records of loads, one for its lease, one for health checks.'),
    statementTimeoutMs: integer('STATEMENT_TIMEOUT_MS', 600_000, [0, DAY_MS], 'ms', 'The time limit for one SQL statement in milliseconds; 0 for no limit.'),
    exportTimeoutMs: integer('EXPORT_TIMEOUT_MS', DAY_MS / 4, [0, DAY_MS], 'ms', 'The time limit for one export in milliseconds. While a client reads it, PostgreSQL keeps deleted rows of the whole database; 0 for no limit.'),
    lockTimeoutMs: integer('LOCK_TIMEOUT_MS', 10_000, [0, DAY_MS], 'ms', 'The time limit in milliseconds for waiting for a table that another transaction has locked; 0 for no limit.'),
    serviceSchema: text('SERVICE_SCHEMA', 'tablewright_service', 'The schema in which the service keeps its own tables: loads, idempotency keys. The service creates it, and no access token may use it. none: the service keeps nothing, and the endpoints that need the schema answer 501.', serviceSchemaRule),
    defaultFunctions: words('DEFAULT_FUNCTIONS', "The functions that a column's default may call in addition to the built-in ones, as name or schema.name, separated by spaces.", functionsRule),
  },
  loads: {
    /** undefined: a folder below the data folder. */
    spoolDir: optional('SPOOL_DIR', 'The folder in which the bodies of asynchronous uploads are stored until they are loaded. It must survive the end of the process. If not set, it is spool in DATA_DIR.', pathRule),
    historyDays: integer('LOAD_HISTORY_DAYS', 30, [1, 3650], 'days', 'How many days the service keeps the record of a load that has ended.'),
  },
  webhooks: {
    privateNetworks: words('WEBHOOK_PRIVATE_NETWORKS', 'The private networks to which webhooks may be sent, and from which files of links may be fetched: IP addresses and networks (CIDR) separated by spaces. If not set, only public addresses are reached, and only with https.', networksRule),
  },
  tokens: {
    jwksUrl: optional('TOKEN_JWKS_URL', 'The URL of the keys of your identity provider (JWK set). The service fetches the keys again by itself, so the provider can change them at any time. TOKEN_ISSUER and TOKEN_AUDIENCE are required with it. docs/tokens.md has examples for several providers.', jwksUrlRule),
    publicKey: optional('TOKEN_PUBLIC_KEY', 'The public key that verifies access tokens, in PEM or JWK form, or the path of a file that has it.', publicKeyRule),
    /** undefined: another setting names the key, or else it is the generated secret in the data folder, which only the embedded PostgreSQL has. */
    secret: optional('TOKEN_SECRET', 'The secret with which access tokens are signed, at least 32 bytes. Set only one of TOKEN_JWKS_URL, TOKEN_PUBLIC_KEY and TOKEN_SECRET. If none is set, and TOKEN_ISSUER is not a URL, the service generates a secret; with DATABASE_URL it does not start.', tokenSecretRule),
    algorithms: words('TOKEN_ALGORITHMS', 'The algorithms with which access tokens may be signed, separated by spaces. If not set: HS256 for TOKEN_SECRET; for public keys RS256 and PS256 (RSA), ES256, ES384 or ES512 (elliptic curves), EdDSA and Ed25519 (Ed25519).', algorithmsRule),
    issuer: optional('TOKEN_ISSUER', 'The issuer that access tokens must have in their claim iss. If no other setting names the key, the service finds the keys at this URL by OpenID Connect Discovery. If not set, every issuer is accepted.', issuerRule),
    audience: optional('TOKEN_AUDIENCE', 'The audience that access tokens must have in their claim aud. It is required if the keys are fetched from an identity provider. If not set, every audience is accepted.', audienceRule),
    scopeClaim: { ...words('TOKEN_SCOPE_CLAIM', 'The claims with the scopes, separated by spaces. The first one that the token has is read. A value that begins with / is a JSON Pointer, such as /resource_access/tablewright/roles; any other value is the name of a claim.', claimsRule), default: 'scope scp' },
    schemasClaim: optional('TOKEN_SCHEMAS_CLAIM', 'The claim with the schemas that the token may use: a name or a JSON Pointer. If set, a token without the claim may use no schema. If not set, it is the claim schemas, and a token without it may use all schemas.', claimRule),
    roleClaim: text('TOKEN_ROLE_CLAIM', 'role', 'The claim with the PostgreSQL role of the token: a name or a JSON Pointer.', claimRule),
    defaultRole: optional('TOKEN_DEFAULT_ROLE', "The PostgreSQL role of tokens that name none. If not set, their requests run as the service's own role.", roleRule),
    requireRole: flag('REQUIRE_ROLE', false, 'true: access tokens must name a PostgreSQL role, unless TOKEN_DEFAULT_ROLE is set. docs/postgresql.md describes how to set up the role that the service connects as.'),
  },
  limits: {
    maxBodyBytes: integer('MAX_BODY_BYTES', 10 * GIB, [KIB, ANY], 'bytes', 'The most bytes in the body of an upload, both before and after unpacking.'),
    maxDefinitionBytes: integer('MAX_DEFINITION_BYTES', MIB, [KIB, 256 * MIB], 'bytes', 'The most bytes of JSON in a table definition.'),
    maxUnpackedBytes: integer('MAX_UNPACKED_BYTES', 20 * GIB, [KIB, ANY], 'bytes', 'The most bytes that a workbook may have when it is unpacked.'),
    maxUnpackRatio: integer('MAX_UNPACK_RATIO', 250, [1, 1_000_000], 'unpacked bytes per packed byte', 'The most unpacked bytes for each packed byte of a workbook, of a packed file, or of a body with Content-Encoding.'),
    maxColumns: integer('MAX_COLUMNS', 1600, [1, 1600], 'columns', "The most columns of a table. PostgreSQL's own limit is 1600."),
    maxRows: integer('MAX_ROWS', 100_000_000, [1, ANY], 'rows', 'The most rows in one upload.'),
    maxCellBytes: integer('MAX_CELL_BYTES', 16 * MIB, [KIB, 256 * MIB], 'bytes', 'The most bytes in one value.'),
    // A tuple of PostgreSQL has at most 1 GiB, and PostgreSQL needs several copies of the row while it makes the tuple.
    maxRowBytes: integer('MAX_ROW_BYTES', 64 * MIB, [KIB, 512 * MIB], 'bytes', 'The most bytes in one row. It must be at least MAX_CELL_BYTES.'),
    maxWrittenBytes: integer('MAX_WRITTEN_BYTES', 100 * GIB, [KIB, ANY], 'bytes', 'The most bytes in all rows of one upload as PostgreSQL receives them, including the defaults of columns that the rows leave out.'),
    maxSharedStringBytes: integer('MAX_SHARED_STRING_BYTES', 256 * MIB, [KIB, 4 * GIB], 'bytes', 'The most bytes of memory for the shared strings of one workbook.'),
    maxFileMemoryBytes: integer('MAX_FILE_MEMORY_BYTES', 1536 * MIB, [256 * MIB, ANY], 'bytes', 'The most bytes of memory that all files take together while they are read: the shared strings of workbooks, and the processes that read .xls workbooks and Parquet files. It must be at least MAX_SHARED_STRING_BYTES. Further files wait.'),
    maxLegacyFileBytes: integer('MAX_LEGACY_FILE_BYTES', 50 * MIB, [KIB, 512 * MIB], 'bytes', 'The most bytes in an .xls workbook, because a separate process reads each .xls workbook into memory.'),
    maxLegacyReaders: integer('MAX_LEGACY_READERS', 3, [1, 1000], 'processes', 'The most processes that read .xls workbooks and Parquet files at the same time. Each may use 1.25 GiB of MAX_FILE_MEMORY_BYTES. Further uploads of such files wait.'),
    maxJsonDepth: integer('MAX_JSON_DEPTH', 128, [1, 1000], 'levels', 'The most levels of arrays and objects inside one another in one JSON value.'),
    maxUploads: integer('MAX_UPLOADS', 8, [1, 1000], 'uploads', 'The most uploads at the same time. It must be below DATABASE_POOL_SIZE. Further uploads wait.'),
    maxUploadsPerSubject: integer('MAX_UPLOADS_PER_SUBJECT', 6, [1, 1000], 'uploads', 'The most uploads at the same time with the same token subject, so that one client never uses all places. If not set, it is three quarters of MAX_UPLOADS.'),
    maxSmallUploads: integer('MAX_SMALL_UPLOADS', 6, [1, 1000], 'uploads', 'The most appends of at most 128 KiB of JSON at the same time. They do not wait for other uploads. If not set, it is half of the connections in DATABASE_POOL_SIZE that MAX_UPLOADS leaves.'),
    maxWaitingUploads: integer('MAX_WAITING_UPLOADS', 32, [0, 10_000], 'uploads', 'The most uploads that wait for others to end. Further uploads are answered with 429.'),
    uploadWaitMs: integer('UPLOAD_WAIT_MS', 10_000, [0, DAY_MS], 'ms', 'An upload that has waited this many milliseconds for others to end is answered with 429; 0 if uploads must not wait.'),
    maxQueuedLoads: integer('MAX_QUEUED_LOADS', 1000, [1, 1_000_000], 'uploads', 'The most asynchronous uploads that wait or run, of all clients. Further ones are answered with 429.'),
    maxQueuedLoadsPerSubject: integer('MAX_QUEUED_LOADS_PER_SUBJECT', 200, [1, 1_000_000], 'uploads', 'The most asynchronous uploads that wait or run with the same token subject.'),
    maxQueuedBytes: integer('MAX_QUEUED_BYTES', 100 * GIB, [KIB, ANY], 'bytes', 'The most bytes of the stored bodies of asynchronous uploads, of all clients. The disk of SPOOL_DIR should have room for them.'),
    maxQueuedBytesPerSubject: integer('MAX_QUEUED_BYTES_PER_SUBJECT', 20 * GIB, [KIB, ANY], 'bytes', 'The most bytes of the stored bodies of asynchronous uploads with the same token subject.'),
    maxRequestsPerMinute: integer('MAX_REQUESTS_PER_MINUTE', 30_000, [0, 1_000_000_000], 'requests', 'The most requests in a minute with the same token subject. Further requests are answered with 429 until the minute ends; 0 for no limit. Each process counts separately.'),
    maxAnonymousRequestsPerMinute: integer('MAX_ANONYMOUS_REQUESTS_PER_MINUTE', 1_200, [0, 1_000_000_000], 'requests', 'The most requests without a valid token in a minute from the same address (TRUST_PROXY); 0 for no limit. Health checks and the files of the console do not count. Requests with a valid token are never refused because of their address.'),
    bodyIdleTimeoutMs: integer('BODY_IDLE_TIMEOUT_MS', 30_000, [1000, DAY_MS], 'ms', 'The longest pause in milliseconds that a client may make in the middle of a body.'),
    minBodyBytesPerSecond: integer('MIN_BODY_BYTES_PER_SECOND', KIB, [0, GIB], 'bytes per second', 'The fewest bytes per second that a client must send while the service waits for it. This is checked once in each BODY_IDLE_TIMEOUT_MS; 0 for no limit.'),
    minBusyBodyBytesPerSecond: integer('MIN_BUSY_BODY_BYTES_PER_SECOND', 16 * KIB, [0, GIB], 'bytes per second', 'The fewest bytes per second, averaged over the whole body, while other requests wait for this one to end; 0 for no limit.'),
  },
};

type Declared = typeof declared;
type ValuesOf<Part> = {
  [Key in keyof Part]: Part[Key] extends Setting<string, infer Value> ? Value : ValuesOf<Part[Key]>;
};
type NamesOf<Part> = {
  [Key in keyof Part]: Part[Key] extends Setting<infer Name> ? Name : NamesOf<Part[Key]>;
}[keyof Part];

export type Config = ValuesOf<Declared>;
export type LimitsConfig = Config['limits'];
export type SettingName = NamesOf<Declared>;

/** The limits, by their names in `Config`. */
export const limitSettings: Record<keyof LimitsConfig, Setting<SettingName, number>> = declared.limits;

/** All settings, in the order of `.env.example`. */
export const settings: readonly Setting<SettingName>[] = settingsIn(declared);

function settingsIn(part: object): Setting<SettingName>[] {
  return Object.values(part).flatMap((value) => ('name' in value ? [value] : settingsIn(value)));
}

/** Reads the settings. An empty value counts as absent. @throws ConfigError with all errors */
export function readConfig(environment: Environment): Config {
  const errors: string[] = [];
  const config = valuesOf(declared, environment, errors) as Config;
  if (!environment.MAX_UPLOADS_PER_SUBJECT?.trim()) {
    config.limits.maxUploadsPerSubject = Math.max(1, Math.floor(config.limits.maxUploads * 0.75));
  }
  if (!environment.MAX_SMALL_UPLOADS?.trim()) {
    const left = config.database.poolSize - config.limits.maxUploads;
    config.limits.maxSmallUploads = Math.max(1, Math.floor(left / 2));
  }
  checkTogether(config, environment, errors);
  if (errors.length > 0) throw new ConfigError(errors);
  return config;
}

function valuesOf(part: object, environment: Environment, errors: string[]): object {
  const values = Object.entries(part).map(([key, value]): [string, unknown] => [
    key,
    'name' in value ? readSetting(value, environment, errors) : valuesOf(value, environment, errors),
  ]);
  return Object.fromEntries(values);
}

function readSetting(setting: Setting, environment: Environment, errors: string[]): unknown {
  const { name, rule, example, isSecret } = setting;
  const value = environment[name]?.trim() || undefined;
  if (value === undefined || setting.fits(value)) return setting.parse(value ?? setting.default);
  const found = isSecret ? '' : `, not ${JSON.stringify(value)}`;
  errors.push(`${name} must be ${rule}${found}; for example ${example}`);
  return setting.parse(setting.default);
}

function checkTogether(config: Config, environment: Environment, errors: string[]): void {
  const { database, limits, tokens } = config;
  const urlProblem = database.url && databaseUrlProblem(database.url);
  if (urlProblem) errors.push(`DATABASE_URL ${urlProblem}`);
  const values = { ...tokens, ...keysIn(environment) };
  errors.push(...tokenSettingErrors(values));
  if (environment.DATABASE_URL?.trim() && needsGeneratedSecret(values)) {
    errors.push(
      `TOKEN_SECRET, TOKEN_PUBLIC_KEY, TOKEN_JWKS_URL or the URL of an identity provider in TOKEN_ISSUER is needed if DATABASE_URL is set (only the embedded PostgreSQL has a generated secret); for example TOKEN_SECRET with ${declared.tokens.secret.example}`,
    );
  }
  if (config.console.oidcClientId !== undefined && !isSafeKeyUrl(tokens.issuer ?? '')) {
    errors.push(
      `TOKEN_ISSUER must be the URL of the identity provider if CONSOLE_OIDC_CLIENT_ID is set; for example ${issuerRule.example}`,
    );
  }
  if (limits.maxRowBytes < limits.maxCellBytes) {
    errors.push(
      `MAX_ROW_BYTES must be at least MAX_CELL_BYTES, which is ${limits.maxCellBytes}, not ${limits.maxRowBytes}; for example ${limits.maxCellBytes * 2}`,
    );
  }
  if (limits.maxFileMemoryBytes < limits.maxSharedStringBytes) {
    errors.push(
      `MAX_FILE_MEMORY_BYTES must be at least MAX_SHARED_STRING_BYTES, which is ${limits.maxSharedStringBytes}, not ${limits.maxFileMemoryBytes}; for example ${limits.maxSharedStringBytes * 2}`,
    );
  }
  // Otherwise uploads could use every connection, and none would be left for short requests.
  if (database.poolSize <= limits.maxUploads) {
    errors.push(
      `DATABASE_POOL_SIZE must be above MAX_UPLOADS, which is ${limits.maxUploads}, not ${database.poolSize}; for example ${limits.maxUploads + 4}`,
    );
  }
}

/** Returns the settings that contain keys, as they are in the environment. They are read here again, because a key with an error of its own must not seem to be missing. */
function keysIn(environment: Environment) {
  const textOf = (name: SettingName) => environment[name]?.trim() || undefined;
  return {
    jwksUrl: textOf('TOKEN_JWKS_URL'),
    publicKey: textOf('TOKEN_PUBLIC_KEY'),
    secret: textOf('TOKEN_SECRET'),
  };
}

function text<const Name extends string>(
  name: Name,
  byDefault: string,
  purpose: string,
  { fits = fitsAlways, ...rule }: TextRule,
): Setting<Name, string> {
  return { name, purpose, default: byDefault, fits, parse: (value) => value!, ...rule };
}

function optional<const Name extends string>(
  name: Name,
  purpose: string,
  { fits = fitsAlways, ...rule }: TextRule,
): Setting<Name, string | undefined> {
  return { name, purpose, default: undefined, fits, parse: (value) => value, ...rule };
}

function words<const Name extends string>(
  name: Name,
  purpose: string,
  { fits = fitsAlways, ...rule }: TextRule,
): Setting<Name, string[]> {
  const parse = (value = '') => value.split(/ +/).filter((word) => word !== '');
  return { name, purpose, default: undefined, fits, parse, ...rule };
}

function oneOf<const Name extends string>(
  name: Name,
  byDefault: string,
  values: string[],
  purpose: string,
): Setting<Name, string> {
  const fits = (value: string) => values.includes(value);
  return text(name, byDefault, purpose, { rule: `one of ${values.join(', ')}`, example: byDefault, fits });
}

function flag<const Name extends string>(
  name: Name,
  byDefault: boolean,
  purpose: string,
): Setting<Name, boolean> {
  const setting = oneOf(name, String(byDefault), ['false', 'true'], purpose);
  return { ...setting, parse: (value) => value === 'true' };
}

function onOff<const Name extends string>(
  name: Name,
  byDefault: 'on' | 'off',
  purpose: string,
): Setting<Name, boolean> {
  const setting = oneOf(name, byDefault, ['on', 'off'], purpose);
  return { ...setting, parse: (value) => value === 'on' };
}

function integer<const Name extends string>(
  name: Name,
  byDefault: number,
  [min, max]: [min: number, max: number],
  unit: string,
  purpose: string,
): Setting<Name, number> {
  return {
    name,
    purpose,
    unit,
    default: String(byDefault),
    rule: `a whole number from ${min} to ${max}`,
    example: String(byDefault),
    fits: (value) => /^\d{1,16}$/.test(value) && Number(value) >= min && Number(value) <= max,
    parse: Number,
  };
}

/** Returns whether the value is a valid name of a claim or a valid JSON Pointer. Without a slash at its beginning it is a name, whatever characters it has, because names of claims are often URLs. */
function isClaim(value: string): boolean {
  return !value.startsWith('/') || !/~(?![01])/.test(value);
}

function areFunctions(value: string): boolean {
  return /^[\w$]+(\.[\w$]+)?( +[\w$]+(\.[\w$]+)?)*$/.test(value);
}

/** Returns whether the value is a number of proxies, or a list of addresses and networks. */
function areProxies(value: string): boolean {
  return /^([1-9]|10)$/.test(value) || areNetworks(value);
}

function areNetworks(value: string): boolean {
  return value.split(/ +/).every(isNetwork);
}

function isNetwork(value: string): boolean {
  const [address = '', prefix] = value.split(/\/(.*)/s, 2);
  const family = isIP(address);
  if (family === 0 || address.includes('%')) return false;
  return prefix === undefined || (/^\d{1,3}$/.test(prefix) && Number(prefix) <= (family === 4 ? 32 : 128));
}

function areOrigins(value: string): boolean {
  return value === '*' || value.split(/ +/).every(isOrigin);
}

/**
 * Returns whether the value is an origin as a browser sends it: in lower case, without a path and without the scheme's default
 * port.
 */
function isOrigin(value: string): boolean {
  return /^https?:/.test(value) && URL.parse(value)?.origin === value;
}

function isHost(value: string): boolean {
  return isIP(value) !== 0 || /^(?!\d+(\.\d+)*$)[a-z0-9]([a-z0-9.-]*[a-z0-9])?$/i.test(value);
}
