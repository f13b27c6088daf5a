/** The state at the beginning, and of each new file. */
import { defaultOf } from './parameters.ts';
import type { Reading, Route, RowRules, Session, State } from './state.ts';

export function initialState(session: Session, route: Route): State {
  return {
    session,
    worker: session.subject,
    route,
    waitingFiles: [],
    ...emptyWork(),
    load: undefined,
    tables: { is: 'none' },
    tableFilter: '',
    tableSort: { by: 'name', isDescending: false },
    table: { is: 'none' },
    tableRows: { is: 'none' },
    tableLoads: { is: 'none' },
    tableChange: { is: 'none' },
    draft: { is: 'none' },
    plan: { is: 'none' },
    download: { is: 'none' },
    done: undefined,
    loads: { is: 'none' },
    loadFilter: { text: '', state: '', withChecks: false },
    oneLoad: { is: 'none' },
    savedProfile: { is: 'none' },
    changes: { is: 'none' },
    changesOf: undefined,
    faultyRows: { is: 'none' },
    faultyRowsOf: undefined,
    dialog: undefined,
    isAnswering: true,
    isBroken: false,
    remembered: [],
    announcement: '',
  };
}

/** Returns the empty state of everything that belongs to one file. */
export function emptyWork() {
  return {
    step: 'file',
    file: undefined,
    otherFiles: [],
    reading: emptyReading,
    inspection: { is: 'none' },
    isReadAgain: false,
    isReadingOpen: false,
    top: { is: 'none' },
    columns: [],
    columnsOf: undefined,
    plans: {},
    target: {
      schema: defaultOf('schema'),
      table: '',
      ifExists: defaultOf('if_exists'),
      onConflict: defaultOf('on_conflict'),
    },
    isTargetChosen: false,
    existing: { is: 'none' },
    profiles: { is: 'none' },
    mayUseProfile: false,
    usedProfile: { is: 'none' },
    alike: { is: 'none' },
    types: [],
    rows: noRules,
    corrections: [],
    correctionFault: undefined,
    repaired: { is: 'none' },
    check: { is: 'none' },
    checkedRequest: undefined,
    togetherFiles: [],
    together: { is: 'none' },
    togetherCheck: { is: 'none' },
    checkedPlan: undefined,
    shownProblem: undefined,
  } satisfies Partial<State>;
}

export const emptyReading: Reading = {
  sheet: undefined,
  headerRow: undefined,
  headerRows: 1,
  hasHeader: true,
  range: '',
  tableRange: '',
  skipHidden: false,
  skipFooter: false,
  nullValues: '',
  dateOrder: defaultOf('date_order'),
  decimalSign: defaultOf('decimal_sign'),
  thousandsSign: defaultOf('thousands_sign'),
  trim: false,
  isNatural: false,
  languages: '',
  errorsAreNull: false,
  rowsAt: undefined,
  more: {},
};

export const noRules: RowRules = {
  leaveOutFaulty: false,
  maxFaulty: Number(defaultOf('max_faulty_rows')),
  extraColumns: defaultOf('extra_columns'),
  misfits: defaultOf('misfits'),
  missing: { action: 'keep', column: '', max: '', within: '' },
};
