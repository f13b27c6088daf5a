/**
 * Every setting: its name in the environment, its default and its check, in the table below. All faults are told at
 * once. `.env.example` explains each; a test keeps the two equal.
 */

import { isIP } from 'node:net';
import { databaseUrlFault } from './database-url.ts';

export interface Config {
  logLevel: string;
  /** Where the embedded PostgreSQL and the generated secrets are. */
  dataDir: string;
  http: HttpConfig;
  database: DatabaseConfig;
  tokens: TokenConfig;
  limits: LimitsConfig;
}

export interface HttpConfig {
  host: string;
  /** 0: any free one. */
  port: number;
  /** Origins of web pages that may call the service; `*`: every origin. */
  corsOrigins: string[];
  /** How long running requests may take to end when the service stops. */
  stopTimeoutMs: number;
}

export interface DatabaseConfig {
  /** undefined: the embedded PostgreSQL. */
  url: string | undefined;
  poolSize: number;
  /** 0: none. */
  statementTimeoutMs: number;
  /** 0: none. */
  lockTimeoutMs: number;
  /** What a default may call beside the built-in functions: `name` or `schema.name`. */
  defaultFunctions: string[];
}

export interface TokenConfig {
  /** Of HS256 (RFC 7518 section 3.2); undefined: the one generated in the data folder, with the embedded PostgreSQL only. */
  secret: string | undefined;
  issuer: string | undefined;
  audience: string | undefined;
  /** Tokens must name a PostgreSQL role. */
  requireRole: boolean;
}

/** What tokens are verified with, and signed in development. */
export interface TokenSettings {
  secret: Buffer;
  issuer: string | undefined;
  audience: string | undefined;
}

export interface LimitsConfig {
  /** Of an upload's request. */
  maxBodyBytes: number;
  /** Of a JSON table definition. */
  maxDefinitionBytes: number;
  /** Of a workbook's parts together, unpacked. */
  maxUnpackedBytes: number;
  /** Unpacked bytes for each packed byte of a workbook's part. */
  maxUnpackRatio: number;
  maxColumns: number;
  maxRows: number;
  maxCellBytes: number;
  /** Of a workbook's shared strings, which are held in memory. */
  maxSharedStringBytes: number;
  /** The limit for an .xls file, which a separate process reads whole. */
  maxLegacyFileBytes: number;
  /** Processes that read .xls files at the same time; others wait. */
  maxLegacyReaders: number;
  /** Levels of arrays and objects within a JSON value. */
  maxJsonDepth: number;
  /** Open at the same time. */
  maxUploads: number;
  /** Open at the same time, of the same token subject. */
  maxUploadsPerSubject: number;
  /** Waiting for one of these to end. */
  maxWaitingUploads: number;
  /** How long an upload waits for another one to end; 0: it does not. */
  uploadWaitMs: number;
  /** The longest pause of a client in the middle of its body. */
  bodyIdleTimeoutMs: number;
  /** Of a client that is waited for; 0: none. */
  minBodyBytesPerSecond: number;
  /** The lowest rate over the whole body while other uploads wait for a place. */
  minBusyBodyBytesPerSecond: number;
}

export type Environment = Record<string, string | undefined>;

/** One message that lists every fault: for the person who starts the service, no stack needed. */
export class ConfigError extends Error {
  readonly faults: string[];

  constructor(faults: string[]) {
    super(`The settings are not valid:\n${faults.map((fault) => `  ${fault}`).join('\n')}`);
    this.name = 'ConfigError';
    this.faults = faults;
  }
}

interface Setting {
  /** As it would be written in the environment; undefined: none. */
  default: string | undefined;
  example: string;
  /** What it must be, as the end of "must be …". */
  rule: string;
  fits: (value: string) => boolean;
  /** Its value is not repeated in a message. */
  isSecret?: boolean;
}

const KIB = 1024;
const MIB = 1024 * KIB;
const GIB = 1024 * MIB;
const DAY_MS = 86_400_000;
const minSecretBytes = 32;

