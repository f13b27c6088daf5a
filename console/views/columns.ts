/** Step 2: what the file contains, and what the table will be. */
import type { VNode } from 'preact';
import type { Actions } from '../actions/create-actions.ts';
import { offeredChoices, withDecimalSign, withThousandsSign } from '../derived/choices.ts';
import { isChanged, withKey } from '../derived/columns.ts';
import { planFaults } from '../derived/request.ts';
import {
  existingColumn,
  keepsDefinition,
  mayHaveKey,
  mayKeepDefinition,
  unseenWords,
} from '../derived/target.ts';
import { countInWords, plural, sizeInWords } from '../derived/words.ts';
import { h } from '../h.ts';
import {
  type ColumnPlan,
  type Inspection,
  noRules,
  type Reading,
  type State,
  type TopRows,
} from '../state.ts';
import { pgTypes } from './columns/pg-types.ts';
import { inspecting } from './file.ts';
import {
  busy,
  button,
  changedFileBox,
  checkbox,
  data,
  failureBox,
  field,
  select,
  shortened,
  textInput,
  warningList,
} from './parts.ts';
import { VirtualGrid, VirtualRows } from './virtual-grid.ts';

export function columnsView(state: State, actions: Actions): VNode {
  const { file, inspection, reading } = state;
  if (file === undefined) return h('p', null);
  return h('section', { class: 'columns-step' }, [
    h('div', { class: 'title-row' }, [
      h('h1', null, data(file.name)),
      h('span', { class: 'dim' }, sizeInWords(file.size)),
      button('Choose another file', actions.forgetFile, { kind: 'quiet' }),
    ]),
    inspection.is === 'busy' && inspecting(file, inspection.sentBytes),
    inspection.is === 'failed' &&
      (inspection.failure.isOfFile
        ? changedFileBox(inspection.failure, actions)
        : failureBox(inspection.failure)),
    inspection.is === 'failed' &&
      !inspection.failure.isOfFile &&
      h('section', { class: 'panel', 'aria-labelledby': 'sheet-title' }, [
        h('div', { class: 'panel-head' }, [
          h('h2', { id: 'sheet-title' }, 'In the file'),
          headerButton(state, actions),
        ]),
        headerChoice(state, undefined, actions),
      ]),
    (inspection.is === 'failed' || inspection.is === 'busy') && readingFields(state, actions),
    inspection.is === 'ready' && inspected(state, inspection.value, reading, actions),
  ]);
}

function inspected(
  state: State,
  inspection: Inspection,
  reading: Reading,
  actions: Actions,
): (VNode | null)[] {
  const faults = planFaults(state);
  return [
    sheetTabs(inspection, reading, actions),
    arraysOf(inspection, reading, actions),
    h(
      'section',
      {
        class: `panel${state.isReadAgain ? ' read-again' : ''}`,
        'aria-labelledby': 'sheet-title',
        'aria-busy': state.isReadAgain,
      },
      [
        h('div', { class: 'panel-head' }, [
          h('h2', { id: 'sheet-title' }, 'In the file'),
          h('span', { class: 'dim' }, [
            `${plural(inspection.rowCount, 'row')}, ${plural(inspection.header.length, 'column')}`,
          ]),
          headerButton(state, actions),
        ]),
        previewGrid(state, inspection),
        headerChoice(state, inspection, actions),
        warningList(
          inspection.warnings,
          (warning) => offeredChoices(state, warning, 'header'),
          actions.takeChoice,
        ),
        inspection.errorCount > 0 &&
          h('p', { class: 'notice bad' }, [
            `${plural(inspection.errorCount, 'cell')} cannot be loaded as ${inspection.errorCount === 1 ? 'it is' : 'they are'}. The check lists ${inspection.errorCount === 1 ? 'it' : 'them'} with a fix.`,
          ]),
        readingFields(state, actions),
      ],
    ),
    h('section', { class: 'panel', 'aria-labelledby': 'table-title' }, [
      h('div', { class: 'panel-head' }, h('h2', { id: 'table-title' }, 'In the database')),
      targetFields(state, actions),
      columnEditor(state, actions),
    ]),
    h('div', { class: 'action-bar' }, [
      h('div', { class: 'action-text' }, [
        state.isReadAgain
          ? h('span', { role: 'status' }, 'The file is being read again.')
          : faults.length > 0
            ? h('span', { class: 'bad-text', role: 'status' }, faults[0])
            : 'The check reads every row and writes nothing.',
      ]),
      button('Definition as JSON', () => actions.showDialog({ is: 'definition' }), { kind: 'quiet' }),
      button('curl', () => actions.showDialog({ is: 'curl' }), { kind: 'quiet' }),
      button('Check', actions.check, {
        kind: 'main',
        isDisabled: faults.length > 0 || state.isReadAgain,
        id: 'check',
      }),
    ]),
  ];
}

