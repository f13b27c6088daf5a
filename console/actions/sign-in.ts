/** Signing in and out. The file and the choices are kept unless another user signs in. */
import { createClient, ProblemError } from '../../client/client.ts';
import { hashOf } from '../derived/routes.ts';
import { claimsOf, isTokenFailure, pastedToken, withoutTokenFailures } from '../derived/session.ts';
import { failureFrom } from '../failure.ts';
import { initialState } from '../initial-state.ts';
import { serviceUrl } from '../service-url.ts';
import { endSessionUrl, sessionOf, signInInWindow, startSignIn } from '../sign-in.ts';
import type { Session } from '../state.ts';
import { takeWaiting } from './choose-file.ts';
import { lookUpTarget } from './columns.ts';
import { forgetFile, inspect } from './file.ts';
import { lookAgain } from './follow-load.ts';
import type { Page } from './page.ts';
import { open } from './pages.ts';

/** Ends the session, so that the page asks for a token. */
function askForToken(page: Page, more: Partial<Session>): void {
  page.set(({ session }) => ({ session: { ...sessionOf(undefined, session.signIn), ...more } }));
}

/** Asks the service whether it accepts the token. If it does, the page is shown. */
export async function signInWith(page: Page, text: string, isLinked = false): Promise<void> {
  const value = pastedToken(text);
  askForToken(page, { isBeingChecked: true, isLinked });
  const problem = await problemOfToken(page, value);
  if (problem !== undefined) return askForToken(page, { problem });
  const { worker } = page.state;
  const session = sessionOf(value, page.state.session.signIn);
  // The file and the choices belong to another user, so they must not be sent with this token.
  if (worker !== undefined && worker !== session.subject) {
    forgetFile(page);
    page.set(({ route }) => initialState(session, route));
  }
  const before = page.state;
  page.set((state) => ({ ...withoutTokenFailures(state), session, worker: session.subject }));
  if (isTokenFailure(before.inspection)) inspect(page, before.reading);
  if (isTokenFailure(before.existing)) lookUpTarget(page);
  open(page, page.state.route);
  lookAgain(page);
  takeWaiting(page);
}

/**
 * Handles the token of a sign-in link. Anybody can send such a link. If a user is already signed in, the page asks first, because
 * otherwise the file would be sent with the rights of another user.
 */
export async function followLink(page: Page, text: string): Promise<void> {
  const { session, worker } = page.state;
  const value = pastedToken(text);
  const subject = claimsOf(value, [])?.subject;
  const isSame = subject !== undefined && subject === worker;
  if (session.token === undefined && (worker === undefined || isSame))
    return signInWith(page, value, worker === undefined);
  const problem = await problemOfToken(page, value);
  if (problem === undefined && isSame) return signInWith(page, value);
  page.set({ dialog: { is: 'link', token: value, subject, problem } });
}

/** Returns why the service does not accept the token; undefined: it is valid, even if it may not list loads. */
async function problemOfToken(page: Page, token: string): Promise<string | undefined> {
  const { transport } = page.connection;
  try {
    await createClient({ url: serviceUrl, token, transport, retryMs: 0 }).loads({ limit: 1 }).next();
  } catch (error) {
    if (!(error instanceof ProblemError) || error.status === 401) return failureFrom(error).detail;
  }
  return undefined;
}

/** If a file is chosen, the identity provider opens in another window, because leaving the page would lose the file. */
export async function signInAtProvider(page: Page): Promise<void> {
  const { session, file } = page.state;
  const { signIn } = session;
  if (signIn === undefined) return;
  if (file === undefined) return startSignIn(signIn);
  const explain = (problem: string) => page.set((state) => ({ session: { ...state.session, problem } }));
  const onClosed = () => {
    if (page.state.session.token === undefined)
      explain('The window of the identity provider was closed. Sign in again to continue.');
  };
  try {
    await signInWith(page, await signInInWindow(signIn, onClosed));
  } catch (error) {
    explain((error as Error).message);
  }
}

/** Removes everything that this tab stores about the user, and ends the session of the identity provider. Leaving the page makes sure that no late answer is shown. */
export function signOut(page: Page): void {
  const provider = endSessionUrl(page.state.session.signIn);
  sessionStorage.clear();
  page.set(({ session }) => initialState(sessionOf(undefined, session.signIn), { page: 'load' }));
  history.replaceState(null, '', hashOf({ page: 'load' }));
  if (provider === undefined) location.reload();
  else location.assign(provider);
}
