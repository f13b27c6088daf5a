/** What the service has decided by itself, in one line each, and its warnings, grouped by kind, with buttons for what the user may choose. */
import type { VNode } from 'preact';
import { type OfferedChoice, withJointChoices } from '../derived/choices.ts';
import { hashOf } from '../derived/routes.ts';
import { decisionsOf, isOpen, summaryOf, warningWords } from '../derived/warnings.ts';
import type { Warning } from '../failure.ts';
import { h } from '../h.ts';
import type { Reading } from '../state.ts';
import { button, type Child, data } from './parts.ts';

const maxOfKind = 50;

/** More warnings of a kind are folded. */
const maxUnfolded = 3;

/** The warning that the same file was loaded before comes first: rows may be added twice. */
const isSameFile = ({ code }: Warning): boolean => code === 'same-file';

/**
 * @param choicesOf returns the choices that the page offers for a warning
 * @param onUndo undefined: what was decided cannot be undone here
 */
export function warningList(
  warnings: Warning[],
  choicesOf: (warning: Warning) => OfferedChoice[],
  onChoice: (choice: OfferedChoice) => void,
  onUndo?: (change: Partial<Reading>) => void,
): Child {
  return [decisionList(warnings, onUndo), openWarnings(warnings.filter(isOpen), choicesOf, onChoice)];
}

function openWarnings(
  warnings: Warning[],
  choicesOf: (warning: Warning) => OfferedChoice[],
  onChoice: (choice: OfferedChoice) => void,
): VNode | null {
  if (warnings.length === 0) return null;
  const ordered = [...warnings].sort((one, other) => Number(isSameFile(other)) - Number(isSameFile(one)));
  return h('details', { class: 'notice warn', open: true }, [
    h('summary', null, h('span', { class: 'notice-title' }, `Warnings (${warnings.length})`)),
    h('ul', null, [
      [...Map.groupBy(ordered, ({ code }) => code)].map(([code, some]) => {
        // Warnings about several columns often have the same choice, which then is one button.
        const choices = withJointChoices(some.flatMap(choicesOf));
        const byLabel = new Map(choices.map((choice) => [choice.label, choice]));
        const id = `warning-${code}`;
        return h('li', null, [
          h('div', { id }, some.length > maxUnfolded ? folded(code, some) : some.map(line)),
          byLabel.size > 0 &&
            h('div', { class: 'fixes' }, [
              [...byLabel].map(([label, choice]) =>
                button(data(label), () => onChoice(choice), { kind: 'fix', 'aria-describedby': id }),
              ),
            ]),
        ]);
      }),
    ]),
  ]);
}

const line = (warning: Warning): VNode =>
  h('div', null, isSameFile(warning) ? sameFile(warning) : data(warningWords(warning)));

function folded(code: string, warnings: Warning[]): VNode {
  const rest = warnings.length - maxOfKind;
  return h('details', null, [
    h('summary', null, data(summaryOf(code, warnings))),
    warnings.slice(0, maxOfKind).map(line),
    rest > 0 && h('div', null, `and ${rest} more`),
  ]);
}

function decisionList(warnings: Warning[], onUndo?: (change: Partial<Reading>) => void): VNode[] {
  return decisionsOf(warnings).map(({ words, undo }) =>
    h('p', { class: 'decision' }, [
      data(words),
      undo !== undefined &&
        onUndo !== undefined && [
          ' ',
          button('Undo', () => onUndo(undo), { kind: 'tiny', 'aria-label': `Undo: ${words}` }),
        ],
    ]),
  );
}

/** The text of the warning names the earlier load, if the token may see it. */
function sameFile({ detail }: Warning): Child {
  const earlier = /, at (\S+?)(?:\.\d+)?Z by the load ([\da-f-]{36})/.exec(detail);
  if (earlier === null) return h('strong', null, data(detail));
  const [found, moment, id] = earlier as unknown as [string, string, string];
  return [
    h('strong', null, 'The same file was loaded into this table before'),
    `, at ${moment.replace('T', ' ')} UTC (`,
    h('a', { href: hashOf({ page: 'one-load', id }) }, 'the earlier load'),
    ')',
    data(detail.slice(earlier.index + found.length)),
  ];
}