function sheetTabs({ sheets, sheet }: Inspection, reading: Reading, actions: Actions): VNode {
  if (sheets.length < 2) return h('div', null);
  return h('div', { class: 'chips', role: 'group', 'aria-label': 'Sheets' }, [
    sheets.map(({ name, isHidden, rows, columns, problem }) =>
      h(
        'button',
        {
          type: 'button',
          class: 'chip',
          'aria-pressed': name === sheet,
          title: problem,
          onClick: () =>
            actions.inspect({
              ...reading,
              sheet: name,
              headerRow: undefined,
              range: '',
              tableRange: '',
              hasHeader: true,
            }),
        },
        [
          h('span', { class: 'chip-name' }, data(name)),
          h('span', { class: 'chip-more' }, [
            `${countInWords(rows)} × ${countInWords(columns)}${isHidden ? ', hidden' : ''}${problem ? ', cannot be loaded' : ''}`,
          ]),
        ],
      ),
    ),
  ]);
}

function arraysOf({ arrays, rowsAt }: Inspection, reading: Reading, actions: Actions): VNode | null {
  if (arrays.length < 2) return null;
  const options = arrays.map(
    ({ rowsAt, rows }) =>
      [rowsAt, `${rowsAt === '' ? 'the document' : rowsAt} (${plural(rows, 'row')})`] as const,
  );
  return field(
    'Rows are at',
    select(rowsAt ?? '', options, (chosen) => actions.inspect({ ...reading, rowsAt: chosen })),
  );
}

const rowHeight = 30;

function previewGrid(
  { columns }: State,
  { rows, rowNumbers, headerRow, header, counts, types, warnings }: Inspection,
): VNode {
  const byHeader = new Map(columns.map((column) => [column.header, column]));
  const warned = new Map(warnings.map(({ column, detail }) => [column, detail]));
  return h(VirtualGrid, {
    label: 'The first rows of the file',
    columnCount: header.length,
    rowCount: rows.length,
    columnWidth: 184,
    rowHeight,
    headHeight: 92,
    maxHeight: 380,
    numberWidth: rowNumbers ? 64 : 0,
    cornerLabel: 'Row of the sheet',
    number: (row: number) => rowNumbers?.[row],
    head: (index: number) => {
      const plan = byHeader.get(header[index]!);
      const warning = warned.get(header[index]!);
      const reason = warning ?? plan?.reason ?? types[index];
      return h('div', { class: `head-cell${plan?.isIncluded === false ? ' out' : ''}` }, [
        h('span', { class: 'letters' }, [
          counts[index]?.letters ? `${counts[index].letters}${headerRow ?? ''}` : '',
        ]),
        h('span', { class: 'head-name' }, data(header[index]!)),
        h('span', { class: 'head-type' }, types[index]),
        h('span', { class: 'head-reason', title: reason }, [
          warning !== undefined && h('span', { class: 'warn-text' }, 'warning: '),
          reason,
        ]),
      ]);
    },
    cell: (row: number, column: number) => cellOf(rows[row]?.[column] ?? null, types[column]),
  });
}

const numberTypes = /^(bigint|integer|smallint|numeric|double precision|real)/;

export function cellOf(value: string | null, type = 'text'): { content: VNode | string; kind?: string } {
  if (value === null) return { content: 'NULL', kind: 'null' };
  return { content: h('bdi', null, shortened(value)), ...(numberTypes.test(type) && { kind: 'number' }) };
}

const headerButtonId = 'move-header';

/** Opens and closes the choice of the header. */
function headerButton({ file, top }: State, actions: Actions): VNode | null {
  if (file?.kind !== 'spreadsheet') return null;
  const isExpanded = top.is !== 'none';
  return button('Move the header or the range', isExpanded ? actions.closeTop : actions.readTop, {
    kind: 'quiet',
    id: headerButtonId,
    isExpanded,
  });
}

