/** The fields under “How values are read”. */
import type { VNode } from 'preact';
import type { Actions } from '../../actions/create-actions.ts';
import { withDecimalSign, withThousandsSign } from '../../derived/choices.ts';
import { fileParameters } from '../../derived/file-parameters.ts';
import { h } from '../../h.ts';
import { labelled } from '../../parameters.ts';
import type { ChosenFile, Reading, State } from '../../state.ts';
import { checkbox, field, select } from '../parts.ts';

const dateOrders = labelled<'date_order'>({
  iso: '2026-11-21 only',
  dmy: 'day, month, year: 21.11.2026',
  mdy: 'month, day, year: 11/21/2026',
  ymd: 'year, month, day: 26/11/21',
});

const decimalSigns = labelled<'decimal_sign'>({ '.': 'point: 1.5', ',': 'comma: 1,5' });

const thousandsSigns = labelled<'thousands_sign'>({
  none: 'none: 1234',
  ',': 'comma: 1,234',
  '.': 'point: 1.234',
  space: 'space: 1 234',
  "'": "apostrophe: 1'234",
});

export function readingFields({ reading, file, isReadingOpen }: State, actions: Actions): VNode {
  const again = actions.changeReading;
  const check = (label: string, name: 'trim' | 'isNatural' | 'errorsAreNull' | 'skipHidden' | 'skipFooter') =>
    checkbox(label, reading[name], (isChecked) => again({ [name]: isChecked }));
  const onToggle = ({ currentTarget }: { currentTarget: HTMLDetailsElement }) =>
    actions.openReading(currentTarget.open);
  return h('details', { class: 'more', open: isReadingOpen, onToggle }, [
    h('summary', null, 'How values are read'),
    h('div', { class: 'fields' }, [
      field(
        'Texts that mean “empty”',
        h('input', {
          type: 'text',
          value: reading.nullValues,
          placeholder: 'N/A,-',
          spellcheck: false,
          onInput: ({ currentTarget }) => actions.noteReading({ nullValues: currentTarget.value }),
          onChange: ({ currentTarget }) => again({ nullValues: currentTarget.value }),
        }),
        'Separated by commas',
      ),
      field(
        'Order of dates in texts',
        select(reading.dateOrder, dateOrders, (dateOrder) => again({ dateOrder })),
      ),
      (reading.isNatural || reading.dateOrder !== 'iso') && languagesField(reading, actions),
      field(
        'Decimal sign in texts',
        select(reading.decimalSign, decimalSigns, (decimalSign) =>
          again(withDecimalSign(reading, decimalSign)),
        ),
      ),
      field(
        'Thousands sign in texts',
        select(reading.thousandsSign, thousandsSigns, (thousandsSign) =>
          again(withThousandsSign(reading, thousandsSign)),
        ),
      ),
    ]),
    h('div', { class: 'checks' }, [
      check('Read dates, numbers and words as people write them', 'isNatural'),
      check('Remove white space around texts', 'trim'),
      file?.kind === 'spreadsheet' && [
        check('Load error cells (#N/A) as empty', 'errorsAreNull'),
        check('Leave out hidden rows and columns', 'skipHidden'),
        check('Leave out everything below the first empty row', 'skipFooter'),
      ],
    ]),
    moreFields(reading, file?.kind ?? 'spreadsheet', actions),
  ]);
}

/** The fields of parameters that are sent as they are. */
function moreFields({ more }: Reading, kind: ChosenFile['kind'], actions: Actions): VNode {
  return h('details', { class: 'more' }, [
    h('summary', null, 'More about the file'),
    h('div', { class: 'fields' }, [
      fileParameters(kind).map(({ name, label, hint, choices }) => {
        const value = more[name] ?? '';
        const changed = (to: string) => ({ more: { ...more, [name]: to } });
        const options = ['', ...(choices ?? [])].map((one) => [one, one || 'as usual'] as const);
        return field(
          label,
          choices
            ? select(value, options, (to) => actions.changeReading(changed(to)), { name })
            : h('input', {
                type: 'text',
                name,
                value,
                spellcheck: false,
                onInput: ({ currentTarget }) => actions.noteReading(changed(currentTarget.value)),
                onChange: ({ currentTarget }) => actions.changeReading(changed(currentTarget.value)),
              }),
          hint,
        );
      }),
    ]),
  ]);
}

function languagesField({ languages }: State['reading'], actions: Actions): VNode {
  return field(
    'Languages of months, yes and no',
    h('input', {
      type: 'text',
      value: languages,
      placeholder: 'de,fr',
      spellcheck: false,
      onInput: ({ currentTarget }) => actions.noteReading({ languages: currentTarget.value }),
      onChange: ({ currentTarget }) => actions.changeReading({ languages: currentTarget.value }),
    }),
    'Besides English',
  );
}
