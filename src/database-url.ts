/**
 * Checks DATABASE_URL and interprets its `sslmode`.
 *
 * The modes are those of PostgreSQL's libpq (34.19), but stricter: every mode with TLS verifies the certificate of the server, except
 * `no-verify`.
 */

const sslModes = ['disable', 'allow', 'prefer', 'require', 'verify-ca', 'verify-full', 'no-verify'];

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
  const mode = url!.searchParams.get('sslmode');
  if (mode !== null && !sslModes.includes(mode))
    return `has an sslmode that is not one of ${sslModes.join(', ')}`;
  return undefined;
}

/** Returns the URL for `pg`, in which `sslmode` means what docs/postgresql.md says. */
export function toConnectionString(databaseUrl: string): string {
  const url = new URL(databaseUrl);
  const { searchParams } = url;
  // The URL chooses pg's own interpretation of `sslmode`, so it is not changed.
  if (searchParams.has('uselibpqcompat')) return databaseUrl;
  const mode = searchParams.get('sslmode');
  if (mode === 'verify-ca' && searchParams.has('sslrootcert')) searchParams.set('uselibpqcompat', 'true');
  else if (mode !== null && ['allow', 'prefer', 'require', 'verify-ca'].includes(mode)) {
    searchParams.set('sslmode', 'verify-full');
  } else return databaseUrl;
  return url.href;
}
