/** The state of the page. `derived/` computes values from it, `actions/` change it, and `views/` show it. */
import type {
  components,
  ListedLoad,
  ListedProfile,
  ListedTable,
  ListedType,
  Load,
  LoadChanges,
  LoadQuery,
  Problem,
  TableDescription,
} from '../client/client.ts';
import type { Failure } from './failure.ts';
import type { Inspection, TopRows } from './inspection.ts';
import type { LoadOutcome, LoadResult, TablesResult } from './load-outcome.ts';
import type { ValueOf } from './parameters.ts';

export type FirstRows = components['schemas']['FirstRows'];

/** Settings for files with a header. Those of a load are kept until the page is closed. */
export type Settings = Pick<ListedProfile, 'headers' | 'parameters'> & {
  /** The load created its table. The user has never said that more files go into it, so the page asks. */
  isOfNewTable: boolean;
};

export interface State {
  session: Session;
  /** The subject of the last accepted token. The file and the choices belong to this user, also after the token has expired. */
  worker: string | undefined;
  route: Route;
  step: Step;
  /** What the user has chosen before the page can read it: before its program has arrived, or while the token of a link is checked. */
  waitingFiles: File[];
  file: ChosenFile | undefined;
  /** The names of the files that were dropped together with the file, and were not taken. */
  otherFiles: string[];
  /** The parameters with which the file is read. */
  reading: Reading;
  inspection: Remote<Inspection>;
  /** true: the file is being read again with other parameters. Until the answer arrives, the page shows the previous inspection. */
  isReadAgain: boolean;
  /** true: the fields under "How values are read" are visible. */
  isReadingOpen: boolean;
  /** The first rows of the sheet without any interpretation, for choosing the header. */
  top: Remote<TopRows>;
  columns: ColumnPlan[];
  /** The sheet or array to which `columns` belong; undefined: the first one that is read. */
  columnsOf: string | undefined;
  /** The columns that each sheet or array has had in any range, with the changes of the user. */
  plans: Record<string, ColumnPlan[]>;
  target: Target;
  /** true: the user began at the page of the table, so the name of a file does not change the target. */
  isTargetChosen: boolean;
  /** The existing table with the name of the target; null: there is none. */
  existing: Remote<TableDescription | null>;
  /** The types of the database that PostgreSQL itself does not have: enums, domains, types of extensions. */
  types: ListedType[];
  rows: RowRules;
  /** The cells that the user has corrected, in all sheets of the file. */
  corrections: CellCorrection[];
  /** Why the last correction was not made. */
  correctionFault: string | undefined;
  /** The name of the file with all rows and the corrections that was saved. */
  repaired: Remote<string>;
  check: Remote<Checked>;
  /** The text of the request that `check` belongs to. If the request differs from it, the check is out of date. */
  checkedRequest: string | undefined;
  /** The files that become several tables in one load; empty: one file is loaded. */
  togetherFiles: ChosenFile[];
  together: Remote<Together>;
  togetherCheck: Remote<TablesChecked>;
  /** The text of the plan that `togetherCheck` belongs to. */
  checkedPlan: string | undefined;
  /** The problem whose row is shown. */
  shownProblem: ShownProblem | undefined;
  load: LoadProgress | undefined;
  tables: Remote<{ tables: ListedTable[]; loadedAt: LoadTimes }>;
  tableFilter: string;
  tableSort: TableSort;
  table: Remote<{ table: TableDescription }>;
  /** A page of the rows of the table. */
  tableRows: Remote<RowsPage>;
  /** The last loads of the table. */
  tableLoads: Remote<ListedLoad[]>;
  /** The change of a table that the user has asked for: true when it is done. */
  tableChange: Remote<true>;
  /** The table whose columns the user changes. */
  draft: Remote<TableDraft>;
  plan: Remote<TablePlan>;
  /** The file of a table that is being read: true when it is complete. */
  download: Remote<true>;
  /** What was done, shown on the page with this address. */
  done: { words: string; hash: string } | undefined;
  loads: Remote<{ loads: ListedLoad[]; hasMore: boolean }>;
  loadFilter: LoadFilter;
  oneLoad: Remote<Load>;
  /** The saved settings that the token may use. */
  profiles: Remote<ListedProfile[]>;
  /** The settings of the loads since the page was opened, the newest first. */
  remembered: Settings[];
  /** true: the file is new, and the user has not changed the target, a column or a rule for rows, so the page may use settings that fit it. */
  mayUseProfile: boolean;
  /** The existing table that has a similar name and the columns of the new file; null: there is none. */
  alike: Remote<string | null>;
  savedProfile: Remote<true>;
  /** The name of the settings that are used for the file; an empty text: those of the last load of a file with its header. */
  usedProfile: Remote<string>;
  /** A page of the changes of a load or a check. */
  changes: Remote<ChangesPage>;
  /** The load to which `changes` belong. */
  changesOf: string | undefined;
  /** The file with the rows with problems that was saved. */
  faultyRows: Remote<{ name: string; isComplete: boolean }>;
  /** The load to which `faultyRows` belong. */
  faultyRowsOf: string | undefined;
  dialog: Dialog | undefined;
  /** false: the page waits for the service, but the service does not respond. */
  isAnswering: boolean;
  /** true: the rest of the program of the page could not be loaded. */
  isBroken: boolean;
  /** The text that a screen reader announces. */
  announcement: string;
}

