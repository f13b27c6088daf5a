/** Connects to the service: at a given address, at that of a profile, or to an embedded service that runs as long as the command. */
import { existsSync, readFileSync, statSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import process from 'node:process';
import { addressOf } from '../client/address-of.ts';
import { type Client, createClient, type Transport } from '../client/client.ts';
import type { CommandLine } from './commands.ts';
import { awaitEndSignal, Interrupted, unlessEnded } from './end-signals.ts';
import { exitCodes, WrongUse } from './exit-codes.ts';
import { loadServer, type Server } from './load-server.ts';
import { nodeTransport } from './node-transport.ts';
import { note } from './print.ts';

export interface Connected {
  client: Client;
  /** Reads the OpenAPI document of the service. */
  readDocument: () => Promise<unknown>;
  /** The service ends with the command. */
  isEmbedded: boolean;
}

interface Place {
  url?: string | undefined;
  token?: string | undefined;
}

const defaultRetrySeconds = 60;

/**
 * Calls `work` with a client of the service. If the service is the embedded one, it is stopped afterwards.
 *
 * @param endsItself true: `work` ends by itself after a signal; false: this function returns without waiting for it
 * @throws WrongUse if the profile does not exist, or has no address; Interrupted
 */
export async function withClient(
  { options }: CommandLine,
  work: (connected: Connected) => Promise<number | undefined>,
  endsItself = false,
): Promise<number> {
  const run = async (one: Connected) => (await work(one)) ?? exitCodes.done;
  const retryMs = retryMsOf(options);
  const profile = readProfile(options.profile as string | undefined);
  const named = (options.url as string | undefined) ?? (process.env.TABLEWRIGHT_URL || undefined);
  const url = named ?? profile.url;
  if (url === undefined && (options.profile ?? process.env.TABLEWRIGHT_PROFILE) !== undefined)
    throw new WrongUse('The profile has no "url".');
  const token = process.env.TABLEWRIGHT_TOKEN ?? (url === undefined ? undefined : tokenFor(url, profile));
  if (url !== undefined) {
    const name =
      named === undefined
        ? 'The "url" of the profile'
        : options.url === undefined
          ? 'TABLEWRIGHT_URL'
          : '--url';
    try {
      addressOf(url, name);
    } catch (error) {
      throw new WrongUse((error as Error).message);
    }
    return run(connected({ url, token }, retryMs));
  }
  return withEmbedded(options.quiet === true, async (service, ended) => {
    if (endsItself) return run(connected(service, retryMs, { isEmbedded: true }));
    return unlessEnded(run(connected(service, retryMs, { isEmbedded: true, ended })));
  });
}

/** Starts the embedded service and always stops it, also after a signal, because otherwise its PostgreSQL would keep running. @throws Interrupted, WrongUse */
async function withEmbedded(
  isQuiet: boolean,
  work: (service: Awaited<ReturnType<Server['startEmbedded']>>, ended: AbortSignal) => Promise<number>,
): Promise<number> {
  const ended = awaitEndSignal();
  const { startEmbedded } = await loadServer();
  const service = await startEmbedded(isQuiet ? () => {} : note).catch((error) => {
    // A terminal sends Ctrl-C also to the programs that create the database, so they fail although nothing is wrong.
    throw ended.aborted ? new Interrupted() : new WrongUse((error as Error).message);
  });
  try {
    if (ended.aborted) throw new Interrupted();
    return await work(service, ended);
  } finally {
    await service.stop();
  }
}

/** Returns the token of the profile if `url` is the service of the profile. Another service must not receive it. */
function tokenFor(url: string, { url: own, token }: Place): string | undefined {
  return own !== undefined && originOf(own) === originOf(url) ? token : undefined;
}

function originOf(url: string): string {
  return URL.canParse(url) ? new URL(url).origin : url;
}

/** @param ended aborts all requests */
function connected(
  { url, token }: Place & { url: string },
  retryMs: number,
  { isEmbedded = false, ended }: { isEmbedded?: boolean; ended?: AbortSignal } = {},
): Connected {
  let isTold = false;
  const onRetry = ({ message }: Error): void => {
    if (!isTold && !ended?.aborted) note(`${message} Trying again for ${Math.round(retryMs / 1000)} s.`);
    isTold = true;
  };
  const transport: Transport = (url, request) => {
    const signals = [ended, request.signal].filter((one) => one !== undefined);
    return nodeTransport(url, { ...request, signal: AbortSignal.any(signals) });
  };
  const client = createClient({ url, token, transport, retryMs, onRetry });
  const readDocument = async (): Promise<unknown> => {
    const address = `${addressOf(url, 'The address')}/openapi.json`;
    return JSON.parse(await (await transport(address, { method: 'GET', headers: {} })).text());
  };
  return { client, readDocument, isEmbedded };
}

function retryMsOf({ retry }: CommandLine['options']): number {
  const seconds = retry === undefined ? defaultRetrySeconds : Number(retry);
  if (!(seconds >= 0)) throw new WrongUse(`--retry is a number of seconds, not "${retry}".`);
  return seconds * 1000;
}

/** Reads a profile from `~/.config/tablewright/profiles.json`: `{"default": {"url": "…", "token": "…"}}`. */
function readProfile(wanted = process.env.TABLEWRIGHT_PROFILE): Place {
  const folder = process.env.XDG_CONFIG_HOME ?? join(homedir(), '.config');
  const path = join(folder, 'tablewright', 'profiles.json');
  if (!existsSync(path)) {
    if (wanted !== undefined)
      throw new WrongUse(
        `There is no profile "${wanted}", because there is no ${path}. An upload profile is --upload-profile.`,
      );
    return {};
  }
  const profiles = parsed(path);
  const place = profiles[wanted ?? 'default'];
  if (place === undefined && wanted !== undefined) {
    throw new WrongUse(
      `There is no profile "${wanted}" in ${path}: it has ${Object.keys(profiles).join(', ')}.`,
    );
  }
  const othersMayRead = process.platform !== 'win32' && (statSync(path).mode & 0o077) !== 0;
  if (place?.token !== undefined && othersMayRead) {
    note(`warning: other users may read the token in ${path}. "chmod 600" changes this.`);
  }
  return place ?? {};
}

function parsed(path: string): Record<string, Place> {
  try {
    return JSON.parse(readFileSync(path, 'utf8'));
  } catch (error) {
    throw new WrongUse(`${path} is not valid JSON: ${(error as Error).message}`);
  }
}
