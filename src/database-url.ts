/**
 * What DATABASE_URL may say, and how the service reads its `sslmode`.
 *
 * The modes are those of PostgreSQL's libpq (34.19), read strictly: whoever asks for TLS gets a server whose certificate
 * was verified, unless the URL says `no-verify`.
 */

const sslModes = ['disable', 'allow', 'prefer', 'require', 'verify-ca', 'verify-full', 'no-verify'];

/** What is wrong with the URL, as the end of "DATABASE_URL …"; it repeats nothing of it, because the URL has a password. */
export function databaseUrlProblem(text: string): string | undefined {
  // RFC 3986 section 3.2: the authority ends with the first of these.
  const [, authority = '', rest = ''] = /^[a-z]+:\/\/([^/?#]*)(.*)$/is.exec(text) ?? [];
  const host = authority.slice(authority.lastIndexOf('@') + 1);
  if (host.includes(',')) {
    return 'names more than one host; name one, or a proxy that leads to the one that takes writes';
  }
  const url = URL.parse(text);
  // An "@" behind the authority: what stands before it was meant for the user name or the password.
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

/** The URL as `pg` must be given it, so that `sslmode` means what docs/postgresql.md says. */
export function toConnectionString(databaseUrl: string): string {
  const url = new URL(databaseUrl);
  const { searchParams } = url;
  // Their owner has chosen pg's own reading.
  if (searchParams.has('uselibpqcompat')) return databaseUrl;
  const mode = searchParams.get('sslmode');
  if (mode === 'verify-ca' && searchParams.has('sslrootcert')) searchParams.set('uselibpqcompat', 'true');
  else if (mode !== null && ['allow', 'prefer', 'require', 'verify-ca'].includes(mode)) {
    searchParams.set('sslmode', 'verify-full');
  } else return databaseUrl;
  return url.href;
}
