/** Checks DATABASE_URL. `postgres/tls.ts` interprets its parameters for TLS. */

const sslModes = ['disable', 'allow', 'prefer', 'require', 'verify-ca', 'verify-full', 'no-verify'];

const protocolVersions = ['TLSv1', 'TLSv1.1', 'TLSv1.2', 'TLSv1.3'];

/** The parameters of libpq for TLS that the service understands, and `uselibpqcompat` of the driver. */
export const tlsParameters = [
  ...['sslmode', 'sslnegotiation', 'sslrootcert', 'sslcert', 'sslkey', 'sslpassword', 'uselibpqcompat'],
  ...['ssl_min_protocol_version', 'ssl_max_protocol_version'],
];

/** To ignore these parameters of libpq would make the connection less safe than the URL says. */
const refusedParameters = ['sslcrl', 'sslcrldir', 'requirepeer', 'gssencmode'];

/** Returns what is wrong with the URL, as the end of "DATABASE_URL …". It repeats no part of the URL, which contains a password. */
export function databaseUrlProblem(text: string): string | undefined {
  // RFC 3986 section 3.2: the authority ends with the first of these.
  const [, authority = '', rest = ''] = /^[a-z]+:\/\/([^/?#]*)(.*)$/is.exec(text) ?? [];
  const host = authority.slice(authority.lastIndexOf('@') + 1);
  if (host.includes(',')) {
    return 'names more than one host. Name one host, or a proxy that leads to the server that accepts writes';
  }
  const url = URL.parse(text);
  // An "@" after the authority means that the text before it belongs to the user name or the password.
  if (/^[^?]*@/.test(rest) || (url === null && rest.includes('@'))) {
    return 'has a character in its user name or password that must be percent-encoded: write / as %2F, ? as %3F, # as %23, @ as %40, : as %3A and % as %25';
  }
  if (!/^postgres(ql)?:$/.test(url?.protocol ?? '')) {
    return 'must be a PostgreSQL URL; for example postgresql://user:password@localhost:5432/database';
  }
  return tlsProblem(url!.searchParams);
}

function tlsProblem(parameters: URLSearchParams): string | undefined {
  const isNoneOf = (name: string, values: string[]) =>
    parameters.get(name) && !values.includes(parameters.get(name)!)
      ? `has an ${name} that is not one of ${values.join(', ')}`
      : undefined;
  const refused = refusedParameters.find((name) => parameters.get(name));
  if (refused !== undefined) return `has the parameter ${refused}, which the service does not support`;
  const wrong =
    isNoneOf('sslmode', sslModes) ??
    isNoneOf('sslnegotiation', ['postgres', 'direct']) ??
    isNoneOf('ssl_min_protocol_version', protocolVersions) ??
    isNoneOf('ssl_max_protocol_version', protocolVersions);
  if (wrong !== undefined) return wrong;
  const [hasCertificate, hasKey] = ['sslcert', 'sslkey'].map((name) => Boolean(parameters.get(name)));
  if (hasCertificate !== hasKey) return 'must have both sslcert and sslkey for a client certificate';
  const isWithoutTls = ['', 'disable'].includes(parameters.get('sslmode') ?? '');
  if (isWithoutTls && parameters.get('sslnegotiation') === 'direct')
    return 'has sslnegotiation=direct, which needs an sslmode with TLS';
  return undefined;
}
