/** Finds the service on the data folder, or starts it in this process for as long as commands use it. */
import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import process from 'node:process';
import { type Config, readConfig } from '../core/settings/config.ts';
import { folderInUse } from '../postgres/embedded/folder-lock.ts';
import { joinService, othersHaveLeft, withdrawService } from '../postgres/embedded/folder-users.ts';
import { type Service, startService } from '../service/service.ts';
import {
  allScopes,
  resolveTokenSettings,
  signDevToken,
  signingSettings,
} from '../service/start/dev-token.ts';
import { startFailure } from '../service/start/start-failure.ts';

export interface EmbeddedService {
  url: string;
  token: string;
  stop(): Promise<void>;
}

/** The maximum duration of a command in seconds. Its token is valid for this time. */
const tokenSeconds = 86_400;

/**
 * Uses the service that runs on the data folder, or starts one. Commands at the same time share the service that the first of them has
 * started, which then waits for the others.
 *
 * @param tell called with sentences for the person
 * @throws Error with the whole text for the person, if the service cannot start, or if only an identity provider can make a token
 */
export async function startEmbedded(tell: (sentence: string) => void): Promise<EmbeddedService> {
  try {
    if (existsSync('.env')) process.loadEnvFile('.env');
    const config = readConfig({
      ...process.env,
      HOST: '127.0.0.1',
      PORT: '0',
      METRICS_PORT: undefined,
      LOG_LEVEL: 'silent',
    });
    const signing = signingSettings(await resolveTokenSettings(config));
    if (signing === undefined)
      throw new Error('The settings name an identity provider. Set TABLEWRIGHT_URL and TABLEWRIGHT_TOKEN.');
    const token = await signDevToken(signing, { scope: allScopes, ttlSeconds: tokenSeconds });
    if (config.database.url !== undefined) {
      tell('No service was named: this command starts one, with the database of DATABASE_URL.');
      const service = await startService(config);
      return { url: service.url, token, stop: () => service.stop() };
    }
    return { token, ...(await joinOrStart(config, tell)) };
  } catch (error) {
    throw new Error(
      `${startFailure(error)}\nNo service was named, so this command starts one. To use a service that runs, set TABLEWRIGHT_URL and TABLEWRIGHT_TOKEN ("tablewright token" prints a token).`,
      { cause: error },
    );
  }
}

async function joinOrStart(
  config: Config,
  tell: (line: string) => void,
): Promise<Omit<EmbeddedService, 'token'>> {
  for (;;) {
    const joined = await joinService(config.dataDir);
    if (joined !== undefined) {
      tell(`No service was named: this command uses the one that runs at ${joined.url}.`);
      return { url: joined.url, stop: joined.leave };
    }
    try {
      const service = await startService(config);
      tell(
        `No service was named: this command has started one, with the database in ${resolve(config.dataDir)}.`,
      );
      return { url: service.url, stop: () => stopUnused(config.dataDir, service, tell) };
    } catch (error) {
      // Another command was faster.
      if ((error as NodeJS.ErrnoException).code !== folderInUse) throw error;
    }
  }
}

async function stopUnused(
  dataDir: string,
  service: Pick<Service, 'stop'>,
  tell: (line: string) => void,
): Promise<void> {
  await withdrawService(dataDir);
  await othersHaveLeft(dataDir, () => tell('Other commands still use the service of this command.'));
  await service.stop();
}
