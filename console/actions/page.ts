/** What all actions share: the state of the page, the client of the service, and the running requests. */
import { type Client, createClient, ProblemError } from '../../client/client.ts';
import { type Connection, createConnection } from '../connection.ts';
import { waitsForService } from '../derived/steps.ts';
import { type Failure, failureFrom } from '../failure.ts';
import { changeOf } from '../file/chosen-file.ts';
import { serviceUrl } from '../service-url.ts';
import { sessionOf } from '../sign-in.ts';
import type { Store } from '../store.ts';
import { createRequests, type Requests } from './requests.ts';

export interface Page extends Store, Requests {
  client: Client;
  connection: Connection;
  /** Returns the error in the form in which the page shows it. Shows the sign-in form if the service does not accept the token. */
  failureOf(error: unknown): Failure;
  /** @throws ChangedFileError if the browser can no longer read a chosen file */
  requireFile(): Promise<void>;
  /** Resolved when the last change of the target table has been looked up. A check or load that starts earlier might refer to the previous table. */
  lookedUp: Promise<void>;
  /** Announces the text through a screen reader. */
  say(announcement: string): void;
}

export function createPage(store: Store): Page {
  const { set } = store;

  function failureOf(error: unknown): Failure {
    if (error instanceof ProblemError && error.status === 401) {
      const problem = error.code === 'missing-token' ? undefined : error.detail;
      set(({ session }) => ({ session: { ...sessionOf(undefined, session.signIn), problem } }));
    }
    return failureFrom(error);
  }

  async function requireFile(): Promise<void> {
    const { file, togetherFiles } = store.state;
    for (const one of new Set([...(file ? [file] : []), ...togetherFiles])) {
      const change = await changeOf(one);
      if (change) throw change;
    }
  }

  /** A file that cannot be read makes a request fail in the same way as a lost connection. Such a request must not be repeated. */
  async function stopIfChanged(): Promise<void> {
    await requireFile().catch((change: Error) => {
      const keys = ['inspection', 'top', 'check', 'together', 'togetherCheck', 'load'] as const;
      for (const key of keys) requests.stop(key, change);
    });
  }

  const requests = createRequests(store, failureOf);
  const connection = createConnection(
    () => waitsForService(store.state),
    (isAnswering) => {
      if (store.state.isAnswering !== isAnswering) set({ isAnswering });
    },
  );
  const client = createClient({
    url: serviceUrl,
    token: () => store.state.session.token,
    transport: connection.transport,
    onRetry: () => void stopIfChanged(),
  });
  return {
    get state() {
      return store.state;
    },
    set,
    ...requests,
    client,
    connection,
    failureOf,
    requireFile,
    lookedUp: Promise.resolve(),
    say: (announcement) => set({ announcement }),
  };
}
