/** Small elements that several views use. */
import { Component, type ComponentChildren, createRef, type VNode } from 'preact';
import type { Actions } from '../actions/create-actions.ts';
import { plainWords, reasonInWords } from '../derived/problems.ts';
import { withVisibleControls } from '../derived/words.ts';
import type { Failure } from '../failure.ts';
import { type Attributes, h } from '../h.ts';
import type { Remote, Step } from '../state.ts';

export type Child = ComponentChildren;

/** The attributes of a button. `kind` is a class in style.css. */
type ButtonAttributes = Attributes<'button'> & { kind?: string };

export function button(
  label: Child,
  onClick: () => void,
  { kind = 'plain', ...attributes }: ButtonAttributes = {},
): VNode {
  // A main button leads to the next one at the same place, which must not take the second click of a double click.
  const onOneClick = kind === 'main' ? ({ detail }: MouseEvent) => detail < 2 && onClick() : onClick;
  return h('button', { type: 'button', class: `button ${kind}`, ...attributes, onClick: onOneClick }, label);
}

/** A button that shows another step. */
export function stepButton(label: string, step: Step, actions: Pick<Actions, 'showStep'>): VNode {
  return button(label, () => actions.showStep(step));
}

/** A button that selects one of several tables or sheets. */
export function chip(
  name: Child,
  more: string,
  onClick: () => void,
  attributes: ButtonAttributes = {},
): VNode {
  const label = [h('span', { class: 'chip-name' }, name), h('span', { class: 'chip-more' }, more)];
  return button(label, onClick, { class: 'chip', ...attributes });
}

/** The attributes of a control besides its value. */
interface ControlAttributes {
  type?: 'text' | 'search';
  name?: string;
  class?: string;
  list?: string;
  placeholder?: string;
  disabled?: boolean;
  'aria-label'?: string;
}

/** A label above its control. */
export function field(label: string, control: VNode, hint?: Child, kind = ''): VNode {
  return h('label', { class: `field ${kind}` }, [
    h('span', { class: 'field-label' }, label),
    control,
    hint ? h('span', { class: 'hint' }, hint) : null,
  ]);
}

export function textInput(
  value: string,
  onInput: (value: string) => void,
  more: ControlAttributes = {},
): VNode {
  return h('input', {
    type: 'text',
    value,
    autocomplete: 'off',
    spellcheck: false,
    autocapitalize: 'off',
    ...more,
    onInput: ({ currentTarget }) => onInput(currentTarget.value),
  });
}

export function checkbox(
  label: Child,
  isChecked: boolean,
  onChange: (isChecked: boolean) => void,
  more: Omit<ControlAttributes, 'type'> = {},
): VNode {
  return h('label', { class: 'checkbox' }, [
    h('input', {
      type: 'checkbox',
      checked: isChecked,
      ...more,
      onChange: ({ currentTarget }) => onChange(currentTarget.checked),
    }),
    h('span', null, label),
  ]);
}

export function select<Value extends string>(
  value: Value,
  options: readonly (readonly [Value, string])[],
  onChange: (value: Value) => void,
  more: ControlAttributes = {},
): VNode {
  return h(
    'select',
    { value, ...more, onChange: ({ currentTarget }) => onChange(currentTarget.value as Value) },
    [options.map(([option, label]) => h('option', { value: option, selected: option === value }, label))],
  );
}

/** A list of details, each with its label. */
export function factList(kind: string, facts: (readonly [label: string, fact: Child])[]): VNode {
  const pairs = facts.map(([label, fact]) => h('div', null, [h('dt', null, label), h('dd', null, fact)]));
  return h('dl', { class: kind }, pairs);
}

/** Shows a value that is requested from the service. @param words the text while the request is running */
export function remoteView<Value>(
  remote: Remote<Value>,
  words: string,
  onReady: (value: Value) => Child,
  onRetry?: () => void,
): Child {
  if (remote.is === 'failed') return failureBox(remote.failure, onRetry);
  if (remote.is === 'ready') return onReady(remote.value);
  return remote.is === 'busy' && busy(words);
}

/** Shows text of the file or the database. `bdi` keeps characters of direction in it from changing the text around it. */
export function data(text: string): VNode {
  return h('bdi', { class: 'data' }, shortened(text));
}

/** Longer texts would make the page slow. Invisible characters are shown as their number. */
const maxShown = 400;

export function shortened(text: string): string {
  return withVisibleControls(text.length > maxShown ? `${text.slice(0, maxShown)}…` : text);
}

/** What a user can do about a refusal with the status 403. */
const refusals: Record<string, string> = {
  'insufficient-scope': ' Whoever gave you the access token can give you one that allows it.',
  'schema-forbidden': ' Your access token is for other schemas. Whoever gave it to you can add this one.',
  'permission-denied':
    ' The database does not allow it to you. The owner of the table or an administrator can do it, or grant you the right.',
};