/** A file is loaded in the steps `file`, `columns`, `check` and `load`; several tables in `file`, `together` and `load`. */
export type Step = 'file' | 'columns' | 'check' | 'together' | 'load';

export type Route =
  | { page: 'load' }
  | { page: 'tables' }
  | { page: 'table'; schema: string; name: string }
  | { page: 'change-table'; schema: string; name: string }
  | { page: 'loads' }
  | { page: 'one-load'; id: string };

/** When each table was loaded last, by the text of `keyOfTable`. */
export type LoadTimes = ReadonlyMap<string, string>;

export interface TableSort {
  by: 'name' | 'rows' | 'bytes' | 'loaded';
  isDescending: boolean;
}

export interface RowsPage extends FirstRows {
  /** The column by which the rows are ordered; undefined: the order in which PostgreSQL stores them. */
  sort: RowSort | undefined;
  /** The places at which the pages so far begin. The last one is that of this page. */
  starts: RowsStart[];
}

export interface RowSort {
  column: string;
  isDescending: boolean;
}

export interface RowsStart {
  /** The number of rows before the page. */
  before: number;
  /** undefined: the first page. */
  after: string | undefined;
}

export interface LoadFilter {
  /** Part of the name of a table, a file or a person. */
  text: string;
  /** An empty text: all states. */
  state: ListedLoad['state'] | '';
  withChecks: boolean;
}

export interface Session {
  token: string | undefined;
  /** The subject in the token. It is only shown: the page does not verify tokens. */
  subject: string | undefined;
  scopes: string[];
  /** true: the service is being asked whether it accepts a token. */
  isBeingChecked?: boolean;
  /** true: the token comes from a link, and no user is signed in. The place for a file is already shown while the token is checked. */
  isLinked?: boolean;
  /** Why a new token is needed. */
  problem: string | undefined;
  /** The identity provider; undefined: there is none, and users paste a token. */
  signIn: SignInSettings | undefined;
}

export interface SignInSettings {
  issuer: string;
  clientId: string;
  scope: string;
  audience?: string;
  resource?: string;
  authorizationEndpoint?: string;
  tokenEndpoint?: string;
  endSessionEndpoint?: string;
}

export type Remote<Value> =
  | { is: 'none' }
  | { is: 'busy'; sentBytes: number; load?: Load | undefined }
  | { is: 'ready'; value: Value }
  | { is: 'failed'; failure: Failure };

export interface ChosenFile {
  name: string;
  size: number;
  kind: 'json' | 'ndjson' | 'spreadsheet';
  content: File;
  /** The password of an encrypted workbook. */
  password?: string;
  /** The link from which the service fetches the file for each step. `content` is then empty. */
  link?: string;
}

