/**
 * Checks DATABASE_URL, and splits a URL with several hosts into one URL for each host. The rules are those of libpq (PostgreSQL 34.1.1.3).
 * `postgres/tls.ts` interprets the parameters for TLS.
 */

const sslModes = ['disable', 'allow', 'prefer', 'require', 'verify-ca', 'verify-full', 'no-verify'];

const protocolVersions = ['TLSv1', 'TLSv1.1', 'TLSv1.2', 'TLSv1.3'];

/** The parameters of libpq for TLS that the service understands, and `uselibpqcompat` of the driver. */
export const tlsParameters = [
  ...['sslmode', 'sslnegotiation', 'sslrootcert', 'sslcert', 'sslkey', 'sslpassword', 'uselibpqcompat'],
  ...['ssl_min_protocol_version', 'ssl_max_protocol_version'],
];

/** The values of `target_session_attrs` that make sense for a service that writes: what a session must be so that the service uses it. */
const sessionKinds = ['any', 'read-write', 'primary'] as const;

export type SessionKind = (typeof sessionKinds)[number];

/** The other parameters that have an effect: the service or the driver understands them. */
const otherParameters = [
  ...['host', 'port', 'user', 'password', 'target_session_attrs', 'ssl', 'options', 'client_encoding'],
  ...['application_name', 'fallback_application_name', 'statement_timeout', 'lock_timeout'],
  ...['idle_in_transaction_session_timeout', 'query_timeout'],
];

/** The parameters of libpq that would have no effect here, and are therefore refused. Only these are named in messages: a password that is not encoded may look like a parameter. */
const refusedParameters = [
  ...['sslcrl', 'sslcrldir', 'sslcertmode', 'sslsni', 'sslcompression', 'sslkeylogfile', 'requiressl'],
  ...[
    'requirepeer',
    'require_auth',
    'channel_binding',
    'gssencmode',
    'gsslib',
    'gssdelegation',
    'krbsrvname',
  ],
  ...[
    'hostaddr',
    'load_balance_hosts',
    'connect_timeout',
    'keepalives',
    'keepalives_idle',
    'keepalives_interval',
  ],
  ...['keepalives_count', 'tcp_user_timeout', 'dbname', 'passfile', 'service', 'servicefile', 'replication'],
  ...['min_protocol_version', 'max_protocol_version', 'scram_client_key', 'scram_server_key'],
];

export interface DatabaseHosts {
  /** A URL with one host for each host, in their order. */
  urls: string[];
  /** What a session must be. Default: `any` for one host, and `read-write` for several hosts. */
  sessionKind: SessionKind;
}

/** Returns what is wrong with the URL, as the end of "DATABASE_URL …". It repeats no part of the URL, which contains a password. */
export function databaseUrlProblem(text: string): string | undefined {
  const { authority, rest } = partsOf(text);
  const hosts = hostsOf(text);
  const urls = typeof hosts === 'string' ? [] : hosts.urls.map((url) => URL.parse(url));
  // An "@" after the authority means that the text before it belongs to the user name or the password.
  if (/^[^?]*@/.test(rest) || (urls.some((url) => url === null) && rest.includes('@'))) {
    return 'has a character in its user name or password that must be percent-encoded: write / as %2F, ? as %3F, # as %23, @ as %40, : as %3A and % as %25';
  }
  if (typeof hosts === 'string') return hosts;
  if (!urls.every((url) => /^postgres(ql)?:$/.test(url?.protocol ?? ''))) {
    return authority.includes(',')
      ? 'names a host or a port that is not valid; for example postgresql://user:password@one:5432,two:5432/database'
      : 'must be a PostgreSQL URL; for example postgresql://user:password@localhost:5432/database';
  }
  return parameterProblem(urls[0]!.searchParams) ?? tlsProblem(urls[0]!.searchParams);
}