export function failureBox(
  { title, detail, code, errors, errorCount }: Failure,
  onRetry?: () => void,
): VNode {
  const listed = errors.slice(0, 20);
  // A single problem is usually the whole text.
  const isListed = listed.length > 1 || listed.some((problem) => !detail.includes(problem.detail));
  return h('div', { class: 'notice bad', role: 'alert' }, [
    h('p', { class: 'notice-title' }, title),
    // Texts without a code are those of the page itself.
    h('p', null, [data((code && plainWords(detail)) || detail), refusals[code ?? '']]),
    isListed &&
      h('ul', null, [
        listed.map((problem) =>
          h('li', null, [problem.column ? [data(problem.column), ': '] : null, data(reasonInWords(problem))]),
        ),
      ]),
    isListed && errorCount > listed.length && h('p', null, `and ${errorCount - listed.length} more`),
    h('p', { class: 'notice-actions' }, [
      onRetry && button('Try again', onRetry),
      code
        ? h('a', { href: `/docs/errors/${encodeURIComponent(code)}`, target: '_blank', rel: 'noopener' }, [
            'What this error means',
          ])
        : null,
    ]),
  ]);
}

/** Explains that the file was changed after it was chosen. If the user chooses a file of the same name again, the choices are kept. */
export function changedFileBox(failure: Failure, actions: Pick<Actions, 'showStep'>): VNode[] {
  return [failureBox(failure), h('p', null, stepButton('Choose it again', 'file', actions))];
}

/** Says that there is nothing to show yet, and what to do. */
export function emptyState(title: string, words: string): VNode {
  return h('div', { class: 'empty', role: 'status' }, [
    h('p', { class: 'empty-title' }, title),
    h('p', null, words),
  ]);
}

/** Formats a time of the service to the second, in UTC. */
export function moment(text: string): string {
  return text.replace('T', ' ').replace(/\.\d+Z$/, ' UTC');
}

export function busy(words: string): VNode {
  return h('p', { class: 'busy', role: 'status' }, [
    h('span', { class: 'spinner', 'aria-hidden': 'true' }),
    words,
  ]);
}

export function bar(label: string, share: number | undefined, words: Child): VNode {
  const percent = share === undefined ? undefined : Math.round(share * 1000) / 10;
  return h('div', { class: 'bar' }, [
    h('div', { class: 'bar-head' }, [
      h('span', { class: 'bar-label' }, label),
      h('span', { class: 'bar-words' }, words),
    ]),
    h(
      'div',
      {
        class: `bar-track${percent === undefined ? ' endless' : ''}`,
        role: 'progressbar',
        'aria-label': label,
        'aria-valuemin': 0,
        'aria-valuemax': 100,
        ...(percent !== undefined && { 'aria-valuenow': percent }),
      },
      [h('div', { class: 'bar-done', style: { width: `${percent ?? 30}%` } })],
    ),
  ]);
}

interface DialogProps {
  key?: string;
  title: Child;
  onClose: () => void;
  children: Child;
}

/** A modal dialog. The browser keeps the focus inside it and restores the focus afterwards. */
export class Modal extends Component<DialogProps> {
  readonly #element = createRef<HTMLDialogElement>();

  override componentDidMount(): void {
    this.#element.current?.showModal();
  }

  /** Closes the dialog as the Escape key does, so that the browser restores the focus. */
  readonly #close = (): void => this.#element.current?.close();

  render({ title, onClose, children }: DialogProps): VNode {
    return h(
      'dialog',
      {
        ref: this.#element,
        'aria-labelledby': 'dialog-title',
        // The `close` event arrives one frame later. By then the page may already show another dialog.
        onClose: () => {
          if (this.#element.current) onClose();
        },
        onClick: ({ target, currentTarget }: MouseEvent) => {
          if (target === currentTarget) this.#close();
        },
      },
      [
        h('div', { class: 'dialog-body' }, [
          h('header', { class: 'dialog-head' }, [
            h('h2', { id: 'dialog-title' }, title),
            button('Close', this.#close, { kind: 'quiet' }),
          ]),
          children,
        ]),
      ],
    );
  }
}

/** Text to copy, such as a command. */
export function codeBlock(text: string, label: string, onCopy: (text: string) => void): VNode {
  return h('div', { class: 'code' }, [
    h('pre', { tabIndex: 0, role: 'region', 'aria-label': label }, shownCode(text)),
    button('Copy', () => onCopy(text), { kind: 'quiet' }),
  ]);
}

const maxCode = 20_000;

function shownCode(text: string): string {
  return text.length > maxCode ? `${text.slice(0, maxCode)}\n… Copy to get the whole text.` : text;
}