export const settings = {
  HOST: text('127.0.0.1', 'an IP address or a host name', '0.0.0.0', isHost),
  PORT: integer(8080, 0, 65_535),
  CORS_ORIGINS: text(
    undefined,
    'origins (scheme://host or scheme://host:port) separated by spaces, or *',
    'https://app.example.com http://localhost:3000',
    (value) => value === '*' || value.split(/ +/).every(isOrigin),
  ),
  STOP_TIMEOUT_MS: integer(5000, 0, DAY_MS),
  LOG_LEVEL: oneOf('info', ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent']),
  DATA_DIR: text('.tablewright', 'a path', '/var/lib/tablewright-data', (value) => !value.includes('\0')),

  DATABASE_URL: secret(
    'a PostgreSQL URL',
    'postgresql://user:password@localhost:5432/database',
    // `databaseUrlFault` says more than one rule could.
    () => true,
  ),
  DATABASE_POOL_SIZE: integer(20, 2, 1000),
  STATEMENT_TIMEOUT_MS: integer(600_000, 0, DAY_MS),
  LOCK_TIMEOUT_MS: integer(10_000, 0, DAY_MS),
  DEFAULT_FUNCTIONS: text(
    undefined,
    'names of functions separated by spaces',
    'app.next_number my_id',
    (value) => /^[\w$]+(\.[\w$]+)?( +[\w$]+(\.[\w$]+)?)*$/.test(value),
  ),

  TOKEN_SECRET: secret(
    `at least ${minSecretBytes} bytes`,
    'the output of "openssl rand -base64 32"',
    (value) => Buffer.byteLength(value) >= minSecretBytes,
  ),
  TOKEN_ISSUER: text(undefined, 'the `iss` of the tokens', 'https://login.example.com/'),
  TOKEN_AUDIENCE: text(undefined, 'the `aud` of the tokens', 'tablewright'),
  REQUIRE_ROLE: oneOf('false', ['false', 'true']),

  MAX_BODY_BYTES: integer(10 * GIB, KIB, Number.MAX_SAFE_INTEGER),
  MAX_DEFINITION_BYTES: integer(MIB, KIB, 256 * MIB),
  MAX_UNPACKED_BYTES: integer(20 * GIB, KIB, Number.MAX_SAFE_INTEGER),
  MAX_UNPACK_RATIO: integer(250, 1, 1_000_000),
  // PostgreSQL's own limit (appendix K).
  MAX_COLUMNS: integer(1600, 1, 1600),
  MAX_ROWS: integer(100_000_000, 1, Number.MAX_SAFE_INTEGER),
  MAX_CELL_BYTES: integer(16 * MIB, KIB, 256 * MIB),
  MAX_SHARED_STRING_BYTES: integer(256 * MIB, KIB, 4 * GIB),
  MAX_LEGACY_FILE_BYTES: integer(50 * MIB, KIB, 512 * MIB),
  MAX_LEGACY_READERS: integer(2, 1, 1000),
  MAX_JSON_DEPTH: integer(128, 1, 1000),
  MAX_UPLOADS: integer(8, 1, 1000),
  MAX_UPLOADS_PER_SUBJECT: integer(6, 1, 1000),
  MAX_WAITING_UPLOADS: integer(32, 0, 10_000),
  UPLOAD_WAIT_MS: integer(10_000, 0, DAY_MS),
  BODY_IDLE_TIMEOUT_MS: integer(30_000, 1000, DAY_MS),
  MIN_BODY_BYTES_PER_SECOND: integer(KIB, 0, GIB),
  MIN_BUSY_BODY_BYTES_PER_SECOND: integer(16 * KIB, 0, GIB),
} satisfies Record<string, Setting>;

/** Reads the settings; an empty value counts as absent. Throws `ConfigError` with all faults. */
export function readConfig(environment: Environment): Config {
  const faults: string[] = [];

  const read = (name: keyof typeof settings): string | undefined => {
    const setting: Setting = settings[name];
    const value = environment[name]?.trim() || undefined;
    if (value === undefined) return setting.default;
    if (!setting.fits(value)) {
      const found = setting.isSecret ? '' : `, not ${JSON.stringify(value)}`;
      faults.push(`${name} must be ${setting.rule}${found}; for example ${setting.example}`);
      return setting.default;
    }
    return value;
  };
  const number = (name: keyof typeof settings) => Number(read(name));

  const config: Config = {
    logLevel: read('LOG_LEVEL')!,
    dataDir: read('DATA_DIR')!,
    http: {
      host: read('HOST')!,
      port: number('PORT'),
      corsOrigins: words(read('CORS_ORIGINS')),
      stopTimeoutMs: number('STOP_TIMEOUT_MS'),
    },
    database: {
      url: read('DATABASE_URL'),
      poolSize: number('DATABASE_POOL_SIZE'),
      statementTimeoutMs: number('STATEMENT_TIMEOUT_MS'),
      lockTimeoutMs: number('LOCK_TIMEOUT_MS'),
      defaultFunctions: words(read('DEFAULT_FUNCTIONS')),
    },
    tokens: {
      secret: read('TOKEN_SECRET'),
      issuer: read('TOKEN_ISSUER'),
      audience: read('TOKEN_AUDIENCE'),
      requireRole: read('REQUIRE_ROLE') === 'true',
    },
    limits: {
      maxBodyBytes: number('MAX_BODY_BYTES'),
      maxDefinitionBytes: number('MAX_DEFINITION_BYTES'),
      maxUnpackedBytes: number('MAX_UNPACKED_BYTES'),
      maxUnpackRatio: number('MAX_UNPACK_RATIO'),
      maxColumns: number('MAX_COLUMNS'),
      maxRows: number('MAX_ROWS'),
      maxCellBytes: number('MAX_CELL_BYTES'),
      maxSharedStringBytes: number('MAX_SHARED_STRING_BYTES'),
      maxLegacyFileBytes: number('MAX_LEGACY_FILE_BYTES'),
      maxLegacyReaders: number('MAX_LEGACY_READERS'),
      maxJsonDepth: number('MAX_JSON_DEPTH'),
      maxUploads: number('MAX_UPLOADS'),
      maxUploadsPerSubject: number('MAX_UPLOADS_PER_SUBJECT'),
      maxWaitingUploads: number('MAX_WAITING_UPLOADS'),
      uploadWaitMs: number('UPLOAD_WAIT_MS'),
      bodyIdleTimeoutMs: number('BODY_IDLE_TIMEOUT_MS'),
      minBodyBytesPerSecond: number('MIN_BODY_BYTES_PER_SECOND'),
      minBusyBodyBytesPerSecond: number('MIN_BUSY_BODY_BYTES_PER_SECOND'),
    },
  };
  checkTogether(config, environment, faults);
  if (faults.length > 0) throw new ConfigError(faults);
  return config;
}

function checkTogether(config: Config, environment: Environment, faults: string[]): void {
  const { database, limits } = config;
  const urlFault = database.url && databaseUrlFault(database.url);
  if (urlFault) faults.push(`DATABASE_URL ${urlFault}`);
  if (environment.DATABASE_URL?.trim() && !environment.TOKEN_SECRET?.trim()) {
    faults.push(
      `TOKEN_SECRET is needed where DATABASE_URL is set (only the embedded PostgreSQL comes with a generated one); for example ${settings.TOKEN_SECRET.example}`,
    );
  }
  // Uploads that held every connection would leave none for a health check or a short request.
  if (database.poolSize <= limits.maxUploads) {
    faults.push(
      `DATABASE_POOL_SIZE must be above MAX_UPLOADS, which is ${limits.maxUploads}, not ${database.poolSize}; for example ${limits.maxUploads + 4}`,
    );
  }
}

function text(
  byDefault: string | undefined,
  rule: string,
  example: string,
  fits: (value: string) => boolean = () => true,
): Setting {
  return { default: byDefault, rule, example, fits };
}

function secret(rule: string, example: string, fits: (value: string) => boolean): Setting {
  return { default: undefined, rule, example, fits, isSecret: true };
}

function oneOf(byDefault: string, values: string[]): Setting {
  return {
    default: byDefault,
    rule: `one of ${values.join(', ')}`,
    example: byDefault,
    fits: (value) => values.includes(value),
  };
}

function integer(byDefault: number, min: number, max: number): Setting {
  return {
    default: String(byDefault),
    rule: `a whole number from ${min} to ${max}`,
    example: String(byDefault),
    fits: (value) => /^\d{1,16}$/.test(value) && Number(value) >= min && Number(value) <= max,
  };
}

function words(value = ''): string[] {
  return value.split(/ +/).filter((word) => word !== '');
}

/** An origin as a browser sends it: in lower case, without a path and without the scheme's own port. */
function isOrigin(value: string): boolean {
  return /^https?:/.test(value) && URL.parse(value)?.origin === value;
}

function isHost(value: string): boolean {
  return isIP(value) !== 0 || /^(?!\d+(\.\d+)*$)[a-z0-9]([a-z0-9.-]*[a-z0-9])?$/i.test(value);
}
