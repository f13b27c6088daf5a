/**
 * Explains to the person who starts the service why it cannot start, and what to change.
 */

import { AppError } from '../../core/errors.ts';
import { ConfigError } from '../../core/settings/config.ts';
import { type Condition, conditionOf, fullDisk } from '../../postgres/sqlstate.ts';

/** An error whose message is the whole text for the person who starts the service. */
export class ExplainedFailure extends Error {}

/** Returns the text. It contains the stack only if the cause is probably a bug of the service. */
export function startFailure(error: unknown): string {
  if (!(error instanceof Error)) return `Tablewright cannot start: ${String(error)}`;
  if (error instanceof ExplainedFailure) return error.message;
  const remedy = remedyOf(error);
  if (remedy !== undefined)
    return `Tablewright cannot start: ${error.message.replace(/\.$/, '')}.\n${remedy}`;
  const isPlain = error instanceof ConfigError || error.constructor === Error;
  return isPlain ? `Tablewright cannot start: ${error.message}` : (error.stack ?? error.message);
}

/** Returns why the database cannot be reached, and what to check, for the log. */
export function reasonAndRemedy(error: Error): { reason: string; remedy?: string } {
  // Node.js throws an AggregateError if it tried several addresses of one host.
  const one = error instanceof AggregateError ? (error.errors[0] as Error) : error;
  const remedy = remedyOf(one);
  return {
    reason: one instanceof AppError ? one.detail : one.message,
    ...(remedy !== undefined && { remedy }),
  };
}

interface SystemFacts {
  code?: string;
  syscall?: string;
  path?: string;
}

/** The codes of Node for a full disk, and a hint of PostgreSQL. The embedded PostgreSQL writes it in English. */
const otherFullDisk = /ENOSPC|EDQUOT|Check free disk space/;

function remedyOf(error: Error): string | undefined {
  const { code = '', syscall, path } = error as Error & SystemFacts;
  if ([fullDisk, otherFullDisk].some((words) => words.test(`${code} ${error.message}`)))
    return 'No space left on device: free or enlarge the disk of DATA_DIR, or of the database, and start Tablewright again. Rows that were acknowledged are kept.';
  if (code === 'ERR_MODULE_NOT_FOUND') return 'Run "npm ci" first.';
  // In a worker the primary process opens the port, so the error has the syscall `bind` instead of `listen`.
  if (syscall === 'listen' || syscall === 'bind')
    return (
      listenRemedies[code] ?? 'Set HOST and PORT to an address and a port on which the service can listen.'
    );
  const condition = conditionOf(error);
  const known = databaseRemedies.find(({ conditions, codes, message }) => {
    const isOfKind = condition === undefined ? codes?.test(code) : conditions?.includes(condition);
    return isOfKind && message.test(error.message);
  });
  if (known !== undefined) return known.remedy;
  if (code !== '' && path !== undefined)
    return `Set DATA_DIR to a folder that the service can create and write to. The path at present is ${path}.`;
  return undefined;
}

const listenRemedies: Record<string, string> = {
  EADDRINUSE:
    'Another program listens there. Set PORT (or METRICS_PORT) to another port, or to 0 for any free port.',
  EACCES: 'This user may not listen on that port. Set PORT to 1024 or higher.',
  EADDRNOTAVAIL:
    'This machine has no such address. Set HOST to an address of this machine; 127.0.0.1 and 0.0.0.0 always work.',
};

interface DatabaseRemedy {
  /** Conditions of errors from PostgreSQL or a pooler. */
  conditions?: Condition[];
  /** Codes of errors of Node.js for sockets and TLS, or of this service. `^$` fits errors of the driver, which have no code. */
  codes?: RegExp;
  message: RegExp;
  remedy: string;
}

