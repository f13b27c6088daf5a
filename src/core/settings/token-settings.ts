/** Interprets the settings of access tokens together: which key verifies them, with which algorithms, and where their claims are. */
import type { KeyObject } from 'node:crypto';
import { looksLikeKey, providerAlgorithms, publicKeyAlgorithms, readPublicKey } from './public-key.ts';

/** The values of the settings, as config.ts declares them. */
export interface TokenValues {
  jwksUrl: string | undefined;
  publicKey: string | undefined;
  secret: string | undefined;
  algorithms: string[];
  issuer: string | undefined;
  audience: string | undefined;
  scopeClaim: string[];
  schemasClaim: string | undefined;
  roleClaim: string;
  defaultRole: string | undefined;
}

/** The settings with which tokens are verified and, in development, signed. */
export interface TokenSettings {
  source: KeySource;
  algorithms: string[];
  issuer: string | undefined;
  audience: string | undefined;
  claims: ClaimSettings;
}

export type KeySource =
  | { kind: 'secret'; secret: Buffer }
  | { kind: 'public-key'; key: KeyObject }
  /** The keys of an identity provider. Without `jwksUrl`, the discovery document of the issuer (OpenID Connect Discovery) has their URL. */
  | { kind: 'provider'; jwksUrl: string | undefined };

/** The names of the claims: each is a name, or a JSON Pointer (RFC 6901), which begins with `/`. */
export interface ClaimSettings {
  /** The names of claims for scopes. The first of these claims that a token has is used. */
  scope: string[];
  schemas: string;
  /** Whether a token without the claim may use no schema, instead of all. */
  schemasRequired: boolean;
  role: string;
  defaultRole: string | undefined;
}

const defaultSchemasClaim = 'schemas';
export const minSecretBytes = 32;

/** The minimum length of a secret in bytes for each algorithm: the size of its hash (RFC 7518 section 3.2). */
const minBytesByAlgorithm: Record<string, number> = { HS256: 32, HS384: 48, HS512: 64 };
const secretAlgorithms = Object.keys(minBytesByAlgorithm);

export const tokenAlgorithms = [...secretAlgorithms, ...publicKeyAlgorithms];

/** Returns the settings of tokens. @param generatedSecret is asked for the secret if no setting names a key */
export async function toTokenSettings(
  values: TokenValues,
  generatedSecret: () => Promise<string>,
): Promise<TokenSettings> {
  const { issuer, audience, algorithms } = values;
  const source = (await keySource(values)) ?? {
    kind: 'secret',
    secret: Buffer.from(await generatedSecret()),
  };
  return {
    source,
    algorithms: algorithms.length > 0 ? algorithms : algorithmsOf(values).byDefault,
    issuer,
    audience,
    claims: claimSettings(values),
  };
}

async function keySource({
  jwksUrl,
  publicKey,
  secret,
  issuer,
}: TokenValues): Promise<KeySource | undefined> {
  if (secret !== undefined) return { kind: 'secret', secret: Buffer.from(secret) };
  if (publicKey !== undefined) {
    const read = readPublicKey(publicKey);
    if ('problem' in read) throw new Error(`TOKEN_PUBLIC_KEY ${read.problem}.`);
    return { kind: 'public-key', key: read.key };
  }
  return jwksUrl !== undefined || isUrl(issuer) ? { kind: 'provider', jwksUrl } : undefined;
}

function claimSettings(values: TokenValues): ClaimSettings {
  return {
    scope: values.scopeClaim,
    schemas: values.schemasClaim ?? defaultSchemasClaim,
    schemasRequired: values.schemasClaim !== undefined,
    role: values.roleClaim,
    defaultRole: values.defaultRole,
  };
}

/** Returns whether the service generates the secret itself. Only a service with the embedded PostgreSQL may do so. */
export function needsGeneratedSecret({ jwksUrl, publicKey, secret, issuer }: TokenValues): boolean {
  return jwksUrl === undefined && publicKey === undefined && secret === undefined && !isUrl(issuer);
}

/** Returns every error that concerns several settings of tokens, or the content of a key. */
export function tokenSettingErrors(values: TokenValues): string[] {
  return [...keyErrors(values), ...providerErrors(values), ...algorithmErrors(values)];
}

function keyErrors({ jwksUrl, publicKey, secret }: TokenValues): string[] {
  const errors: string[] = [];
  const keys = { TOKEN_JWKS_URL: jwksUrl, TOKEN_PUBLIC_KEY: publicKey, TOKEN_SECRET: secret };
  const names = Object.entries(keys).flatMap(([name, value]) => (value === undefined ? [] : [name]));
  if (names.length > 1) {
    errors.push(
      `${inWords(names)} are set, but only one of them may be: each says with which key tokens are verified`,
    );
  }
  const read = publicKey === undefined ? undefined : readPublicKey(publicKey);
  if (read !== undefined && 'problem' in read) errors.push(`TOKEN_PUBLIC_KEY ${read.problem}`);
  // A public key is known to everybody. If it were used as a shared secret, everybody could sign tokens.
  if (secret !== undefined && looksLikeKey(secret)) {
    errors.push('TOKEN_SECRET is a key in PEM or JWK form. Set TOKEN_PUBLIC_KEY instead, to a public key');
  }
  return errors;
}

