/**
 * Signing in: a token in the fragment of the address, a pasted token, or the authorization code flow of OpenID Connect with PKCE
 * (RFC 7636). The token is kept for this tab only.
 */
import { claimsOf } from './follows.ts';
import type { Session, SignInSettings } from './state.ts';

const tokenKey = 'tablewright.token';
const flowKey = 'tablewright.sign-in';

/** Begins the session: takes a token or the answer of the identity provider out of the address. */
export async function beginSession(signIn: SignInSettings | undefined): Promise<Session> {
  const inFragment = new URLSearchParams(location.hash.slice(1)).get('token');
  if (inFragment !== null) {
    // Neither the history of the browser nor a copied address may have the token.
    history.replaceState(null, '', `${location.pathname}#/`);
    return sessionOf(inFragment.trim(), signIn);
  }
  const answer = new URLSearchParams(location.search);
  if (signIn && (answer.has('code') || answer.has('error')) && answer.has('state')) {
    history.replaceState(null, '', `${location.pathname}#/`);
    try {
      return sessionOf(await exchangeCode(answer, signIn), signIn);
    } catch (error) {
      return { ...sessionOf(undefined, signIn), problem: (error as Error).message };
    }
  }
  return sessionOf(sessionStorage.getItem(tokenKey) ?? undefined, signIn);
}

/** Keeps the token for this tab. @param token undefined: signs out */
export function sessionOf(token: string | undefined, signIn: SignInSettings | undefined): Session {
  if (token === undefined) sessionStorage.removeItem(tokenKey);
  else sessionStorage.setItem(tokenKey, token);
  const claims = token === undefined ? undefined : claimsOf(token);
  return { token, subject: claims?.subject, scopes: claims?.scopes ?? [], problem: undefined, signIn };
}

interface Flow {
  state: string;
  verifier: string;
  redirectUri: string;
}

/** Sends the person to the identity provider. */
export async function startSignIn(signIn: SignInSettings): Promise<void> {
  const flow: Flow = { state: randomText(), verifier: randomText(), redirectUri: `${location.origin}/` };
  sessionStorage.setItem(flowKey, JSON.stringify(flow));
  const digest = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(flow.verifier));
  const url = new URL(signIn.authorizationEndpoint!);
  const parameters = {
    response_type: 'code',
    client_id: signIn.clientId,
    redirect_uri: flow.redirectUri,
    scope: signIn.scope,
    state: flow.state,
    code_challenge: base64url(new Uint8Array(digest)),
    code_challenge_method: 'S256',
    ...(signIn.audience && { audience: signIn.audience }),
    ...(signIn.resource && { resource: signIn.resource }),
  };
  for (const [name, value] of Object.entries(parameters)) url.searchParams.set(name, value);
  location.assign(url);
}

async function exchangeCode(answer: URLSearchParams, signIn: SignInSettings): Promise<string> {
  const flow = JSON.parse(sessionStorage.getItem(flowKey) ?? 'null') as Flow | null;
  sessionStorage.removeItem(flowKey);
  const refusal = answer.get('error_description') ?? answer.get('error');
  if (refusal) throw new Error(`The identity provider refused the sign-in: ${refusal}`);
  if (flow === null || flow.state !== answer.get('state')) {
    throw new Error('This sign-in was not started in this tab. Sign in again.');
  }
  const response = await fetch(signIn.tokenEndpoint!, {
    method: 'POST',
    body: new URLSearchParams({
      grant_type: 'authorization_code',
      code: answer.get('code') ?? '',
      redirect_uri: flow.redirectUri,
      client_id: signIn.clientId,
      code_verifier: flow.verifier,
      ...(signIn.resource && { resource: signIn.resource }),
    }),
  });
  const document = (await response.json()) as {
    access_token?: string;
    error_description?: string;
    error?: string;
  };
  if (typeof document.access_token === 'string') return document.access_token;
  throw new Error(
    `The identity provider gave no token: ${document.error_description ?? document.error ?? response.status}`,
  );
}

function randomText(): string {
  return base64url(crypto.getRandomValues(new Uint8Array(32)));
}

function base64url(bytes: Uint8Array): string {
  return btoa(String.fromCharCode(...bytes))
    .replaceAll('+', '-')
    .replaceAll('/', '_')
    .replace(/=+$/, '');
}
