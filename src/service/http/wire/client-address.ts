/**
 * Finds the address of the client behind the proxies that the setting TRUST_PROXY names.
 *
 * Each proxy appends the address of its own client to `X-Forwarded-For` or `Forwarded` (RFC 7239), so the header is read from its end.
 * The first address from the end that is not a trusted proxy is that of the client. Addresses before it were written by the client
 * itself, and do not count.
 */
import type { IncomingMessage } from 'node:http';
import { BlockList, isIP } from 'node:net';

/**
 * Returns a function that finds the address of a request's client.
 *
 * @param trustProxy the value of TRUST_PROXY; undefined: no header is trusted
 */
export function clientAddressFinder(trustProxy: string | undefined): (request: IncomingMessage) => string {
  if (trustProxy === undefined) return peerAddress;
  const isTrusted = trustRule(trustProxy);
  return (request) => {
    let address = peerAddress(request);
    const forwarded = forwardedAddresses(request);
    for (let hop = 0; isTrusted(address, hop); hop++) {
      const next = forwarded[forwarded.length - 1 - hop];
      if (next === undefined || isIP(next) === 0) return address;
      address = next;
    }
    return address;
  };
}

function peerAddress({ socket }: IncomingMessage): string {
  return socket.remoteAddress ?? 'unknown';
}

/** Returns a function that decides whether an address is that of a trusted proxy. The other end of the connection itself is hop 0. */
function trustRule(trustProxy: string): (address: string, hop: number) => boolean {
  if (/^\d+$/.test(trustProxy)) {
    const proxies = Number(trustProxy);
    return (_address, hop) => hop < proxies;
  }
  const networks = new BlockList();
  for (const network of trustProxy.split(/ +/)) {
    const [address = '', prefix] = network.split('/');
    const family = isIP(address) === 6 ? 'ipv6' : 'ipv4';
    if (prefix === undefined) networks.addAddress(address, family);
    else networks.addSubnet(address, Number(prefix), family);
  }
  return (address) => {
    const family = isIP(address);
    return family !== 0 && networks.check(address, family === 6 ? 'ipv6' : 'ipv4');
  };
}

/**
 * Returns the addresses in the headers, the nearest one last. If both headers are sent and they disagree, one was written by the
 * proxy and the other by the client. It is not known which, so neither is used.
 */
function forwardedAddresses({ headers }: IncomingMessage): string[] {
  const listed = headers['x-forwarded-for'];
  const forwarded = headers.forwarded;
  if (forwarded === undefined) return listed === undefined ? [] : addressesIn(textOf(listed).split(','));
  const addresses = addressesIn(forwarded.split(',').map(forOf));
  if (listed === undefined) return addresses;
  const others = addressesIn(textOf(listed).split(','));
  return others.join() === addresses.join() ? addresses : [];
}

function textOf(header: string | string[]): string {
  return typeof header === 'string' ? header : header.join(',');
}

/** Returns the value of `for` of one element of `Forwarded`; an empty text: it has none. */
function forOf(element: string): string {
  return /(?:^|;)\s*for\s*=\s*(?:"([^"]*)"|([^\s;"]*))/i.exec(element)?.slice(1).find(Boolean) ?? '';
}

/** Removes ports and brackets: `192.0.2.1:80`, `[2001:db8::1]:80`. */
function addressesIn(values: string[]): string[] {
  return values.map((value) => {
    const text = value.trim();
    return /^\[([^\]]*)\]/.exec(text)?.[1] ?? /^(\d+\.\d+\.\d+\.\d+):\d+$/.exec(text)?.[1] ?? text;
  });
}
