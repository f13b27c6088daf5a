/**
 * TLS to PostgreSQL, as the parameters of DATABASE_URL say. Their names and meanings are those of libpq (PostgreSQL 34.1.2 and
 * 34.19), with stricter modes (docs/decisions/0019-verified-tls.md).
 */
import { readFileSync } from 'node:fs';
import { type ConnectionOptions, getCACertificates } from 'node:tls';
import type { ClientConfig } from 'pg';
import { tlsParameters } from '../core/settings/database-url.ts';

/** Reports that a file named by a parameter of DATABASE_URL cannot be read. */
class TlsFileError extends Error {
  readonly code = 'ERR_TLS_FILE';
}

/**
 * Returns the options of `pg` for a connection. It reads the files anew each time, so certificates can be renewed while the service
 * runs. The files are small and local.
 *
 * @throws TlsFileError
 */
export function connectionOptions(databaseUrl: string): ClientConfig {
  const url = new URL(databaseUrl);
  const given = new Map(tlsParameters.map((name) => [name, url.searchParams.get(name) || undefined]));
  for (const name of tlsParameters) url.searchParams.delete(name);
  const ssl = tlsOptions(given);
  const sslnegotiation = given.get('sslnegotiation') as ClientConfig['sslnegotiation'];
  return {
    // A URL without these parameters is passed on unchanged, because URLSearchParams could change how its other parameters are written.
    connectionString: [...given.values()].some((value) => value !== undefined) ? url.href : databaseUrl,
    ...(ssl !== undefined && { ssl }),
    ...(sslnegotiation && { sslnegotiation }),
  };
}

type Given = Map<string, string | undefined>;

/** Returns the options of a TLS connection; false: no TLS; undefined: the URL has no parameter for TLS. */
function tlsOptions(given: Given): ConnectionOptions | false | undefined {
  const mode = given.get('sslmode');
  if (mode === 'disable') return false;
  if ([...given.values()].every((value) => value === undefined)) return undefined;
  const rootCertificates = given.get('sslrootcert');
  const minVersion = given.get('ssl_min_protocol_version') as ConnectionOptions['minVersion'];
  const maxVersion = given.get('ssl_max_protocol_version') as ConnectionOptions['maxVersion'];
  const [cert, key, passphrase] = [given.get('sslcert'), given.get('sslkey'), given.get('sslpassword')];
  return {
    ...(rootCertificates && { ca: readAuthorities(rootCertificates) }),
    ...(cert && { cert: readFile('sslcert', cert) }),
    ...(key && { key: readFile('sslkey', key) }),
    ...(passphrase && { passphrase }),
    ...(minVersion && { minVersion }),
    ...(maxVersion && { maxVersion }),
    ...verification(mode, rootCertificates !== undefined, given.get('uselibpqcompat') === 'true'),
  };
}

/** Returns the options that switch off parts of the verification, depending on `sslmode`. By default Node.js verifies the certificate authority and the host name. */
function verification(mode: string | undefined, hasAuthority: boolean, asLibpq: boolean): ConnectionOptions {
  const nothing = { rejectUnauthorized: false };
  const authorityOnly = { checkServerIdentity: () => undefined };
  if (mode === 'no-verify') return nothing;
  if (mode === 'verify-ca' && hasAuthority) return authorityOnly;
  if (!asLibpq) return {};
  if (mode === 'require') return hasAuthority ? authorityOnly : nothing;
  return mode === 'prefer' || mode === 'allow' ? nothing : {};
}

function readAuthorities(path: string): string | string[] {
  return path === 'system' ? getCACertificates('system') : readFile('sslrootcert', path);
}

function readFile(parameter: string, path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    throw new TlsFileError(
      `the file that ${parameter} of DATABASE_URL names cannot be read: ${(error as Error).message}`,
    );
  }
}