export interface Reading {
  /** undefined: the only or the first visible sheet. */
  sheet: string | undefined;
  /** undefined: the first row that has a value. */
  headerRow: number | 'auto' | undefined;
  /** The number of rows of the header. */
  headerRows: number;
  hasHeader: boolean;
  range: string;
  tableRange: string;
  skipHidden: boolean;
  skipFooter: boolean;
  nullValues: string;
  dateOrder: ValueOf<'date_order'>;
  decimalSign: ValueOf<'decimal_sign'>;
  thousandsSign: ValueOf<'thousands_sign'>;
  trim: boolean;
  /** true: sends `values=natural`. */
  isNatural: boolean;
  languages: string;
  errorsAreNull: boolean;
  rowsAt: string | undefined;
  /** The parameters of `derived/file-parameters.ts` that are set. */
  more: Partial<Record<keyof LoadQuery, string>>;
}

export interface ColumnPlan {
  /** The name of the column in the file. */
  header: string;
  letters: string | undefined;
  name: string;
  /** true: the user has chosen the name. Otherwise it is the header, or a proposed column of the existing table. */
  isNamed: boolean;
  /** true: the name is a proposed column of the existing table whose name is only similar to the header. */
  isGuess: boolean;
  /** true: the column is added to the existing table. */
  isNew: boolean;
  type: string;
  inferredType: string;
  /** true: no row has a value. */
  isEmpty: boolean;
  reason: string;
  isIncluded: boolean;
  isNullable: boolean;
  default: string;
  /** The position in the primary key, from 1; 0: the column is not in the key. */
  keyPlace: number;
  isUnique: boolean;
  reference: Reference | undefined;
}

export interface Reference {
  schema: string;
  table: string;
  column: string;
}

export interface Target {
  schema: string;
  table: string;
  ifExists: ValueOf<'if_exists'>;
  onConflict: ValueOf<'on_conflict'>;
}

export interface RowRules {
  leaveOutFaulty: boolean;
  maxFaulty: number;
  /** The parameter `extra_columns`: what happens to columns of the file that the existing table does not have. */
  extraColumns: ValueOf<'extra_columns'>;
  /** The parameter `misfits`: what happens to values that do not fit the types of the existing table. */
  misfits: ValueOf<'misfits'>;
  missing: MissingRows;
}

/** What happens to rows of the table that the file does not have: the parameters `missing_rows`, `max_missing_rows` and `missing_within`. */
export interface MissingRows {
  action: 'keep' | 'delete' | 'mark';
  /** The column that marks the rows. */
  column: string;
  /** A number or a share, as the user writes it. An empty text: the default. */
  max: string;
  within: string;
}

/** The place of a cell in the terms of the file. */
export interface CellPlace {
  /** The address in the sheet, such as `B4`; undefined: the file has no addresses. */
  cell: string | undefined;
  /** The number of the data row, from 1. */
  row: number | undefined;
  header: string;
}

/** A new value for a cell. The file itself is not changed. */
export interface CellCorrection extends CellPlace {
  /** The sheet or array, as in `columnsOf`. */
  part: string | undefined;
  /** null: the cell is empty. */
  from: string | null;
  to: string | null;
}

export interface Checked {
  result: LoadResult | undefined;
  failure: Failure | undefined;
  /** All problems; undefined: the page knows only those in the answer of the check. */
  all: Problem[] | undefined;
  isReadingAll: boolean;
  /** true: the check is being done again with other corrections. */
  isCheckedAgain: boolean;
  openGroup: string | undefined;
  /** The keys of the groups of problems in the order in which the page shows them. They keep their places while cells are corrected. */
  order: string[];
}

export interface ShownProblem {
  problem: Problem;
  row: Remote<ShownRow>;
}

export interface ShownRow {
  names: string[];
  values: (string | null)[];
  /** undefined: the cell cannot be corrected. */
  places: (CellPlace | undefined)[];
  /** The index of the cell that has the problem; -1: no cell. */
  marked: number;
}

