/** Starts the page: signs the user in, and shows the page. */
import { render } from 'preact';
import { createActions } from './actions/create-actions.ts';
import { losesWork } from './derived/load.ts';
import { routeOf } from './derived/routes.ts';
import { shownStep } from './derived/steps.ts';
import { losesDraft } from './derived/table-draft.ts';
import { initialState } from './initial-state.ts';
import { serviceSettings } from './service-settings.ts';
import { beginSession, takeLinkedToken } from './sign-in.ts';
import type { Step } from './state.ts';
import { createStepHistory } from './step-history.ts';
import { createStore } from './store.ts';
import { app } from './views/app.ts';

const { signIn } = serviceSettings;
// If there is an identity provider, tokens in links are ignored, because anybody can send such a link. Only users who signed in at the provider have a session.
const token = takeLinkedToken();
const session = await beginSession(signIn ?? undefined);
const page = document.getElementById('page')!;
/** How long the page waits after the last change before it checks the file by itself. */
const checkPauseMs = 700;

let lastStep: Step = 'file';
let pause: ReturnType<typeof setTimeout> | undefined;
const store = createStore(initialState(session, routeOf(location.hash)), (state) => {
  render(app(state, actions), page);
  steps.note();
  actions.useFitting();
  clearTimeout(pause);
  pause = setTimeout(() => {
    actions.checkAlone();
    actions.checkTogetherAlone();
  }, checkPauseMs);
  const step = shownStep(state);
  const isSame = step === lastStep || state.route.page !== 'load';
  lastStep = step;
  if (isSame) return;
  // The element that had the focus is gone, so the new step gets the focus. Focus and scrolling need the layout. The browser
  // computes it before the next frame anyway. Doing it here would block the page longer.
  requestAnimationFrame(() => {
    document.getElementById('main')?.focus({ preventScroll: true });
    scrollTo(0, 0);
  });
});
const actions = createActions(store);
const steps = createStepHistory(store, actions.showStep);

if (token === undefined || signIn != null) actions.open(store.state.route);
else actions.followLink(token);
addEventListener('popstate', steps.follow);
addEventListener('hashchange', () => {
  // A sign-in link may be opened in a tab that already shows the console. Then the page is not loaded again.
  const token = takeLinkedToken();
  if (token !== undefined) {
    store.set({ route: routeOf(location.hash) });
    if (signIn == null) actions.followLink(token);
    return;
  }
  actions.open(routeOf(location.hash));
  document.getElementById('main')?.focus();
});
addEventListener('paste', ({ target, clipboardData }) => {
  const isField = target instanceof Element && target.closest('input, textarea') !== null;
  if (clipboardData && !isField) actions.paste(clipboardData);
});
// Without this, a file that is dropped outside its field would replace the page.
addEventListener('dragover', (event) => event.preventDefault());
addEventListener('drop', (event) => {
  const isTaken = event.defaultPrevented;
  event.preventDefault();
  if (!isTaken) actions.dropFiles([...(event.dataTransfer?.files ?? [])]);
});
addEventListener('beforeunload', (event) => {
  if (losesWork(store.state) || losesDraft(store.state)) event.preventDefault();
});
matchMedia('(max-width: 800px)').addEventListener('change', () => store.set({}));