/** The first rows of the sheet as they are. A click on the number of a row makes it the header. */
function headerChoice(
  { top, reading }: State,
  inspection: Inspection | undefined,
  actions: Actions,
): VNode | null {
  if (top.is === 'none') return null;
  if (top.is === 'busy') return busy('The first rows of the sheet are being read.');
  if (top.is === 'failed') return failureBox(top.failure, actions.readTop);
  const { range = reading.range, headerRow = numberOf(reading.headerRow) } = inspection ?? {};
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
        { kind: 'quiet', label: 'Close header and range' },
      ),
    ]),
    h('p', { class: 'hint' }, [
      'These are the first rows of the sheet as they are. Choose the row that has the names of the columns.',
    ]),
    topGrid(top.value, { headerRow, range }, (row) =>
      again({ headerRow: row, hasHeader: true, range: '', tableRange: '' }),
    ),
    h('div', { class: 'fields' }, [
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
    ]),
    inspection && offers(inspection, again),
  ]);
}

function offers(
  { proposals, names, sheet }: Inspection,
  again: (change: Partial<Reading>) => void,
): VNode | null {
  if (proposals.length + names.length === 0) return null;
  return h('div', { class: 'chips', role: 'group', 'aria-label': 'Tables in the file' }, [
    proposals.map(({ headerRow, range, reasons }) =>
      h(
        'button',
        {
          type: 'button',
          class: 'chip',
          title: reasons.join(' '),
          onClick: () => again({ range, tableRange: '', headerRow }),
        },
        [h('span', { class: 'chip-name' }, range), h('span', { class: 'chip-more' }, 'looks like a table')],
      ),
    ),
    names.slice(0, 20).map(({ name, sheet: of, range }) =>
      h(
        'button',
        {
          type: 'button',
          class: 'chip',
          onClick: () =>
            again({ sheet: of === sheet ? sheet : of, tableRange: name, range: '', headerRow: undefined }),
        },
        [h('span', { class: 'chip-name' }, data(name)), h('span', { class: 'chip-more' }, `${of}!${range}`)],
      ),
    ),
  ]);
}

function topGrid(
  { letters, rows, rowNumbers }: TopRows,
  { headerRow, range }: Pick<Inspection, 'headerRow' | 'range'>,
  choose: (row: number) => void,
): VNode {
  const [, last] = /:[A-Z]+(\d+)$/.exec(range ?? '') ?? [];
  const lastRow = last === undefined ? Number.POSITIVE_INFINITY : Number(last);
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
      const isHeader = number === headerRow;
      return h(
        'button',
        {
          type: 'button',
          class: 'row-choice',
          'aria-pressed': isHeader,
          'aria-label': `Row ${number} is the header`,
          onClick: () => choose(number),
        },
        [
          // The name of the button contains its text (WCAG 2.5.3).
          isHeader ? `${number} is the header` : number,
        ],
      );
    },
    rowKind: (row: number) => {
      const number = rowNumbers[row] ?? row + 1;
      if (number === headerRow) return 'marked';
      return number < (headerRow ?? 0) || number > lastRow ? 'outside' : '';
    },
    cell: (row: number, column: number) => {
      const value = rows[row]?.[column] ?? null;
      return { content: value === null ? '' : h('bdi', null, shortened(value)) };
    },
  });
}

const dateOrders = [
  ['iso', '2026-11-21 only'],
  ['dmy', 'day, month, year: 21.11.2026'],
  ['mdy', 'month, day, year: 11/21/2026'],
  ['ymd', 'year, month, day: 26/11/21'],
] as const;
const decimalSigns = [
  ['.', 'point: 1.5'],
  [',', 'comma: 1,5'],
] as const;
const thousandsSigns = [
  ['none', 'none: 1234'],
  [',', 'comma: 1,234'],
  ['.', 'point: 1.234'],
  ['space', 'space: 1 234'],
  ["'", "apostrophe: 1'234"],
] as const;

