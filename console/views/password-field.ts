/** Asks for the password of an encrypted workbook. */
import type { VNode } from 'preact';
import type { Failure } from '../failure.ts';
import { h } from '../h.ts';
import { data } from './parts.ts';

/** Returns whether the service refused a workbook because its password is missing or wrong. */
export function needsPassword({ code }: Failure): boolean {
  return code === 'password-required' || code === 'wrong-password';
}

export function passwordField(
  { code }: Failure,
  fileName: string,
  openWith: (password: string) => void,
): VNode {
  const found =
    code === 'wrong-password' ? 'The password does not open the workbook.' : 'The workbook is encrypted.';
  return h(
    'form',
    {
      class: 'stack',
      onSubmit: (event: Event) => {
        event.preventDefault();
        const form = event.currentTarget as HTMLFormElement;
        const password = String(new FormData(form).get('workbook-password') ?? '');
        if (password !== '') openWith(password);
      },
    },
    [
      h('p', { class: 'notice bad', role: 'alert' }, found),
      h('label', { class: 'field' }, [
        h('span', { class: 'field-label' }, ['Password of ', data(fileName)]),
        h('input', {
          type: 'password',
          name: 'workbook-password',
          required: true,
          // Otherwise browsers offer to fill in a password of the user.
          autocomplete: 'new-password',
          'aria-describedby': 'password-hint',
        }),
      ]),
      h(
        'p',
        { class: 'hint', id: 'password-hint' },
        'The password opens the file at the service. It stays in this tab until you choose another file, and is not recorded.',
      ),
      h('p', null, h('button', { type: 'submit', class: 'button main' }, 'Open the workbook')),
    ],
  );
}
