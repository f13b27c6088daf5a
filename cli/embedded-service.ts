/** Starts the service in this process, for one command. */
import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import process from 'node:process';
import { readConfig } from '../src/config.ts';
import { allScopes, resolveTokenSettings, signDevToken, signingSettings } from '../src/dev-token.ts';
import { startService } from '../src/service.ts';
import { startFailure } from '../src/start-failure.ts';
import { WrongUse } from './exit-codes.ts';
import { note } from './print.ts';

export interface EmbeddedService {
  url: string;
  token: string;
  stop(): Promise<void>;
}

/** The longest time that a command may take: its token is valid so long. */
const tokenSeconds = 86_400;

/** @throws WrongUse if the service cannot start, or if only an identity provider can make a token */
export async function startEmbedded(isQuiet: boolean): Promise<EmbeddedService> {
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
    const place = config.database.url === undefined ? `in ${resolve(config.dataDir)}` : 'of DATABASE_URL';
    if (!isQuiet) note(`No service was named: this command starts one, with the database ${place}.`);
    const service = await startService(config);
    const token = await signDevToken(signing, { scope: allScopes, ttlSeconds: tokenSeconds });
    return { url: service.url, token, stop: () => service.stop() };
  } catch (error) {
    throw new WrongUse(
      `${startFailure(error)}\nNo service was named, so this command starts one. To use a service that runs, set TABLEWRIGHT_URL and TABLEWRIGHT_TOKEN ("tablewright token" prints a token).`,
    );
  }
}
