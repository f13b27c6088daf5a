/**
 * Looks up the addresses of a host.
 *
 * A look-up by the operating system (getaddrinfo) occupies one of the four threads of Node.js until the name servers have answered
 * or half a minute has passed. Files, compression and signatures need these threads, and a caller chooses the host. So DNS is asked
 * over sockets of this process, which need no thread. The system is asked only for a name that DNS does not know, because the name
 * may belong to a search domain or to the local network. These look-ups use at most one thread.
 */
import type { LookupAddress } from 'node:dns';
import { lookup, Resolver } from 'node:dns/promises';
import { readFile } from 'node:fs/promises';
import { isIP } from 'node:net';

export interface LookUpOptions {
  signal: AbortSignal;
  /** Name servers with their ports. Default: those of the system. */
  nameServers?: string[] | undefined;
}

/** How long a name server may take to answer the first time. It is asked `tries` times, and may take longer each time. */
const answerMs = 1500;
const tries = 2;
/** The errors of name servers that know no such name, and of a system that has no name server. */
const unknown = ['ENOTFOUND', 'ENODATA', 'ECONNREFUSED'];
const hostsFile =
  process.platform === 'win32' ? `${process.env.SystemRoot}\\System32\\drivers\\etc\\hosts` : '/etc/hosts';

/** Returns the addresses; none: the host is not known. @throws Error if no name server answers in time, or the signal aborts */
export async function lookUpHost(host: string, options: LookUpOptions): Promise<LookupAddress[]> {
  const local = await addressesInHostsFile(host);
  if (local.length > 0) return local;
  return (await askNameServers(host, options)) ?? (await askSystem(host, options.signal));
}

/** Returns the addresses in the hosts file, which is searched first, as by the operating system. It is read each time, because it may change. */
async function addressesInHostsFile(host: string): Promise<LookupAddress[]> {
  const text = await readFile(hostsFile, 'utf8').catch(() => '');
  const found: LookupAddress[] = [];
  const wanted = host.replace(/\.$/, '').toLowerCase();
  for (const line of text.split('\n')) {
    const [address = '', ...names] = line.replace(/#.*/, '').trim().split(/\s+/);
    const family = isIP(address);
    if (family !== 0 && names.some((name) => name.toLowerCase() === wanted)) found.push({ address, family });
  }
  return found;
}

/** @returns undefined: no name server knows the name */
async function askNameServers(
  host: string,
  { signal, nameServers }: LookUpOptions,
): Promise<LookupAddress[] | undefined> {
  signal.throwIfAborted();
  // A new resolver is used each time, because it knows the current name servers of the system and has no old answers.
  const resolver = new Resolver({ timeout: answerMs, tries });
  if (nameServers !== undefined) resolver.setServers(nameServers);
  const cancel = () => resolver.cancel();
  signal.addEventListener('abort', cancel);
  try {
    const answers = await Promise.allSettled([resolver.resolve4(host), resolver.resolve6(host)]);
    const found = answers.flatMap((answer, index) =>
      answer.status === 'fulfilled'
        ? answer.value.map((address) => ({ address, family: index === 0 ? 4 : 6 }))
        : [],
    );
    if (found.length > 0) return found;
    const errors = answers.map((answer) => (answer.status === 'rejected' ? answer.reason : undefined));
    const failure = errors.find((error) => error !== undefined && !unknown.includes(error.code));
    if (failure !== undefined) throw failure;
    return undefined;
  } finally {
    signal.removeEventListener('abort', cancel);
  }
}

let lastOfSystem: Promise<unknown> = Promise.resolve();

/** Asks the operating system. One look-up runs after the other, so that they use one thread. */
async function askSystem(host: string, signal: AbortSignal): Promise<LookupAddress[]> {
  const before = lastOfSystem;
  const asked = before.then(async () => {
    signal.throwIfAborted();
    return lookup(host, { all: true });
  });
  lastOfSystem = asked.catch(() => {});
  return orAborted(asked, signal);
}

/** Waits for a promise that cannot be aborted. @throws Error if the signal aborts first */
async function orAborted<Value>(promise: Promise<Value>, signal: AbortSignal): Promise<Value> {
  const { promise: aborted, reject } = Promise.withResolvers<never>();
  const abort = () => reject(new Error('aborted'));
  if (signal.aborted) abort();
  signal.addEventListener('abort', abort, { once: true });
  try {
    return await Promise.race([promise, aborted]);
  } finally {
    signal.removeEventListener('abort', abort);
  }
}
