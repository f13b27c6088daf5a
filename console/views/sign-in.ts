/** Asks for a token. The state of the page is kept, so an expired token loses no work. */
import type { VNode } from 'preact';
import type { Actions } from '../actions/create-actions.ts';
import { h } from '../h.ts';
import type { State } from '../state.ts';
import { busy, button, data } from './parts.ts';

export function signInView({ session, file, waitingFiles: [waiting] }: State, actions: Actions): VNode {
  const { signIn, problem, isBeingChecked = false } = session;
  const onSubmit = (event: Event): void => {
    event.preventDefault();
    const form = event.currentTarget as HTMLFormElement;
    const token = String(new FormData(form).get('token') ?? '');
    if (token.trim() !== '') actions.signInWith(token);
  };
  const kept = file ?? waiting;
  return h('div', { class: 'sign-in' }, [
    h('h1', null, 'Sign in'),
    problem ? h('p', { class: 'notice bad', role: 'alert' }, data(problem)) : null,
    kept &&
      h('p', null, [
        data(kept.name),
        ' and your choices are kept. ',
        signIn ? 'The identity provider opens in another window.' : 'Sign in with another token to continue.',
      ]),
    signIn && provider(signIn.authorizationEndpoint !== undefined, signIn.issuer, actions),
    h('form', { onSubmit }, [
      h('label', { class: 'field' }, [
        h('span', { class: 'field-label' }, signIn ? 'Or paste an access token' : 'Access token'),
        h('textarea', {
          name: 'token',
          rows: 4,
          required: true,
          autocomplete: 'off',
          spellcheck: false,
          'aria-describedby': 'token-hint',
          // A token has only one line, so Enter submits it.
          onKeyDown: (event: KeyboardEvent) => {
            if (event.key !== 'Enter' || event.isComposing) return;
            event.preventDefault();
            (event.currentTarget as HTMLTextAreaElement).form?.requestSubmit();
          },
          placeholder: 'eyJhbGciOi…',
        }),
      ]),
      h('p', { class: 'hint', id: 'token-hint' }, [
        'The token stays in this tab. It is removed when you close the tab or sign out. ',
        signIn
          ? null
          : ['On the machine of the service, ', h('code', null, 'npm run -s token'), ' prints one.'],
      ]),
      h('button', { type: 'submit', class: 'button main', disabled: isBeingChecked }, 'Sign in'),
      isBeingChecked && busy('The service is asked whether it accepts the token.'),
    ]),
  ]);
}

function provider(isReachable: boolean, issuer: string, actions: Actions): VNode {
  if (!isReachable) {
    return h('p', { class: 'notice warn' }, [
      `The identity provider ${issuer} does not answer. Load this page again later.`,
    ]);
  }
  return h(
    'p',
    null,
    button(`Sign in with ${new URL(issuer).host}`, actions.signInAtProvider, { kind: 'main' }),
  );
}
