/** Finds the endpoints of the identity provider at which people sign in to the console (OpenID Connect Discovery 1.0). */
import type { Config } from '../../../core/settings/config.ts';
import { discover } from '../tokens/discovery.ts';

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
  /** Absent: the identity provider has none. */
  endSessionEndpoint?: string;
}

const keptMs = 3_600_000;
const keptFailureMs = 10_000;

/** Returns a function that finds out how people sign in. Its result is undefined if they paste a token instead. */
export function signInFinder({ console, tokens }: Config): () => Promise<SignIn | undefined> {
  const { oidcClientId: clientId, oidcScope: scope, oidcResource: resource } = console;
  const { issuer, audience } = tokens;
  let found: { until: number; signIn: Promise<SignIn> } | undefined;
  return async () => {
    if (clientId === undefined || issuer === undefined) return undefined;
    const known = { issuer, clientId, scope, ...(audience && { audience }), ...(resource && { resource }) };
    if (found === undefined || performance.now() > found.until) {
      const entry = { until: performance.now() + keptMs, signIn: withEndpoints(known) };
      found = entry;
      const { authorizationEndpoint } = await entry.signIn;
      if (authorizationEndpoint === undefined) entry.until = performance.now() + keptFailureMs;
    }
    return found.signIn;
  };
}

/** Adds the endpoints of the provider. If the provider does not answer, they are left out. */
async function withEndpoints(known: SignIn): Promise<SignIn> {
  try {
    const { metadata } = await discover(known.issuer);
    const { authorization_endpoint: authorizationEndpoint, token_endpoint: tokenEndpoint } = metadata;
    if (!isHttpUrl(authorizationEndpoint) || !isHttpUrl(tokenEndpoint)) return known;
    const { end_session_endpoint: endSessionEndpoint } = metadata;
    return {
      ...{ ...known, authorizationEndpoint, tokenEndpoint },
      ...(isHttpUrl(endSessionEndpoint) && { endSessionEndpoint }),
    };
  } catch {
    return known;
  }
}

function isHttpUrl(value: unknown): value is string {
  return typeof value === 'string' && /^https?:$/.test(URL.parse(value)?.protocol ?? '');
}
