/** Finds the endpoints of the identity provider at which people sign in to the console (OpenID Connect Discovery 1.0). */
import type { Config } from '../../config.ts';
import { fetchJson } from '../tokens/fetch-json.ts';

/** What the page needs to know for signing in. It is not secret. */
export interface SignIn {
  issuer: string;
  clientId: string;
  scope: string;
  audience?: string;
  resource?: string;
  /** Absent: the identity provider did not answer. */
  authorizationEndpoint?: string;
  tokenEndpoint?: string;
}

const keptMs = 3_600_000;
const keptFailureMs = 10_000;

/** Returns a function that returns how people sign in; undefined: they paste a token. */
export function signInFinder({ console, tokens }: Config): () => Promise<SignIn | undefined> {
  const { oidcClientId: clientId, oidcScope: scope, oidcResource: resource } = console;
  const { issuer, audience } = tokens;
  let found: { until: number; signIn: Promise<SignIn> } | undefined;
  return async () => {
    if (clientId === undefined || issuer === undefined) return undefined;
    const known = { issuer, clientId, scope, ...(audience && { audience }), ...(resource && { resource }) };
    if (found === undefined || performance.now() > found.until) {
      const entry = { until: performance.now() + keptMs, signIn: discover(known) };
      found = entry;
      const { authorizationEndpoint } = await entry.signIn;
      if (authorizationEndpoint === undefined) entry.until = performance.now() + keptFailureMs;
    }
    return found.signIn;
  };
}

async function discover(known: SignIn): Promise<SignIn> {
  try {
    const url = `${known.issuer.replace(/\/$/, '')}/.well-known/openid-configuration`;
    const document = (await fetchJson(url)) as Record<string, unknown>;
    const { authorization_endpoint: authorizationEndpoint, token_endpoint: tokenEndpoint } = document;
    if (!isHttpUrl(authorizationEndpoint) || !isHttpUrl(tokenEndpoint)) return known;
    return { ...known, authorizationEndpoint, tokenEndpoint };
  } catch {
    return known;
  }
}

function isHttpUrl(value: unknown): value is string {
  return typeof value === 'string' && /^https?:$/.test(URL.parse(value)?.protocol ?? '');
}