function readingFields({ reading, file, isReadingOpen }: State, actions: Actions): VNode {
  const again = actions.changeReading;
  return h(
    'details',
    {
      class: 'more',
      open: isReadingOpen,
      onToggle: ({ currentTarget }) => actions.openReading(currentTarget.open),
    },
    [
      h('summary', null, 'How values are read'),
      h('div', { class: 'fields' }, [
        field(
          'Texts that mean NULL',
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
        checkbox('Remove white space around texts', reading.trim, (trim) => again({ trim })),
        file?.kind === 'spreadsheet' && [
          checkbox('Load error cells (#N/A) as NULL', reading.errorsAreNull, (errorsAreNull) =>
            again({ errorsAreNull }),
          ),
          checkbox('Leave out hidden rows and columns', reading.skipHidden, (skipHidden) =>
            again({ skipHidden }),
          ),
          checkbox('Leave out everything below the first empty row', reading.skipFooter, (skipFooter) =>
            again({ skipFooter }),
          ),
        ],
      ]),
    ],
  );
}

function numberOf(row: Reading['headerRow']): number | undefined {
  return typeof row === 'number' ? row : undefined;
}

const existsOptions = [
  ['append', 'Add the rows to it'],
  ['truncate', 'Empty it, then load the rows'],
  ['replace', 'Replace it with a new table'],
] as const;
const conflictOptions = [
  ['fail', 'is a problem'],
  ['skip', 'is left out'],
  ['update', 'updates the existing row'],
] as const;
const extraOptions = [
  ['fail', 'are a problem'],
  ['ignore', 'are left out'],
  ['add', 'are added to the table'],
] as const;

function targetFields(state: State, actions: Actions): VNode {
  const { target, existing, rows } = state;
  const exists = existing.is === 'ready' && existing.value !== null;
  const unseen = unseenWords(state);
  const hasRepeats =
    mayHaveKey(state) &&
    (exists ||
      (unseen !== undefined && target.ifExists !== 'fail') ||
      target.onConflict !== 'fail' ||
      state.columns.some(({ keyPlace, isUnique }) => keyPlace > 0 || isUnique));
  return h('div', null, [
    h('div', { class: 'fields' }, [
      field(
        'Schema',
        textInput(target.schema, (schema) => actions.changeTarget({ schema }), { name: 'schema' }),
      ),
      field(
        'Table',
        textInput(target.table, (table) => actions.changeTarget({ table }), { name: 'table' }),
        existingHint(state),
      ),
      (exists || unseen !== undefined) &&
        field(
          unseen === undefined ? 'This table exists already' : 'If this table exists',
          select(
            target.ifExists,
            [['fail', unseen === undefined ? 'Choose what to do' : 'Do not load'], ...existsOptions],
            (ifExists) => actions.changeTarget({ ifExists }),
            { name: 'if_exists' },
          ),
        ),
      hasRepeats &&
        field(
          'A row whose key already exists',
          select(target.onConflict, conflictOptions, (onConflict) => actions.changeTarget({ onConflict }), {
            name: 'on_conflict',
          }),
        ),
      mayKeepDefinition(state) &&
        field(
          'Columns that the table does not have',
          select(rows.extraColumns, extraOptions, (extraColumns) => actions.changeRows({ extraColumns }), {
            name: 'extra_columns',
          }),
        ),
    ]),
    unseen !== undefined && h('p', { class: 'notice warn', role: 'status' }, data(unseen)),
    h('div', { class: 'checks' }, [
      checkbox(
        `Leave out rows with problems, at most ${countInWords(rows.maxFaulty)}`,
        rows.leaveOutFaulty,
        (leaveOutFaulty) =>
          actions.changeRows({ leaveOutFaulty, ...(!leaveOutFaulty && { maxFaulty: noRules.maxFaulty }) }),
        { name: 'leave_out_faulty' },
      ),
    ]),
  ]);
}

/** Always has a line, so that nothing moves below the pointer when the answer comes. */
function existingHint({ existing }: State): string {
  if (existing.is !== 'ready') return '\u00a0';
  return existing.value === null ? 'A new table' : 'This table exists';
}

function columnEditor(state: State, actions: Actions): VNode {
  const { columns } = state;
  const keeps = keepsDefinition(state);
  const isNarrow = matchMedia('(max-width: 800px)').matches;
  const height = isNarrow ? 214 : 58;
  return h('div', { class: 'editor' }, [
    keeps
      ? h('p', { class: 'hint' }, [
          'The existing table decides types, NULL, defaults and keys. Names are matched to its columns.',
        ])
      : h('p', { class: 'hint' }, [
          'Choose a type from the list, or write any other type of the database, such as an enum.',
        ]),
    h('datalist', { id: 'types' }, [pgTypes.map(([type, about]) => h('option', { value: type }, about))]),
    h('div', { class: 'editor-head', 'aria-hidden': 'true' }, [
      ['', 'In the file', 'Column', 'Type', 'NULL', 'Key', ''].map((text) => h('span', null, text)),
    ]),
    h(VirtualRows, {
      label: 'Columns of the table',
      role: 'group',
      count: columns.length,
      rowHeight: height,
      maxHeight: Math.max(420, Math.min(900, innerHeight - 260)),
      row: (index: number) => columnRow(columns[index]!, index, keeps, state, actions),
    }),
  ]);
}

/** What happens to a column that the existing table does not have. */
const missingWords = {
  fail: 'is not in the table',
  ignore: 'is not in the table, is left out',
  add: 'is not in the table, is added',
} as const;

function columnRow(column: ColumnPlan, index: number, keeps: boolean, state: State, actions: Actions): VNode {
  const { columns, rows } = state;
  const { header, name, isIncluded, letters, example } = column;
  const existing = keeps ? existingColumn(state, name) : undefined;
  const { type, isNullable, keyPlace } = existing ?? column;
  const isMissing = keeps && existing === undefined && isIncluded;
  const isFixed = keeps || !isIncluded;
  const change = (to: Partial<ColumnPlan>): void => actions.changeColumn(index, to);
  const extras = [
    column.default !== '' && 'default',
    column.isUnique && 'unique',
    column.reference && 'foreign key',
  ].filter(Boolean);
  return h('div', { class: `editor-row${isIncluded ? '' : ' out'}` }, [
    h('input', {
      type: 'checkbox',
      class: 'include',
      checked: isIncluded,
      'aria-label': `Load ${shortened(header)}`,
      onChange: ({ currentTarget }) => change({ isIncluded: currentTarget.checked }),
    }),
    h('div', { class: 'in-file' }, [
      h('span', { class: 'in-file-name' }, [
        letters ? h('span', { class: 'letters' }, letters) : null,
        data(header),
      ]),
      h('span', { class: 'in-file-example', title: column.reason }, [
        example === undefined ? 'no value' : h('bdi', null, shortened(example)),
      ]),
    ]),
    textInput(name, (to) => change({ name: to }), {
      'aria-label': `Name of the column for ${shortened(header)}`,
      disabled: !isIncluded,
      class: 'name',
    }),
    h('div', { class: 'type-cell' }, [
      isMissing
        ? h('span', { class: 'warn-text' }, missingWords[rows.extraColumns])
        : textInput(type, (to) => change({ type: to }), {
            'aria-label': `Type of ${shortened(name)}`,
            list: 'types',
            disabled: isFixed,
            class: 'type',
          }),
      type !== column.inferredType &&
        !isFixed &&
        button('Undo', () => change({ type: column.inferredType }), {
          kind: 'tiny',
          label: `Take the inferred type ${column.inferredType} for ${shortened(name)}`,
        }),
    ]),
    checkbox('NULL', !isMissing && isNullable && keyPlace === 0, (to) => change({ isNullable: to }), {
      disabled: isFixed || keyPlace > 0,
      'aria-label': `${shortened(name)} may be NULL`,
    }),
    checkbox(
      keyPlace > 1 || columns.some((other) => other.keyPlace > 1) ? `Key ${keyPlace || ''}` : 'Key',
      !isMissing && keyPlace > 0,
      (to) => actions.changeColumns(withKey(columns, index, to)),
      { disabled: isFixed, 'aria-label': `${shortened(name)} is in the primary key` },
    ),
    button(extras.length > 0 ? extras.join(', ') : 'More', () => actions.openColumn(index), {
      kind: extras.length > 0 || isChanged(column) ? 'quiet set' : 'quiet',
      isDisabled: isFixed,
      label: `More about ${shortened(name)}${extras.length > 0 ? `: ${extras.join(', ')}` : ''}`,
    }),
  ]);
}
