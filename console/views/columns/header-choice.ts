/** Shows the first rows of the sheet unchanged, so that the user can choose the header row and the range. */
import type { VNode } from 'preact';
import type { Actions } from '../../actions/create-actions.ts';
import { h } from '../../h.ts';
import type { Inspection, TopRows } from '../../inspection.ts';
import type { Reading, State } from '../../state.ts';
import { busy, button, checkbox, chip, data, failureBox, field, shortened } from '../parts.ts';
import { VirtualGrid } from '../virtual-grid.ts';
import { rowHeight } from './file-panel.ts';

const headerButtonId = 'move-header';

/** Opens and closes the choice of the header. A file that states its columns has no addresses, and no header. */
export function headerButton({ file, inspection, top }: State, actions: Actions): VNode | null {
  if (file?.kind !== 'spreadsheet') return null;
  const counts = inspection.is === 'ready' ? inspection.value.counts : [];
  if (counts.length > 0 && counts.every(({ letters }) => letters === undefined)) return null;
  const isExpanded = top.is !== 'none';
  return button('Move the header or the range', isExpanded ? actions.closeTop : actions.readTop, {
    kind: 'quiet',
    id: headerButtonId,
    'aria-expanded': isExpanded,
  });
}

/** The first rows of the sheet as they are. A click on the number of a row makes it the header. */
export function headerChoice(
  { top, reading }: State,
  inspection: Inspection | undefined,
  actions: Actions,
): VNode | null {
  if (top.is === 'none') return null;
  if (top.is === 'busy') return busy('The first rows of the sheet are being read.');
  if (top.is === 'failed') return failureBox(top.failure, actions.readTop);
  const {
    range = reading.range,
    headerRow = numberOf(reading.headerRow),
    headerRows = reading.headerRows,
  } = inspection ?? {};
  const again = actions.changeReading;
  return h('div', { class: 'header-choice' }, [
    h('div', { class: 'panel-head' }, [
      h('h3', null, 'Header and range'),
      button(
        'Close',
        () => {
          actions.closeTop();
          document.getElementById(headerButtonId)?.focus();
        },
        { kind: 'quiet', 'aria-label': 'Close header and range' },
      ),
    ]),
    h('p', { class: 'hint' }, [
      'These are the first rows of the sheet as they are. Choose the row that has the names of the columns.',
    ]),
    topGrid(top.value, { headerRow, headerRows, range }, (row) =>
      again({ headerRow: row, hasHeader: true, range: '', tableRange: '' }),
    ),
    choiceFields(reading, { headerRow, headerRows, range }, again),
    inspection && offers(inspection, again),
  ]);
}

function choiceFields(
  reading: Reading,
  { headerRow, headerRows, range }: Pick<Inspection, 'headerRow' | 'headerRows' | 'range'>,
  again: (change: Partial<Reading>) => void,
): VNode {
  return h('div', { class: 'fields' }, [
    field(
      'Header row',
      h('input', {
        type: 'number',
        min: 1,
        value: headerRow ?? '',
        disabled: !reading.hasHeader,
        onChange: ({ currentTarget }) =>
          again({ headerRow: currentTarget.value === '' ? undefined : Number(currentTarget.value) }),
      }),
    ),
    field(
      'Rows of the header',
      h('input', {
        type: 'number',
        min: 1,
        max: 20,
        value: headerRows,
        disabled: !reading.hasHeader,
        onChange: ({ currentTarget }) => again({ headerRow, headerRows: Number(currentTarget.value) || 1 }),
      }),
      'Rows below the header that are no data, such as units, count too. Their texts are added to the names',
    ),
    field(
      'Range',
      h('input', {
        type: 'text',
        value: reading.range || range || '',
        spellcheck: false,
        onChange: ({ currentTarget }) =>
          again({ range: currentTarget.value.trim().toUpperCase(), tableRange: '', headerRow: undefined }),
      }),
      'The cells to load, with the header: B3:F200',
    ),
    checkbox('The first row is the header', reading.hasHeader, (hasHeader) =>
      again({ hasHeader, headerRow: undefined }),
    ),
  ]);
}

function offers({ proposals, names }: Inspection, again: (change: Partial<Reading>) => void): VNode | null {
  if (proposals.length + names.length === 0) return null;
  return h('div', { class: 'chips', role: 'group', 'aria-label': 'Tables in the file' }, [
    proposals.map(({ headerRow, headerRows, range, reasons }) =>
      chip(range, 'looks like a table', () => again({ range, tableRange: '', headerRow, headerRows }), {
        title: reasons.join(' '),
      }),
    ),
    names
      .slice(0, 20)
      .map(({ name, sheet: of, range }) =>
        chip(data(name), `${of}!${range}`, () =>
          again({ sheet: of, tableRange: name, range: '', headerRow: undefined }),
        ),
      ),
  ]);
}

function topGrid(
  { letters, rows, rowNumbers }: TopRows,
  { headerRow = 0, headerRows, range }: Pick<Inspection, 'headerRow' | 'headerRows' | 'range'>,
  choose: (row: number) => void,
): VNode {
  const [, last] = /:[A-Z]+(\d+)$/.exec(range ?? '') ?? [];
  const lastRow = last === undefined ? Number.POSITIVE_INFINITY : Number(last);
  const isInHeader = (row: number): boolean =>
    row >= headerRow && row < headerRow + headerRows && headerRow > 0;
  return h(VirtualGrid, {
    label: 'The first rows of the sheet',
    columnCount: letters.length,
    rowCount: rows.length,
    columnWidth: 150,
    rowHeight,
    headHeight: 30,
    maxHeight: 320,
    numberWidth: 140,
    cornerLabel: 'Choose the header',
    head: (column: number) => h('span', { class: 'letters' }, letters[column]),
    number: (row: number) => {
      const number = rowNumbers[row] ?? row + 1;
      const isHeader = isInHeader(number);
      // The name of the button contains its text (WCAG 2.5.3).
      return button(isHeader ? `${number} is the header` : number, () => choose(number), {
        class: 'row-choice',
        'aria-pressed': isHeader,
        'aria-label': `Row ${number} is the header`,
      });
    },
    rowKind: (row: number) => {
      const number = rowNumbers[row] ?? row + 1;
      if (isInHeader(number)) return 'marked';
      return number < headerRow || number > lastRow ? 'outside' : '';
    },
    cell: (row: number, column: number) => {
      const value = rows[row]?.[column] ?? null;
      return { content: value === null ? '' : h('bdi', null, shortened(value)) };
    },
  });
}

function numberOf(row: Reading['headerRow']): number | undefined {
  return typeof row === 'number' ? row : undefined;
}
