/** Chooses the text for the person who has just started the service, and signs its token. */

import type { TokenSettings } from '../../core/settings/token-settings.ts';
import type { EmbeddedPostgres } from '../../postgres/embedded.ts';
import { type BannerFacts, bannerText, embeddedBannerText } from './banner.ts';
import { allScopes, signDevToken, signingSettings } from './dev-token.ts';

export interface StartFacts extends Pick<BannerFacts, 'url' | 'hasConsole'> {
  tokenSettings: TokenSettings;
  /** undefined: DATABASE_URL names the database. */
  embedded: Pick<EmbeddedPostgres, 'url'> | undefined;
  /** Whether the database is not there yet. */
  isWaiting: boolean;
}

/** @param showsSecrets adds the database's password and a token, if the service generated them */
export async function startBanner(facts: StartFacts, showsSecrets: boolean): Promise<string> {
  const { url, hasConsole, tokenSettings, embedded, isWaiting } = facts;
  const signing = signingSettings(tokenSettings);
  const place = { url, hasConsole, hasSecret: signing !== undefined };
  if (embedded === undefined) return bannerText(place, { isWaiting });
  if (!showsSecrets) return embeddedBannerText({ ...place, secrets: undefined });
  const token = signing && (await signDevToken(signing, { scope: allScopes, ttlSeconds: 86_400 }));
  return embeddedBannerText({ ...place, secrets: { databaseUrl: embedded.url, token } });
}
