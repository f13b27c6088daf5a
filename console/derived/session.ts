/** What the page derives from tokens: the user of a token, and which failures an invalid token caused. */
import type { Remote, Session, State } from '../state.ts';

/**
 * Reads the claims in the token (RFC 7519). They only decide what the page shows: the service verifies the token, not the page.
 *
 * @param scopeClaims the claims that contain the scopes, each a name or a JSON Pointer (RFC 6901). The first one that is there counts
 */
export function claimsOf(
  token: string,
  scopeClaims: string[],
): { subject?: string; scopes: string[]; expiresAt?: number } | undefined {
  const [, payload, signature] = token.split('.');
  if (payload === undefined || signature === undefined) return undefined;
  try {
    const bytes = Uint8Array.from(atob(payload.replaceAll('-', '+').replaceAll('_', '/')), (sign) =>
      sign.charCodeAt(0),
    );
    const claims = JSON.parse(new TextDecoder().decode(bytes)) as Claims;
    const { sub, exp } = claims;
    const found = scopeClaims.map((claim) => claimAt(claims, claim)).find((value) => value !== undefined);
    const scopes = [found].flat().join(' ').split(/[ ,]+/).filter(Boolean);
    return {
      ...(typeof sub === 'string' && { subject: sub }),
      ...(typeof exp === 'number' && { expiresAt: exp }),
      scopes,
    };
  } catch {
    return undefined;
  }
}

type Claims = Record<string, unknown>;

/** @param claim the name of a claim, or a JSON Pointer, which begins with `/` */
function claimAt(claims: Claims, claim: string): unknown {
  if (!claim.startsWith('/')) return claims[claim];
  const steps = claim.slice(1).split('/');
  return steps
    .map((step) => step.replaceAll('~1', '/').replaceAll('~0', '~'))
    .reduce<unknown>((value, step) => (value as Claims | null | undefined)?.[step], claims);
}

/** Returns the token of a sign-in link. */
export function linkedToken(hash: string): string | undefined {
  return new URLSearchParams(hash.slice(1)).get('token')?.trim();
}

/** Returns whether the page shows the work of the user, and not the sign-in form. */
export function showsWork({ token, isLinked = false }: Session): boolean {
  return token !== undefined || isLinked;
}

/** Removes the prefixes that users often copy together with a token. */
export function pastedToken(text: string): string {
  return text.trim().replace(/^(TOKEN=|Bearer )/i, '');
}

/** Returns the state without the failures that an invalid token caused. A new token makes these requests possible again. */
export function withoutTokenFailures(state: State): State {
  const { load } = state;
  const cleared = <Value>(remote: Remote<Value>): Remote<Value> =>
    isTokenFailure(remote) ? { is: 'none' } : remote;
  return {
    ...state,
    inspection: cleared(state.inspection),
    top: cleared(state.top),
    existing: cleared(state.existing),
    together: cleared(state.together),
    togetherCheck: cleared(state.togetherCheck),
    check: cleared(state.check),
    step: state.step === 'check' && isTokenFailure(state.check) ? 'columns' : state.step,
    // An upload that was refused because of its token never became a load.
    ...(load?.outcome.is === 'not-loaded' &&
      isTokenCode(load.outcome.failure.code) && {
        load: undefined,
        step: load.isOfParts ? ('together' as const) : ('columns' as const),
      }),
  };
}

function isTokenCode(code: string | undefined): boolean {
  return code === 'missing-token' || code === 'invalid-token';
}

export function isTokenFailure(remote: Remote<unknown>): boolean {
  return remote.is === 'failed' && isTokenCode(remote.failure.code);
}
