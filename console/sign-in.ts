/**
 * Signing in: with a token in the fragment of the address, a pasted token, or the authorization code flow of OpenID Connect with
 * PKCE (RFC 7636). The token is stored for this tab only. If a file is chosen, the user signs in in another window, because leaving
 * the page would lose the file.
 */
import { claimsOf, linkedToken } from './derived/session.ts';
import { serviceSettings } from './service-settings.ts';
import { serviceUrl } from './service-url.ts';
import type { Session, SignInSettings } from './state.ts';

const tokenKey = 'tablewright.token';
/** The ID token of a sign-in at the identity provider, or an empty text if the provider has sent none. */
const idTokenKey = 'tablewright.id-token';
const flowKey = 'tablewright.sign-in';
/** The sign-in window sends the answer of the identity provider on this channel. Only pages of the same origin can receive it. */
const channelName = 'tablewright.sign-in';
/** The `state` parameter of a sign-in in another window begins with this prefix. */
const windowPrefix = 'window.';

/** Removes the token of a sign-in link from the address and returns it, so that neither the browser history nor a copied address contains it. */
export function takeLinkedToken(): string | undefined {
  const token = linkedToken(location.hash);
  if (token !== undefined) history.replaceState(null, '', `${location.pathname}#/`);
  return token;
}

/** Starts the session with the answer of the identity provider in the address, or with the stored token of this tab. */
export async function beginSession(signIn: SignInSettings | undefined): Promise<Session> {
  const answer = new URLSearchParams(location.search);
  if (signIn && (answer.has('code') || answer.has('error')) && answer.has('state')) {
    history.replaceState(null, '', `${location.pathname}#/`);
    if (answer.get('state')!.startsWith(windowPrefix)) return handOver(answer, signIn);
    try {
      const flow = JSON.parse(sessionStorage.getItem(flowKey) ?? 'null') as Flow | null;
      sessionStorage.removeItem(flowKey);
      return sessionOf(await exchangeCode(answer, flow, signIn), signIn);
    } catch (error) {
      return { ...sessionOf(undefined, signIn), problem: (error as Error).message };
    }
  }
  return sessionOf(sessionStorage.getItem(tokenKey) ?? undefined, signIn);
}

/** Sends the answer of the identity provider to the window that waits for it, and closes this window. */
function handOver(answer: URLSearchParams, signIn: SignInSettings): Session {
  const channel = new BroadcastChannel(channelName);
  channel.postMessage(answer.toString());
  channel.close();
  close();
  const problem =
    'You can close this window. The console continues in the window where you began to sign in.';
  return { ...sessionOf(undefined, signIn), problem };
}

/** Stores the token for this tab and returns its session. @param token undefined: nobody is signed in */
export function sessionOf(token: string | undefined, signIn: SignInSettings | undefined): Session {
  if (token === undefined) sessionStorage.removeItem(tokenKey);
  else sessionStorage.setItem(tokenKey, token);
  const claims = token === undefined ? undefined : claimsOf(token, serviceSettings.scopeClaims);
  return { token, subject: claims?.subject, scopes: claims?.scopes ?? [], problem: undefined, signIn };
}

interface Flow {
  state: string;
  verifier: string;
  redirectUri: string;
}

/** Leaves this page for the identity provider. */
export async function startSignIn(signIn: SignInSettings): Promise<void> {
  const flow = newFlow('');
  sessionStorage.setItem(flowKey, JSON.stringify(flow));
  location.assign(await authorizationUrl(flow, signIn));
}

/**
 * Returns the address at which the session of the identity provider ends (OpenID Connect RP-Initiated Logout 1.0), so that the next user
 * of the browser does not sign in as this one; undefined: the user has not signed in there, or the provider has no such address.
 */
export function endSessionUrl(signIn: SignInSettings | undefined): string | undefined {
  const idToken = sessionStorage.getItem(idTokenKey);
  if (idToken === null || signIn?.endSessionEndpoint === undefined) return undefined;
  const url = new URL(signIn.endSessionEndpoint);
  url.searchParams.set('client_id', signIn.clientId);
  if (idToken !== '') url.searchParams.set('id_token_hint', idToken);
  return url.href;
}

const closedCheckMs = 500;

/**
 * Opens the identity provider in another window. Returns the token after the user has signed in there.
 *
 * @param onClosed called if the window seems to be closed. A provider may hide its window, so an answer is still accepted
 */
export async function signInInWindow(signIn: SignInSettings, onClosed: () => void): Promise<string> {
  // Browsers allow a new window only directly after a click, so it is opened before the first `await`.
  const opened = window.open('', 'tablewright-sign-in', 'popup,width=520,height=720');
  if (opened === null) {
    throw new Error(
      'The browser did not open the window of the identity provider. Allow windows for this page, and sign in again.',
    );
  }
  const flow = newFlow(windowPrefix);
  opened.location.href = await authorizationUrl(flow, signIn);
  const checking = setInterval(() => {
    if (!opened.closed) return;
    clearInterval(checking);
    onClosed();
  }, closedCheckMs);
  const answer = await answerTo(flow);
  clearInterval(checking);
  return exchangeCode(answer, flow, signIn);
}

function answerTo({ state }: Flow): Promise<URLSearchParams> {
  const channel = new BroadcastChannel(channelName);
  return new Promise((resolve) => {
    channel.onmessage = ({ data }) => {
      const answer = new URLSearchParams(String(data));
      if (answer.get('state') !== state) return;
      channel.close();
      resolve(answer);
    };
  });
}

function newFlow(prefix: string): Flow {
  return { state: prefix + randomText(), verifier: randomText(), redirectUri: `${serviceUrl}/` };
}

async function authorizationUrl(flow: Flow, signIn: SignInSettings): Promise<string> {
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
  return url.href;
}

async function exchangeCode(
  answer: URLSearchParams,
  flow: Flow | null,
  signIn: SignInSettings,
): Promise<string> {
  if (flow === null || flow.state !== answer.get('state')) {
    throw new Error('This sign-in was not started in this tab. Sign in again.');
  }
  const refusal = answer.get('error');
  if (refusal) throw new Error(`The identity provider refused the sign-in: ${refusal}`);
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
    id_token?: string;
    error_description?: string;
    error?: string;
  };
  if (typeof document.access_token === 'string') {
    sessionStorage.setItem(idTokenKey, document.id_token ?? '');
    return document.access_token;
  }
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