/** What to do about errors of the database. The first entry that matches is used. */
const databaseRemedies: DatabaseRemedy[] = [
  // Errors of TLS.
  {
    codes: /SELF_SIGNED_CERT|UNABLE_TO_(VERIFY|GET_ISSUER)/,
    message: /^/,
    remedy:
      'The certificate of the database server is signed by a private authority. Add sslrootcert=/path/to/authority.pem to DATABASE_URL, or name that file in NODE_EXTRA_CA_CERTS.',
  },
  {
    codes: /^ERR_TLS_CERT_ALTNAME_INVALID$/,
    message: /^/,
    remedy:
      'The certificate of the database server is for another host name. Use that host name in DATABASE_URL, or sslmode=verify-ca together with sslrootcert, which does not check the name.',
  },
  {
    codes: /^ERR_TLS_FILE$/,
    message: /^/,
    remedy: 'Check the path in DATABASE_URL, and whether the user that runs the service may read the file.',
  },
  {
    codes:
      /^ERR_OSSL_(BAD_DECRYPT|EVP_BAD_DECRYPT|CRYPTO_INTERRUPTED_OR_CANCELLED|PKCS12_CIPHERFINAL_ERROR)$/,
    message: /^/,
    remedy:
      'The key in the file of sslkey is encrypted. Add sslpassword=… with its password to DATABASE_URL, or use a key without a password.',
  },
  {
    codes: /^ERR_OSSL_X509_KEY_VALUES_MISMATCH$/,
    message: /^/,
    remedy:
      'The key of sslkey does not belong to the certificate of sslcert. Name two files that belong together.',
  },
  {
    codes: /^ERR_OSSL_/,
    message: /^/,
    remedy: 'The files that sslrootcert, sslcert and sslkey of DATABASE_URL name must be in the format PEM.',
  },
  {
    codes: /^ERR_SSL_.*ALERT_(UNKNOWN_CA|BAD_CERTIFICATE|CERTIFICATE_)/,
    message: /^/,
    remedy:
      'The database server refuses the client certificate of sslcert: it has expired, or its authority is not in ssl_ca_file of the server.',
  },
  {
    codes: /^ERR_SSL_/,
    message: /^/,
    remedy:
      'The service and the database server have no version of TLS in common, or a proxy on the way does not speak TLS.',
  },
  {
    conditions: ['invalid_authorization_specification'],
    message: /requires a valid client certificate/,
    remedy:
      'The database server requires a client certificate: add sslcert=… and sslkey=… to DATABASE_URL. The authority of the certificate must be in ssl_ca_file of the server.',
  },
  {
    conditions: ['invalid_authorization_specification'],
    message: /certificate authentication failed/,
    remedy:
      'The client certificate belongs to another role: its common name (CN) must be the user of DATABASE_URL, or pg_ident.conf must map it.',
  },
  {
    codes: /^CERT_(HAS_EXPIRED|NOT_YET_VALID)$/,
    message: /^/,
    remedy: 'Renew the certificate of the database server, and check the clocks of both machines.',
  },
  {
    codes: /^$/,
    message: /does not support SSL|establishing an SSL connection/,
    remedy:
      'The database server has no TLS. Turn it on there, or write sslmode=disable in DATABASE_URL if the network is safe.',
  },
  {
    conditions: ['invalid_authorization_specification'],
    message: /pg_hba\.conf.*no encryption/,
    remedy:
      'The database server may require TLS: add sslmode=verify-full to DATABASE_URL, or let this host in with pg_hba.conf.',
  },
  {
    conditions: ['invalid_authorization_specification'],
    message: /pg_hba\.conf/,
    remedy: 'Let this host, role and database in with pg_hba.conf on the database server.',
  },
  // Errors of the role and the database.
  {
    conditions: ['invalid_authorization_specification'],
    message: /not permitted to log ?in/,
    remedy: 'Run ALTER ROLE … LOGIN for the role of DATABASE_URL, or name another role there.',
  },
  {
    conditions: ['invalid_authorization_specification', 'invalid_password', 'protocol_violation'],
    message: /authentication|password|role/i,
    remedy:
      'Check the user and the password in DATABASE_URL. Special characters in them must be percent-encoded, such as @ as %40.',
  },
  {
    codes: /^$/,
    message: /password must be a (non-empty )?string/,
    remedy:
      'The database server requires a password. Write it in DATABASE_URL: postgresql://user:password@host:5432/database.',
  },
  {
    conditions: ['invalid_catalog_name', 'protocol_violation'],
    message: /database/,
    remedy: 'Create the database with CREATE DATABASE, or name another one at the end of DATABASE_URL.',
  },
  {
    conditions: ['insufficient_privilege'],
    message: /database/,
    remedy: 'Run GRANT CONNECT ON DATABASE … TO … for the role of DATABASE_URL.',
  },
  {
    conditions: ['too_many_connections', 'protocol_violation'],
    message: /connection|max_client_conn/,
    remedy:
      'All connections of the server, the role or the pooler are in use. Raise its limit or lower DATABASE_POOL_SIZE. Each instance of the service may open that many connections.',
  },
  {
    conditions: ['protocol_violation'],
    message: /unsupported startup parameter/,
    remedy:
      'A pooler such as PgBouncer refuses a parameter of DATABASE_URL. Remove the parameter from the URL and set it with ALTER ROLE or ALTER DATABASE instead.',
  },
  {
    conditions: ['admin_shutdown', 'crash_shutdown', 'cannot_connect_now'],
    message: /^/,
    remedy:
      'The database server is starting, stopping or recovering. Tablewright continues when it accepts connections.',
  },
  {
    codes: /^database-unavailable$/,
    message: /read-only/,
    remedy:
      'Each server of DATABASE_URL that answers is a standby or read-only. Tablewright continues when one of them accepts changes.',
  },
  // Errors of the network.
  {
    codes: /^E(AI_AGAIN|NOTFOUND)$/,
    message: /^getaddrinfo/,
    remedy:
      'DATABASE_URL names a host that does not exist. If its password has a character such as @, / or #, percent-encode that: @ as %40, / as %2F, # as %23.',
  },
  {
    codes: /^(ECONNREFUSED|ENOENT)$/,
    message: /^connect /,
    remedy:
      'Nothing listens there. Check the host and the port in DATABASE_URL, whether PostgreSQL runs, and its listen_addresses.',
  },
  {
    codes: /^(E[A-Z]+)$/,
    message: /^(connect|read) /,
    remedy: 'Check the host and the port in DATABASE_URL, and the network and firewalls on the way.',
  },
  {
    codes: /^$/,
    message:
      /connection timeout|timeout expired|timeout exceeded when trying to connect|Connection terminated unexpectedly/,
    remedy:
      'No PostgreSQL answers there. Check the host and the port in DATABASE_URL, and the network and firewalls on the way.',
  },
];