/** The tables of a load of several tables. */
export interface Together {
  schema: string;
  parts: Part[];
  /** The tables of the database, by the text of `keyOfTable`; undefined: the page does not know them. */
  existing: ReadonlySet<string> | undefined;
}

/** One table of a load of several tables, such as a sheet. */
export interface Part {
  /** The index of its file in `togetherFiles`. */
  file: number;
  /** undefined: the only sheet. */
  sheet: string | undefined;
  fileInZip: string | undefined;
  /** The name of its sheet or file. */
  label: string;
  /** The name of its workbook or zip file; undefined: the label says enough. */
  origin: string | undefined;
  /** true: the service has found a header. */
  hasHeader: boolean;
  isHidden: boolean;
  /** undefined: only the check finds them. */
  rows: number | undefined;
  columns: number | undefined;
  /** Why it cannot be loaded with the others; undefined: it can. */
  obstacle: string | undefined;
  isIncluded: boolean;
  table: string;
  ifExists: Target['ifExists'];
  /** The columns of the file, as the check of a new table has found them; empty: they are not known. */
  headers: string[];
  /** An existing table with the same columns, to which the rows may belong. */
  alike: string | undefined;
  /** The saved settings with which it is read; their name is undefined if they are those of an earlier load. */
  settings: { name: string | undefined; parameters: Record<string, string> } | undefined;
  /** The cells that the user has corrected. */
  corrections: CellCorrection[];
  /** The columns that the last check has found. */
  found: { name: string; type: string }[];
  /** The columns that refer to another table of the load. */
  links: string[];
}

/** The result of the dry run of several tables, or why they cannot be loaded. */
export interface TablesChecked {
  result: TablesResult | undefined;
  failure: Failure | undefined;
}

export interface LoadProgress {
  /** true: several tables are loaded together. */
  isOfParts: boolean;
  /** The idempotency key of the upload, by which the record of the load is found. undefined: the service stores no records. */
  key: string | undefined;
  fileName: string;
  fileBytes: number;
  /** The expected number of rows; undefined: not known, because the page was reloaded. */
  expectedRows: number | undefined;
  sentBytes: number;
  /** Times are in milliseconds since the page was opened. */
  startedAt: number;
  rowsSince: number | undefined;
  isCancelling: boolean;
  outcome: LoadOutcome;
  rows: LoadedRows | undefined;
  /** Why the rows of the table are not shown. */
  rowsFailure: Failure | undefined;
}

/** Rows of the table after a load. */
export interface LoadedRows extends FirstRows {
  /** true: the load added its rows to a table that existed. */
  isAppended: boolean;
  sort: RowSort | undefined;
}

export interface TableDraft {
  table: TableDescription;
  /** The version of the definition. The change is refused if the table has another one by then. */
  etag: string;
  columns: DraftColumn[];
}

export interface DraftColumn {
  /** The column as it is; undefined: a new column. */
  before: TableDescription['columns'][number] | undefined;
  name: string;
  type: string;
  isNullable: boolean;
  /** An empty text: none. */
  default: string;
  comment: string;
  isRemoved: boolean;
}

export type PlannedChange = components['schemas']['TableChangeStep'];

/** What the service would do to the table. */
export interface TablePlan {
  changes: PlannedChange[];
  /** The indexes of the changes whose loss the user allows. */
  ticked: number[];
}

export type DownloadFormat = 'csv' | 'xlsx';

export interface ChangesPage {
  list: LoadChanges;
  /** The number of changes before the page. */
  after: number;
}

export interface TableName {
  schema: string;
  name: string;
}

export type Dialog =
  | { is: 'definition' }
  | { is: 'curl' }
  /** A sign-in link: its token belongs to another user, or the service does not accept it. */
  | { is: 'link'; token: string; subject: string | undefined; problem: string | undefined }
  | { is: 'download' }
  | { is: 'profile'; name: string; isShared: boolean }
  | { is: 'drop'; typed: string }
  | { is: 'rename'; to: TableName & { comment: string } }
  | {
      is: 'column';
      index: number;
      /** undefined: the service has not answered yet. */
      tables: ListedTable[] | undefined;
      referenced: TableDescription | undefined;
    };
