/** Starts the page: signs the user in, shows the place for a file, and loads the rest of the program. On a slow network, files can be chosen long before it has arrived. */
import { render } from 'preact';
import type { Actions } from './actions/create-actions.ts';
import { keptLoad } from './actions/kept-load.ts';
import { routeOf } from './derived/routes.ts';
import { shownStep } from './derived/steps.ts';
import { pastedFile } from './file/pasted-file.ts';
import { initialState } from './initial-state.ts';
import { serviceSettings } from './service-settings.ts';
import { beginSession, takeLinkedToken } from './sign-in.ts';
import type { State, Step } from './state.ts';
import { createStepHistory } from './step-history.ts';
import { createStore } from './store.ts';
import { startView } from './views/start.ts';

const { signIn } = serviceSettings;
// If there is an identity provider, tokens in links are ignored, because anybody can send such a link. Only users who signed in at the provider have a session.
const linked = takeLinkedToken();
const token = signIn == null ? linked : undefined;
const session = await beginSession(signIn ?? undefined);
const isLinked = token !== undefined && session.token === undefined;
const page = document.getElementById('page')!;
/** How long the page waits after the last change before it checks the file by itself. */
const checkPauseMs = 700;

let program: typeof import('./program.ts') | undefined;
let lastStep: Step = 'file';
let pause: ReturnType<typeof setTimeout> | undefined;
const store = createStore(initialState({ ...session, isLinked }, routeOf(location.hash)), draw);
/** Do what the user asks for as soon as the program has arrived and the token of a link has been checked. */
const lateActions = new Proxy({ chooseFiles: (waitingFiles) => store.set({ waitingFiles }) } as Actions, {
  get: (own, name: keyof Actions) => own[name] ?? (async (...facts: []) => (await loaded)[name](...facts)),
});
let actions = lateActions;
const steps = createStepHistory(store, (step) => actions.showStep(step));
store.set({});

const loaded = import('./program.ts').then(begin, () => {
  store.set({ isBroken: true });
  return new Promise<Actions>(() => {});
});

async function begin(module: typeof import('./program.ts')): Promise<Actions> {
  program = module;
  const all = module.createActions(store);
  if (token === undefined) all.open(routeOf(location.hash));
  else await all.followLink(token);
  all.takeWaiting();
  actions = all;
  return all;
}

/** Does what the page does without being asked. */
function doByItself(): void {
  actions.useFitting();
  actions.findAlike();
  clearTimeout(pause);
  pause = setTimeout(() => {
    actions.checkAlone();
    actions.checkTogetherAlone();
  }, checkPauseMs);
}

function draw(state: State): void {
  render(program?.app(state, actions) ?? startView(state, actions, keptLoad() !== undefined), page);
  steps.note();
  if (actions !== lateActions) doByItself();
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
}

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
  if (clipboardData && !isField)
    actions.paste(clipboardData.getData('text/plain'), pastedFile(clipboardData));
});
// Without this, a file that is dropped outside its field would replace the page.
addEventListener('dragover', (event) => event.preventDefault());
addEventListener('drop', (event) => {
  const isTaken = event.defaultPrevented;
  event.preventDefault();
  if (!isTaken) actions.dropFiles([...(event.dataTransfer?.files ?? [])]);
});
addEventListener('beforeunload', (event) => {
  if (program?.losesWork(store.state) || program?.losesDraft(store.state)) event.preventDefault();
});
matchMedia('(max-width: 800px)').addEventListener('change', () => store.set({}));
