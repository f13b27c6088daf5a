/** Starts the page: reads the settings of the service, signs in, and draws what the page knows. */
import { render } from 'preact';
import { createActions } from './actions.ts';
import { routeOf } from './follows.ts';
import { beginSession } from './sign-in.ts';
import { initialState, type SignInSettings, type Step } from './state.ts';
import { createStore } from './store.ts';
import { app } from './views/app.ts';

const settings = JSON.parse(
  document.querySelector<HTMLMetaElement>('meta[name=tablewright]')?.content ?? '{}',
) as { signIn?: SignInSettings | null };
const session = await beginSession(settings.signIn ?? undefined);
const page = document.getElementById('page')!;
let shownStep: Step = 'file';
const store = createStore(initialState(session, routeOf(location.hash)), (state) => {
  render(app(state, actions), page);
  const isSame = state.step === shownStep || state.route.page !== 'load';
  shownStep = state.step;
  if (isSame) return;
  // The control with the focus is not in the new step. Keys go on from the beginning of the step.
  document.getElementById('main')?.focus({ preventScroll: true });
  scrollTo(0, 0);
});
const actions = createActions(store);

actions.open(store.state.route);
addEventListener('hashchange', () => {
  actions.open(routeOf(location.hash));
  document.getElementById('main')?.focus();
});
// A file that is dropped beside its place must not replace the page.
for (const type of ['dragover', 'drop']) addEventListener(type, (event) => event.preventDefault());
addEventListener('beforeunload', (event) => {
  const { load } = store.state;
  const isSending =
    load && !load.result && !load.failure && (load.load?.state ?? 'receiving') === 'receiving';
  if (isSending) event.preventDefault();
});
matchMedia('(max-width: 800px)').addEventListener('change', () => store.update((state) => state));
