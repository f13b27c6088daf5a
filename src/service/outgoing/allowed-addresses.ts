/**
 * Decides to which addresses the service sends requests for a caller: those of webhooks, and those of files that are fetched. A caller
 * chooses the URL, so without this rule a caller could reach services that only the machines of the service can reach (server-side
 * request forgery).
 */
import type { LookupAddress } from 'node:dns';
import { BlockList, isIP } from 'node:net';
import { lookUpHost } from './look-up-host.ts';

/** The IPv4 networks that are not public (IANA special-purpose address registries), and multicast. */
const refusedV4 = [
  '0.0.0.0/8',
  '10.0.0.0/8',
  '100.64.0.0/10',
  '127.0.0.0/8',
  // At this address, which looks public, machines of Azure reach services of the platform.
  '168.63.129.16/32',
  '169.254.0.0/16',
  '172.16.0.0/12',
  '192.0.0.0/24',
  '192.0.2.0/24',
  '192.88.99.0/24',
  '192.168.0.0/16',
  '198.18.0.0/15',
  '198.51.100.0/24',
  '203.0.113.0/24',
  '224.0.0.0/4',
  '240.0.0.0/4',
];
/**
 * Only 2000::/3 has public addresses. The rest has loopback, link-local, unique local and multicast addresses, and addresses that contain an
 * IPv4 address (::ffff:0:0/96, 64:ff9b::/96). Teredo (in 2001::/23) and 6to4 (2002::/16) also contain one.
 */
const refusedV6 = ['::/3', '4000::/2', '8000::/1', '2001::/23', '2001:db8::/32', '2002::/16', '3fff::/20'];

const refused = networkList([...refusedV4, ...refusedV6]);

/** Reports an address that must not be used, or a name that has no address. The message is for the caller. */
export class RefusedAddress extends Error {
  override name = 'RefusedAddress';
}

export class AllowedAddresses {
  readonly #allowed: NetworkList;
  readonly #nameServers: string[] | undefined;

  /**
   * @param privateNetworks the addresses and networks that are allowed although they are not public
   * @param nameServers default: those of the system
   */
  constructor(privateNetworks: string[], nameServers?: string[]) {
    this.#allowed = networkList(privateNetworks);
    this.#nameServers = nameServers;
  }

  /**
   * Returns the addresses of the URL's host. The caller must connect to exactly these: another look-up could have another result.
   *
   * @param signal ends the look-up
   * @throws RefusedAddress if the host has no address, or one that is not allowed, or if the URL is not https and an address is public
   */
  async resolve(url: URL, signal: AbortSignal): Promise<LookupAddress[]> {
    const host = url.hostname.replace(/^\[(.*)\]$/, '$1');
    const family = isIP(host);
    const found = family === 0 ? await this.#lookUp(host, signal) : [{ address: host, family }];
    for (const one of found) this.#check(one, url);
    return found;
  }

  async #lookUp(host: string, signal: AbortSignal): Promise<LookupAddress[]> {
    try {
      const found = await lookUpHost(host, { signal, nameServers: this.#nameServers });
      if (found.length > 0) return found;
    } catch (error) {
      if (signal.aborted) throw error;
      // The answer is the same as for a name without addresses, so that nobody can find out which names a private network has.
    }
    throw unusable(host);
  }

  #check(one: LookupAddress, { protocol, hostname }: URL): void {
    if (contains(this.#allowed, one)) return;
    if (contains(refused, one)) throw unusable(hostname);
    if (protocol === 'https:') return;
    throw new RefusedAddress('The URL must begin with https, because the address is a public one.');
  }
}

function unusable(host: string): RefusedAddress {
  return new RefusedAddress(
    `The host ${host} has no address, or one in a private or special network that WEBHOOK_PRIVATE_NETWORKS does not allow.`,
  );
}

/** IPv4 and IPv6 networks. Each family has its own list, because BlockList also compares an IPv4 address with IPv6 networks (as a mapped address). */
interface NetworkList {
  v4: BlockList;
  v6: BlockList;
}

function networkList(networks: string[]): NetworkList {
  const list = { v4: new BlockList(), v6: new BlockList() };
  for (const network of networks) {
    const [address = '', prefix] = network.split('/');
    if (isIP(address) === 4) list.v4.addSubnet(address, Number(prefix ?? 32), 'ipv4');
    else list.v6.addSubnet(address, Number(prefix ?? 128), 'ipv6');
  }
  return list;
}

function contains({ v4, v6 }: NetworkList, { address, family }: LookupAddress): boolean {
  return family === 4 ? v4.check(address, 'ipv4') : v6.check(address, 'ipv6');
}
