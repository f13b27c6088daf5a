/** Starts the page: reads the settings of the service, signs in, and draws what the page knows. */
import { render } from 'preact';
import { createActions } from './actions/create-actions.ts';
import { losesWork } from './derived/load.ts';
import { routeOf } from './derived/routes.ts';
import { shownStep } from './derived/steps.ts';
import { beginSession, takeLinkedToken } from './sign-in.ts';
import { initialState, type SignInSettings, type Step } from './state.ts';
import { createStepHistory } from './step-history.ts';
import { createStore } from './store.ts';
import { app } from './views/app.ts';

const settings = JSON.parse(
  document.querySelector<HTMLMetaElement>('meta[name=tablewright]')?.content ?? '{}',
) as { signIn?: SignInSettings | null };
// With an identity provider, only people who have signed in there have a session. Everybody could send a link with a token.
const token = takeLinkedToken();
const session = await beginSession(settings.signIn ?? undefined);
const page = document.getElementById('page')!;
let lastStep: Step = 'file';
const store = createStore(initialState(session, routeOf(location.hash)), (state) => {
  render(app(state, actions), page);
  steps.note();
  const step = shownStep(state);
  const isSame = step === lastStep || state.route.page !== 'load';
  lastStep = step;
  if (isSame) return;
  // The control with the focus is not in the new step. Keys go on from the beginning of the step.
  // Both need the layout, which the browser computes before the next frame. To do them at once would block the page for longer.
  requestAnimationFrame(() => {
    document.getElementById('main')?.focus({ preventScroll: true });
    scrollTo(0, 0);
  });
});
const actions = createActions(store);
const steps = createStepHistory(store, actions.showStep);

if (token === undefined || settings.signIn != null) actions.open(store.state.route);
else actions.followLink(token);
addEventListener('popstate', steps.follow);
addEventListener('hashchange', () => {
  // A sign-in link can be opened in a tab that has the console already.
  const token = takeLinkedToken();
  if (token !== undefined) {
    store.set({ route: routeOf(location.hash) });
    if (settings.signIn == null) actions.followLink(token);
    return;
  }
  actions.open(routeOf(location.hash));
  document.getElementById('main')?.focus();
});
// A file that is dropped beside its place must not replace the page.
for (const type of ['dragover', 'drop']) addEventListener(type, (event) => event.preventDefault());
addEventListener('beforeunload', (event) => {
  if (losesWork(store.state)) event.preventDefault();
});
matchMedia('(max-width: 800px)').addEventListener('change', () => store.set({}));