/** Returns the hosts of a URL without problems. */
export function databaseHosts(text: string): DatabaseHosts {
  const hosts = hostsOf(text);
  if (typeof hosts === 'string') throw new Error(`DATABASE_URL ${hosts}`);
  return hosts;
}

/** Splits a URL. RFC 3986 section 3.2: the authority ends with the first of these characters. */
function partsOf(text: string): { scheme: string; user: string; authority: string; rest: string } {
  const [, scheme = '', all = '', rest = ''] = /^([a-z]+:\/\/)([^/?#]*)(.*)$/is.exec(text) ?? [];
  const at = all.lastIndexOf('@') + 1;
  return { scheme, user: all.slice(0, at), authority: all.slice(at), rest };
}

/** Returns the hosts, or what is wrong with them. */
function hostsOf(text: string): DatabaseHosts | string {
  const { scheme, user, authority, rest } = partsOf(text);
  const [path = '', query = ''] = rest.split(/\?(.*)/s);
  const parameters = new URLSearchParams(query);
  // As in libpq, the parameters replace the hosts and the ports of the authority.
  const [hostList, portList] = [parameters.get('host'), parameters.get('port')];
  const isList = [authority, hostList, portList].some((part) => part?.includes(','));
  const sessionKind = (parameters.get('target_session_attrs') ||
    (isList ? 'read-write' : 'any')) as SessionKind;
  if (!sessionKinds.includes(sessionKind))
    return `has a target_session_attrs that is not one of ${sessionKinds.join(', ')}`;
  if (!isList) return { urls: [text], sessionKind };
  const named = authority
    .split(',')
    .map((one) => /^(\[[^\]]*\]|[^:]*)(?::(.*))?$/s.exec(one) ?? ['', '', 'x']);
  const hosts = hostList ? hostList.split(',').map(inAuthority) : named.map(([, host = '']) => host);
  const ports = portList ? portList.split(',') : named.map(([, , port = '']) => port);
  if (hosts.includes('')) return 'has a list of hosts in which the name of a host is missing';
  if (ports.length !== hosts.length && ports.length !== 1)
    return `names ${hosts.length} hosts and ${ports.length} ports. Write one port for each host, or one for all`;
  if (!ports.every((port) => /^\d{0,5}$/.test(port) && Number(port) <= 65_535))
    return 'names a port that is not a number from 1 to 65535';
  // The other parameters are copied as they are written, because URLSearchParams could write them in another way.
  const others = query.split('&').filter((pair) => !['', 'host', 'port'].includes(pair.split('=')[0]!));
  const end = others.length > 0 ? `${path}?${others.join('&')}` : path;
  const urls = hosts.map((host, index) => {
    const port = ports[ports.length === 1 ? 0 : index];
    return `${scheme}${user}${host}${port && `:${port}`}${end}`;
  });
  return { urls, sessionKind };
}

/** Writes a host of the parameter `host` as the authority of a URL has it: the path of a socket is percent-encoded. */
function inAuthority(host: string): string {
  return host.includes(':') ? `[${host}]` : encodeURIComponent(host);
}

function parameterProblem(parameters: URLSearchParams): string | undefined {
  const known = new Set([...tlsParameters, ...otherParameters]);
  const refused = refusedParameters.find((name) => parameters.get(name));
  if (refused !== undefined)
    return `has the parameter ${refused}, which the service does not support. Remove it, because it would have no effect`;
  const isUnknown = [...parameters.keys()].some(
    (name) => !known.has(name) && !refusedParameters.includes(name),
  );
  return isUnknown
    ? 'has a parameter that the service does not know. Remove it, because it would have no effect. If it is a part of the password, percent-encode ? as %3F and & as %26'
    : undefined;
}

function tlsProblem(parameters: URLSearchParams): string | undefined {
  const isNoneOf = (name: string, values: string[]) =>
    parameters.get(name) && !values.includes(parameters.get(name)!)
      ? `has an ${name} that is not one of ${values.join(', ')}`
      : undefined;
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