function providerErrors({ jwksUrl, publicKey, secret, issuer, audience }: TokenValues): string[] {
  if (secret !== undefined || publicKey !== undefined) return [];
  const errors: string[] = [];
  if (jwksUrl === undefined) {
    if (!isUrl(issuer)) return [];
    if (!isSafeUrl(issuer!)) {
      errors.push(
        `TOKEN_ISSUER must be an https URL without a query if no other setting names the key, because the keys are then found at this address (OpenID Connect Discovery). Set TOKEN_JWKS_URL, TOKEN_PUBLIC_KEY or TOKEN_SECRET for another issuer`,
      );
    }
  } else if (issuer === undefined) {
    errors.push(
      'TOKEN_ISSUER is needed with TOKEN_JWKS_URL, because some identity providers sign the tokens of all their customers with the same keys',
    );
  }
  if (audience === undefined) {
    errors.push(
      `TOKEN_AUDIENCE is needed with ${jwksUrl === undefined ? 'OpenID Connect Discovery (TOKEN_ISSUER without a key)' : 'TOKEN_JWKS_URL'}, because the identity provider also issues tokens for other services; for example tablewright`,
    );
  }
  return errors;
}

function algorithmErrors(values: TokenValues): string[] {
  const { algorithms, secret } = values;
  const { setting, possible } = algorithmsOf(values);
  const wrong = algorithms.filter(
    (algorithm) => tokenAlgorithms.includes(algorithm) && !possible.includes(algorithm),
  );
  if (wrong.length > 0) {
    return [
      `TOKEN_ALGORITHMS has ${inWords(wrong)}, but the key of ${setting} allows only ${inWords(possible)}`,
    ];
  }
  const bytes = secret === undefined ? Number.POSITIVE_INFINITY : Buffer.byteLength(secret);
  const weak = algorithms.filter((algorithm) => bytes < (minBytesByAlgorithm[algorithm] ?? 0));
  return weak.map(
    (algorithm) => `TOKEN_SECRET must be at least ${minBytesByAlgorithm[algorithm]} bytes for ${algorithm}`,
  );
}

interface AlgorithmsOfKey {
  /** The setting that names the key. */
  setting: string;
  possible: string[];
  byDefault: string[];
}

function algorithmsOf({ jwksUrl, publicKey, secret, issuer }: TokenValues): AlgorithmsOfKey {
  if (publicKey !== undefined) {
    const read = readPublicKey(publicKey);
    // The error about the key itself is reported, so there is no further error about its algorithms.
    if ('problem' in read) return { setting: 'TOKEN_PUBLIC_KEY', possible: tokenAlgorithms, byDefault: [] };
    return { setting: 'TOKEN_PUBLIC_KEY', possible: read.possible, byDefault: read.byDefault };
  }
  if (secret === undefined && (jwksUrl !== undefined || isUrl(issuer))) {
    const setting = jwksUrl === undefined ? 'TOKEN_ISSUER' : 'TOKEN_JWKS_URL';
    return { setting, possible: publicKeyAlgorithms, byDefault: providerAlgorithms };
  }
  return { setting: 'TOKEN_SECRET', possible: secretAlgorithms, byDefault: ['HS256'] };
}

function isUrl(value: string | undefined): boolean {
  return value !== undefined && /^https?:/i.test(value) && URL.canParse(value);
}

/**
 * Returns whether keys may be fetched from the URL: it is an https URL, or an http URL of this machine, and has no user and no
 * fragment.
 */
export function isSafeKeyUrl(value: string): boolean {
  const url = URL.parse(value);
  if (url === null || url.username !== '' || url.password !== '' || url.hash !== '') return false;
  return url.protocol === 'https:' || (url.protocol === 'http:' && isLoopback(url.hostname));
}

function isSafeUrl(issuer: string): boolean {
  return isSafeKeyUrl(issuer) && !issuer.includes('?');
}

/** @param host as `URL` has it: in lower case, an IPv4 address with four numbers, an IPv6 address in brackets */
function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '[::1]' || /^127\.\d+\.\d+\.\d+$/.test(host);
}

function inWords(names: string[]): string {
  return names.length < 2 ? names.join() : `${names.slice(0, -1).join(', ')} and ${names.at(-1)}`;
}
