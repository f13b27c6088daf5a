/** What a person can do: each function talks to the service and changes what the page knows. */
import {
  type Client,
  ConnectionError,
  createClient,
  hasEnded,
  type InspectedSpreadsheet,
  type Load,
  type LoadedTable,
  type Problem,
  ProblemError,
  resultOf,
  type TableDescription,
} from '../client/client.ts';
import { xhrTransport } from '../client/xhr-transport.ts';
import type { OfferedChoice } from './choices.ts';
import { ChangedFileError, changeOf } from './chosen-file.ts';
import {
  cellOf,
  type Fix,
  hashOf,
  inspectionOfJson,
  inspectionOfSheet,
  isRunning,
  isTokenFailure,
  keepsDefinition,
  keptLoadOf,
  kindOf,
  noRules,
  pastedToken,
  planColumns,
  planFaults,
  plural,
  problemsOfCsv,
  proposedReading,
  readingQuery,
  requestText,
  rowOfSheet,
  targetOf,
  uploadPlan,
  withFix,
  withoutTokenFailures,
} from './follows.ts';
import { jsonWithDefinition } from './json-with-definition.ts';
import { rowOfJson } from './row-of-json.ts';
import { sessionOf, signInInWindow, startSignIn } from './sign-in.ts';
import {
  type Checked,
  type ChosenFile,
  type ColumnPlan,
  emptyReading,
  emptyWork,
  type Failure,
  initialState,
  type ListedLoad,
  type ListedTable,
  type LoadProgress,
  type Reading,
  type Route,
  type RowRules,
  type State,
  type Step,
  type Target,
} from './state.ts';
import type { Store } from './store.ts';

/** The id of the load of this tab, and the name of its file. */
const loadKey = 'tablewright.load';

export type Actions = ReturnType<typeof createActions>;

export function createActions(store: Store) {
  const { update } = store;
  const token = (): string | undefined => store.state.session.token;
  const client: Client = createClient({
    url: location.origin,
    token,
    transport: xhrTransport,
    onRetry: () => void stopIfChanged(),
  });
  let inspecting = new AbortController();
  let readingTop = new AbortController();
  let checking = new AbortController();
  let sending = new AbortController();
  let targetChanges = 0;
  /** Fulfilled when the last change of the target has been looked up. A check or load of an earlier answer would be about another table. */
  let lookedUp: Promise<void> = Promise.resolve();

  /** Returns the failure for the page, and asks for another token if the service does not accept this one. */
  function failureOf(error: unknown): Failure {
    if (error instanceof ProblemError && error.status === 401) {
      const problem = error.code === 'missing-token' ? undefined : error.detail;
      update((state) => ({ ...state, session: { ...sessionOf(undefined, state.session.signIn), problem } }));
    }
    return failureFrom(error);
  }

  /** A request whose file cannot be read fails like a lost connection. It would fail again each time. */
  async function stopIfChanged(): Promise<void> {
    await requireFile().catch((change: unknown) => {
      for (const request of [inspecting, readingTop, checking, sending]) request.abort(change);
    });
  }

  /** @throws ChangedFileError if the file cannot be read any more */
  async function requireFile(): Promise<void> {
    const { file } = store.state;
    const change = file && (await changeOf(file));
    if (change) throw change;
  }

  function say(announcement: string): void {
    update((state) => ({ ...state, announcement }));
  }

  /** Asks the service whether it accepts the token, and then shows the page. */
  async function signInWith(text: string): Promise<void> {
    const value = pastedToken(text);
    update((state) => ({
      ...state,
      session: { ...sessionOf(undefined, state.session.signIn), isBeingChecked: true },
    }));
    const problem = await problemOfToken(value);
    const { signIn } = store.state.session;
    if (problem !== undefined) {
      update((state) => ({ ...state, session: { ...sessionOf(undefined, signIn), problem } }));
      return;
    }
    const before = store.state;
    update((state) => ({ ...withoutTokenFailures(state), session: sessionOf(value, signIn) }));
    if (isTokenFailure(before.inspection)) inspect(before.reading);
    if (isTokenFailure(before.existing)) lookUpTarget();
    open(store.state.route);
    lookAgain();
  }

  /** Returns why the service does not accept the token. A token that may not list loads is valid. */
  async function problemOfToken(value: string): Promise<string | undefined> {
    try {
      const asking = createClient({
        url: location.origin,
        token: value,
        transport: xhrTransport,
        retryMs: 0,
      });
      await asking.loads({ limit: 1 }).next();
    } catch (error) {
      if (!(error instanceof ProblemError) || error.status === 401) return failureFrom(error).detail;
    }
    return undefined;
  }

  /** A person who has chosen a file signs in in another window, because a page that leaves its address loses the file. */
  async function signInAtProvider(): Promise<void> {
    const { session, file } = store.state;
    const { signIn } = session;
    if (signIn === undefined) return;
    if (file === undefined) return startSignIn(signIn);
    try {
      await signInWith(await signInInWindow(signIn));
    } catch (error) {
      const problem = (error as Error).message;
      update((state) => ({ ...state, session: { ...state.session, problem } }));
    }
  }

  /** Removes everything that this tab has of the person. The page is loaded again, so that no late answer comes back. */
  function signOut(): void {
    sessionStorage.clear();
    update(({ session }) => initialState(sessionOf(undefined, session.signIn), { page: 'load' }));
    history.replaceState(null, '', hashOf({ page: 'load' }));
    location.reload();
  }

  function go(route: Route): void {
    location.hash = hashOf(route);
  }

  /** Shows a page, and reads what it shows. */
  function open(route: Route): void {
    update((state) => ({ ...state, route, dialog: undefined }));
    if (token() === undefined) return;
    if (route.page === 'tables') readTables();
    else if (route.page === 'table') readTable(route.schema, route.name);
    else if (route.page === 'loads') readLoads();
    else if (route.page === 'one-load') watchOne(route.id);
    else findLoad();
  }

  function chooseFile(content: File): void {
    const kind = kindOf(content.name);
    const { reading, columns, target, rows, file } = store.state;
    // A person who chooses a file again has corrected it, and keeps the choices.
    const isAgain = file?.name === content.name;
    readingTop.abort();
    checking.abort();
    update((state) => ({
      ...state,
      ...emptyWork(),
      load: undefined,
      file: { name: content.name, size: content.size, kind, content },
      target: { ...targetOf(content.name), schema: target.schema },
      rows: noRules,
      ...(isAgain && { columns, target, rows }),
    }));
    sessionStorage.removeItem(loadKey);
    inspect(isAgain ? reading : emptyReading);
    lookUpTarget();
  }

  function forgetFile(): void {
    inspecting.abort();
    readingTop.abort();
    checking.abort();
    sessionStorage.removeItem(loadKey);
    update((state) => ({ ...state, ...emptyWork(), load: undefined }));
  }

  /** Reads the file again in another way. @returns whether the answer was taken; another reading may replace this one */
  async function inspect(reading: Reading): Promise<boolean> {
    inspecting.abort();
    inspecting = new AbortController();
    const { signal } = inspecting;
    const { file } = store.state;
    if (file === undefined) return false;
    const isReadAgain = store.state.inspection.is === 'ready';
    update((state) => ({
      ...state,
      reading,
      isReadAgain,
      inspection: isReadAgain ? state.inspection : { is: 'busy', sentBytes: 0 },
    }));
    try {
      await requireFile();
      const query = readingQuery(reading, file.kind);
      const onSent = (sentBytes: number) =>
        update((state) =>
          signal.aborted || isReadAgain ? state : { ...state, inspection: { is: 'busy', sentBytes } },
        );
      const ask = (asked: object) =>
        client.inspect({ ...asked, file: file.content, name: file.name, kind: file.kind, signal, onSent });
      const answer = await ask(query);
      let taken = reading;
      let inspection = 'sheet' in answer ? inspectionOfSheet(answer) : inspectionOfJson(answer);
      if ('sheet' in answer && reading === emptyReading) {
        const proposed = proposedReading(answer, reading);
        if (proposed !== undefined) {
          taken = proposed;
          inspection = inspectionOfSheet(
            (await ask(readingQuery(proposed, file.kind))) as InspectedSpreadsheet,
          );
        }
      }
      if (wasStopped(signal)) return false;
      if (inspection.sheets.length > 1) taken = { ...taken, sheet: inspection.sheet };
      const { sheet, headerRow } = taken;
      update((state) => ({
        ...state,
        // The person may have changed the other choices meanwhile.
        reading: { ...state.reading, sheet, headerRow },
        isReadAgain: false,
        inspection: { is: 'ready', value: inspection },
        columns: planColumns(inspection, state.columns),
        step: state.step === 'file' ? 'columns' : state.step,
        announcement: `${file.name} was read: ${inspection.header.length} columns.`,
      }));
      const { top } = store.state;
      if (top.is === 'ready' && top.value.sheet !== inspection.sheet) readTop();
      return true;
    } catch (error) {
      if (wasStopped(signal)) return false;
      const failure = failureOf(error);
      update((state) => ({ ...state, isReadAgain: false, inspection: { is: 'failed', failure } }));
      return false;
    }
  }

  /** Applies a choice of a warning, and reads the file again. A check is done again, too. */
  async function takeChoice({ reading, columns }: OfferedChoice): Promise<void> {
    // A load that is done has created the table, so the person has to say what happens to it.
    if (store.state.step === 'load') showStep('columns');
    update((state) => ({ ...state, columns }));
    if (store.state.step === 'check') await checkWith(reading);
    else if (reading !== store.state.reading) await inspect(reading);
  }

  /** Does the check again. If the file is read in another way, its columns are read first. */
  async function checkWith(reading: Reading): Promise<void> {
    if (reading !== store.state.reading) {
      checking.abort();
      update((state) => ({ ...state, check: { is: 'busy', sentBytes: 0 }, shownProblem: undefined }));
      const isRead = await inspect(reading);
      const { check, step } = store.state;
      // The person may have stopped the check meanwhile.
      if (check.is !== 'busy') return;
      if (!isRead || step !== 'check') {
        update((state) => ({ ...state, check: { is: 'none' } }));
        if (step === 'check') showStep('columns');
        return;
      }
    }
    await check();
  }

  /** Reads the file again with a change. Earlier changes stay, also those whose answer has not come yet. */
  function changeReading(change: Partial<Reading>): void {
    inspect({ ...store.state.reading, ...change });
  }

  /** Keeps a text while it is written. The file is read again when it is finished. */
  function noteReading(change: Partial<Reading>): void {
    update((state) => ({ ...state, reading: { ...state.reading, ...change } }));
  }

  function openReading(isReadingOpen: boolean): void {
    if (store.state.isReadingOpen !== isReadingOpen) update((state) => ({ ...state, isReadingOpen }));
  }

  /** Shows the first rows of the sheet without a header, for choosing it. */
  async function readTop(): Promise<void> {
    const { file, inspection, reading } = store.state;
    if (file === undefined) return;
    readingTop.abort();
    readingTop = new AbortController();
    const { signal } = readingTop;
    const sheet = inspection.is === 'ready' ? inspection.value.sheet : reading.sheet;
    update((state) => ({ ...state, top: { is: 'busy', sentBytes: 0 } }));
    try {
      await requireFile();
      const answer = await readCells(file, sheet, 'A1:XFD60', signal);
      const { rows, row_numbers = [], columns } = answer.sheet;
      if (wasStopped(signal)) return;
      const letters = columns.map(({ letters = '' }) => letters);
      const value = { sheet: answer.sheet.name, letters, rows, rowNumbers: row_numbers };
      update((state) => ({ ...state, top: { is: 'ready', value } }));
    } catch (error) {
      if (!wasStopped(signal))
        update((state) => ({ ...state, top: { is: 'failed', failure: failureOf(error) } }));
    }
  }

  function closeTop(): void {
    readingTop.abort();
    update((state) => ({ ...state, top: { is: 'none' } }));
  }

  function changeColumn(index: number, to: Partial<ColumnPlan>): void {
    update((state) => ({
      ...state,
      columns: state.columns.map((column, at) => (at === index ? { ...column, ...to } : column)),
    }));
  }

  function changeColumns(columns: ColumnPlan[]): void {
    update((state) => ({ ...state, columns }));
  }

  function changeTarget(to: Partial<Target>): void {
    update((state) => ({ ...state, target: { ...state.target, ...to } }));
    if (to.schema !== undefined || to.table !== undefined) lookUpTarget();
  }

  function changeRows(to: Partial<RowRules>): void {
    update((state) => ({ ...state, rows: { ...state.rows, ...to } }));
  }

  /** Asks whether the table exists, a moment after the last key. */
  function lookUpTarget(): void {
    targetChanges++;
    const change = targetChanges;
    const moment = new Promise<void>((resolve) => setTimeout(resolve, 300));
    lookedUp = moment.then(() => (change === targetChanges ? readTarget() : lookedUp));
  }

  async function readTarget(): Promise<void> {
    const { schema, table } = store.state.target;
    if (table === '' || schema === '') return;
    let existing: State['existing'];
    try {
      existing = { is: 'ready', value: (await client.describeTable(table, { schema })).table };
    } catch (error) {
      const isMissing = error instanceof ProblemError && error.code === 'table-not-found';
      existing = isMissing ? { is: 'ready', value: null } : { is: 'failed', failure: failureOf(error) };
    }
    const { target } = store.state;
    if (target.schema === schema && target.table === table) update((state) => ({ ...state, existing }));
  }

  function showStep(step: Step): void {
    update((state) => ({ ...state, step, dialog: undefined }));
    // The table may have been created, changed or dropped since the last look.
    if (step === 'columns') lookUpTarget();
  }

  /** Returns cells of the file as the sheet shows them, without a header. */
  async function readCells(
    file: ChosenFile,
    sheet: string | undefined,
    range: string,
    signal?: AbortSignal,
  ): Promise<InspectedSpreadsheet> {
    const answer = await client.inspect({
      ...(sheet && { sheet }),
      header: false,
      range,
      file: file.content,
      name: file.name,
      kind: file.kind,
      ...(signal && { signal }),
    });
    return answer as InspectedSpreadsheet;
  }

  async function sendUpload(options: {
    dry_run: boolean;
    signal: AbortSignal;
    onSent?: (bytes: number) => void;
  }): Promise<Load | LoadedTable> {
    const { state } = store;
    const { file } = state;
    const { kind, schema, table, query, definition } = uploadPlan(state);
    const isJson = kind !== 'spreadsheet';
    const wrapped =
      isJson && definition
        ? await jsonWithDefinition(file!.content, kind, JSON.stringify(definition))
        : undefined;
    return client.enqueue({
      ...query,
      ...options,
      schema,
      table,
      file: wrapped ?? file!.content,
      name: file!.name,
      kind: wrapped ? 'json' : kind,
      ...(!isJson && definition && { definition }),
    });
  }

  /** Sends the file for a dry run and follows it until it has ended. @param onLoad called with each change */
  async function runDry(
    signal: AbortSignal,
    onSent: (bytes: number) => void,
    onLoad: (load: Load) => void,
  ): Promise<LoadedTable> {
    const begun = await sendUpload({ dry_run: true, signal, onSent });
    // A service without records of loads answers with the table.
    if (!('state' in begun)) return begun;
    onLoad(begun);
    let last = begun;
    for await (const load of client.watch(begun.id, { signal })) {
      last = load;
      onLoad(load);
    }
    return resultOf(last) ?? shortResult(last);
  }

  /** Does a dry run: everything is done and checked, and then rolled back. */
  async function check(): Promise<void> {
    await lookedUp;
    if (planFaults(store.state).length > 0) {
      showStep('columns');
      return;
    }
    checking.abort();
    checking = new AbortController();
    const { signal } = checking;
    let id: string | undefined;
    signal.addEventListener('abort', () => {
      if (id !== undefined) client.cancel(id).catch(() => {});
    });
    update((state) => ({
      ...state,
      step: 'check',
      check: { is: 'busy', sentBytes: 0 },
      checkedRequest: requestText(state),
      shownProblem: undefined,
      announcement: 'The file is being checked.',
    }));
    const progress = (change: { sentBytes?: number; load?: Load }) =>
      update((state) =>
        state.check.is === 'busy' ? { ...state, check: { ...state.check, ...change } } : state,
      );
    try {
      await requireFile();
      const result = await runDry(
        signal,
        (sentBytes) => progress({ sentBytes }),
        (load) => {
          // A check that has ended cannot be cancelled.
          id = hasEnded(load) ? undefined : load.id;
          progress({ load });
        },
      );
      finishCheck({ result, failure: undefined });
    } catch (error) {
      if (wasStopped(signal)) return;
      const failure = failureOf(error);
      if (failure.code === 'table-exists') lookUpTarget();
      if (failure.errorCount > 0) finishCheck({ result: undefined, failure });
      else update((state) => ({ ...state, check: { is: 'failed', failure } }));
    }
  }

  function finishCheck(found: { result: LoadedTable | undefined; failure: Failure | undefined }): void {
    const words = found.failure
      ? `${plural(found.failure.errorCount, 'problem was', 'problems were')} found.`
      : 'No problems were found.';
    update((state) => ({
      ...state,
      check: { is: 'ready', value: { ...found, all: undefined, isReadingAll: false, openGroup: undefined } },
      announcement: words,
    }));
  }

  function stopCheck(): void {
    checking.abort(new Error('stopped'));
    update((state) => ({ ...state, check: { is: 'none' }, step: 'columns' }));
    lookUpTarget();
  }

  /** Reads all problems, at most 100,000. */
  async function readAllProblems(): Promise<void> {
    const changeCheck = (to: Partial<Checked>): void =>
      update((state) =>
        state.check.is === 'ready'
          ? { ...state, check: { is: 'ready', value: { ...state.check.value, ...to } } }
          : state,
      );
    changeCheck({ isReadingAll: true });
    try {
      changeCheck({ isReadingAll: false, all: problemsOfCsv(await problemsAsCsv()) });
    } catch (error) {
      changeCheck({ isReadingAll: false });
      say(failureOf(error).detail);
    }
  }

  /** Returns all problems of the check as the service has stored them. The page asks only for a load that is recorded. */
  function problemsAsCsv(): Promise<string> {
    const { check } = store.state;
    return client.problemsCsv((check.is === 'ready' && check.value.failure?.loadId) || '');
  }

  async function saveAllProblems(): Promise<void> {
    try {
      const text = await problemsAsCsv();
      const link = document.createElement('a');
      link.href = URL.createObjectURL(new Blob([text], { type: 'text/csv' }));
      link.download = `${store.state.target.table || 'problems'}-problems.csv`;
      link.click();
      setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
    } catch (error) {
      say(failureOf(error).detail);
    }
  }

  function openGroup(key: string | undefined): void {
    update((state) =>
      state.check.is === 'ready'
        ? { ...state, check: { is: 'ready', value: { ...state.check.value, openGroup: key } } }
        : state,
    );
  }

  function applyFix(fix: Fix): void {
    const { reading, ...others } = withFix(store.state, fix);
    update((state) => ({ ...state, ...others, reading: state.reading }));
    checkWith(reading);
  }

  function keepFaultyRows(): void {
    changeRows({ leaveOutFaulty: false, maxFaulty: noRules.maxFaulty });
    check();
  }

  /** Reads the row of a problem from the file. */
  async function showProblem(problem: Problem | undefined): Promise<void> {
    if (problem === undefined) {
      update((state) => ({ ...state, shownProblem: undefined }));
      return;
    }
    update((state) => ({ ...state, shownProblem: { problem, row: { is: 'busy', sentBytes: 0 } } }));
    const row = await readRow(problem).catch((error: unknown) => ({
      is: 'failed' as const,
      failure: failureOf(error),
    }));
    update((state) =>
      state.shownProblem?.problem === problem ? { ...state, shownProblem: { problem, row } } : state,
    );
  }

  async function readRow(problem: Problem): Promise<NonNullable<State['shownProblem']>['row']> {
    const { file, reading, inspection, columns } = store.state;
    if (file === undefined || inspection.is !== 'ready') return { is: 'none' };
    await requireFile();
    const cell = problem.cell === undefined ? undefined : cellOf(problem.cell);
    if (cell !== undefined) {
      const sheet = problem.sheet ?? reading.sheet;
      const answer = await readCells(file, sheet, `A${cell.row}:XFD${cell.row}`);
      return { is: 'ready', value: rowOfSheet(answer, columns, cell.column) };
    }
    if (file.kind === 'spreadsheet') return { is: 'none' };
    const object = await rowOfJson(file.content, file.kind, problem);
    if (object === undefined) return { is: 'none' };
    const names = columns.map(({ name }) => name);
    const values = columns.map(({ header }) => {
      const value = object[header];
      return value === undefined || value === null
        ? null
        : typeof value === 'string'
          ? value
          : JSON.stringify(value);
    });
    return { is: 'ready', value: { names, values, marked: names.indexOf(problem.column ?? '') } };
  }

  /** Sends the file and loads it. */
  async function load(): Promise<void> {
    const { file, inspection } = store.state;
    if (file === undefined || isRunning(store.state.load)) return;
    sending = new AbortController();
    const { signal } = sending;
    const begun: LoadProgress = {
      fileName: file.name,
      fileBytes: file.size,
      expectedRows: inspection.is === 'ready' ? inspection.value.rowCount : undefined,
      sentBytes: 0,
      startedAt: performance.now(),
      rowsSince: undefined,
      id: undefined,
      load: undefined,
      isCancelling: false,
      result: undefined,
      rows: undefined,
      rowsFailure: undefined,
      failure: undefined,
      lost: undefined,
    };
    update((state) => ({ ...state, step: 'load', load: begun, announcement: `${file.name} is being sent.` }));
    let answer: Load | LoadedTable;
    try {
      await requireFile();
      answer = await sendUpload({
        dry_run: false,
        signal,
        onSent: (sentBytes) => changeLoad({ sentBytes }),
      });
    } catch (error) {
      failLoad(error);
      return;
    }
    // A service without records of loads answers with the table.
    if (!('state' in answer)) await finishLoad(answer);
    else {
      noteLoad(answer);
      await follow(answer.id);
    }
  }

  /** Follows the load on the page until it has ended. Only its record says how it ended: after an error on the way that is not known. */
  async function follow(id: string): Promise<void> {
    let last: Load | undefined;
    changeLoad({ lost: undefined });
    try {
      for await (const load of client.watch(id)) {
        if (shownLoadId() !== id) return;
        last = load;
        noteLoad(load);
      }
    } catch (error) {
      if (shownLoadId() !== id) return;
      const lost = failureOf(error);
      changeLoad({ lost });
      say(lost.detail);
      return;
    }
    if (last !== undefined) await endLoad(last);
  }

  /** Asks again how the load goes on, after the connection or the token was lost. */
  function lookAgain(): void {
    const { load } = store.state;
    if (load?.lost !== undefined && load.id !== undefined) follow(load.id);
  }

  async function endLoad(load: Load): Promise<void> {
    let result: LoadedTable;
    try {
      result = resultOf(load) ?? shortResult(load);
    } catch (error) {
      failLoad(error);
      return;
    }
    await finishLoad(result);
  }

  function changeLoad(to: Partial<LoadProgress>): void {
    update((state) => (state.load ? { ...state, load: { ...state.load, ...to } } : state));
  }

  function noteLoad(load: Load): void {
    const { rowsSince, fileName } = store.state.load ?? {};
    sessionStorage.setItem(loadKey, JSON.stringify({ id: load.id, fileName }));
    const isReading = load.rows_read > 0 && rowsSince === undefined;
    changeLoad({ load, id: load.id, ...(isReading && { rowsSince: performance.now() }) });
  }

  async function finishLoad(result: LoadedTable): Promise<void> {
    // The check was about the table before this load. Another load of the file needs a new check.
    update((state) => ({
      ...state,
      check: { is: 'none' },
      checkedRequest: undefined,
      shownProblem: undefined,
    }));
    changeLoad({ result });
    if (store.state.file !== undefined) lookUpTarget();
    const { schema, name } = result.table;
    say(`The rows are in the table ${schema}.${name}.`);
    try {
      changeLoad({ rows: await client.rows(name, { schema, limit: 20 }) });
    } catch (error) {
      changeLoad({ rowsFailure: failureFrom(error) });
    }
    update((state) => ({ ...state, tables: { is: 'none' } }));
  }

  function failLoad(error: unknown): void {
    const failure = failureOf(error);
    // The service may have stored the file, although its answer has not arrived.
    const isKnown = !(error instanceof ConnectionError);
    changeLoad({ ...(isKnown ? { failure } : { lost: failure }), isCancelling: false });
    say(failure.detail);
  }

  async function cancelLoad(): Promise<void> {
    const { load } = store.state;
    if (load === undefined) return;
    changeLoad({ isCancelling: true });
    if (load.id === undefined) {
      sending.abort(new Error('You have cancelled the load. Nothing was changed.'));
      return;
    }
    try {
      await client.cancel(load.id);
    } catch (error) {
      if (error instanceof ProblemError && error.code === 'load-ended') return;
      // The load goes on, and the page still follows it.
      changeLoad({ isCancelling: false });
      say(failureOf(error).detail);
    }
  }

  const shownLoadId = (): string | undefined => store.state.load?.id;

  /** Finds the load of this tab again after the page was loaded again. */
  async function findLoad(): Promise<void> {
    const kept = keptLoadOf(sessionStorage.getItem(loadKey));
    if (kept === undefined || store.state.load !== undefined || store.state.file !== undefined) return;
    const { id } = kept;
    try {
      const found = await client.describeLoad(id);
      if (store.state.load !== undefined || store.state.file !== undefined) return;
      const { table } = found;
      const again: LoadProgress = {
        fileName: kept.fileName ?? `${table.schema}.${table.name}`,
        fileBytes: found.bytes_expected ?? found.bytes_received,
        expectedRows: undefined,
        sentBytes: found.bytes_received,
        startedAt: performance.now(),
        rowsSince: undefined,
        id,
        load: found,
        isCancelling: found.cancel_requested,
        result: undefined,
        rows: undefined,
        rowsFailure: undefined,
        failure: undefined,
        lost: undefined,
      };
      update((state) => ({ ...state, step: 'load', load: again }));
    } catch (error) {
      if (error instanceof ProblemError && error.code === 'load-not-found')
        sessionStorage.removeItem(loadKey);
      else say(failureOf(error).detail);
      return;
    }
    await follow(id);
  }

  async function readTables(): Promise<void> {
    update((state) =>
      state.tables.is === 'ready' ? state : { ...state, tables: { is: 'busy', sentBytes: 0 } },
    );
    try {
      const tables: ListedTable[] = [];
      for await (const table of client.tables({ limit: 1000 })) {
        tables.push(table);
        if (tables.length >= maxTables) break;
      }
      update((state) => ({ ...state, tables: { is: 'ready', value: { tables } } }));
    } catch (error) {
      update((state) => ({ ...state, tables: { is: 'failed', failure: failureOf(error) } }));
    }
  }

  async function readTable(schema: string, name: string): Promise<void> {
    update((state) => ({ ...state, table: { is: 'busy', sentBytes: 0 } }));
    try {
      const [{ table }, rows] = await Promise.all([
        client.describeTable(name, { schema }),
        client.rows(name, { schema, limit: 100 }),
      ]);
      update((state) => ({ ...state, table: { is: 'ready', value: { table, rows } } }));
    } catch (error) {
      update((state) => ({ ...state, table: { is: 'failed', failure: failureOf(error) } }));
    }
  }

  async function readLoads(): Promise<void> {
    update((state) =>
      state.loads.is === 'ready' ? state : { ...state, loads: { is: 'busy', sentBytes: 0 } },
    );
    try {
      const loads: ListedLoad[] = [];
      let hasMore = false;
      for await (const load of client.loads({ limit: 200 })) {
        if (loads.length >= maxLoads) {
          hasMore = true;
          break;
        }
        loads.push(load);
      }
      update((state) => ({ ...state, loads: { is: 'ready', value: { loads, hasMore } } }));
    } catch (error) {
      update((state) => ({ ...state, loads: { is: 'failed', failure: failureOf(error) } }));
    }
  }

  async function watchOne(id: string): Promise<void> {
    update((state) => ({ ...state, oneLoad: { is: 'busy', sentBytes: 0 } }));
    const isShown = (): boolean => store.state.route.page === 'one-load' && store.state.route.id === id;
    try {
      const first = await client.describeLoad(id);
      update((state) => ({ ...state, oneLoad: { is: 'ready', value: first } }));
      if (hasEnded(first)) return;
      for await (const load of client.watch(id)) {
        if (!isShown()) return;
        update((state) => ({ ...state, oneLoad: { is: 'ready', value: load } }));
      }
    } catch (error) {
      if (isShown()) update((state) => ({ ...state, oneLoad: { is: 'failed', failure: failureOf(error) } }));
    }
  }

  async function cancelOne(id: string): Promise<void> {
    await client.cancel(id).catch((error: unknown) => say(failureOf(error).detail));
  }

  async function openColumn(index: number): Promise<void> {
    update((state) => ({
      ...state,
      dialog: { is: 'column', index, tables: undefined, referenced: undefined },
    }));
    const tables: ListedTable[] = [];
    try {
      for await (const table of client.tables({ limit: 1000 })) {
        tables.push(table);
        if (tables.length >= maxTables) break;
      }
    } catch {
      // Without the scope table:read the names can still be typed.
    }
    changeDialog({ tables });
    const { reference } = store.state.columns[index] ?? {};
    if (reference) readReferenced(reference.schema, reference.table);
  }

  async function readReferenced(schema: string, name: string): Promise<void> {
    const found: TableDescription | undefined = await client.describeTable(name, { schema }).then(
      ({ table }) => table,
      () => undefined,
    );
    changeDialog({ referenced: found });
  }

  function changeDialog(to: object): void {
    update((state) =>
      state.dialog?.is === 'column' ? { ...state, dialog: { ...state.dialog, ...to } } : state,
    );
  }

  function showDialog(dialog: State['dialog']): void {
    update((state) => ({ ...state, dialog }));
  }

  async function copy(text: string): Promise<void> {
    try {
      await navigator.clipboard.writeText(text);
      say('Copied.');
    } catch {
      say('The browser did not allow copying. Select the text and copy it.');
    }
  }

  return {
    signInWith,
    signOut,
    startSignIn: signInAtProvider,
    go,
    open,
    chooseFile,
    forgetFile,
    inspect,
    changeReading,
    noteReading,
    openReading,
    takeChoice,
    readTop,
    closeTop,
    changeColumn,
    changeColumns,
    changeTarget,
    changeRows,
    showStep,
    check,
    stopCheck,
    readAllProblems,
    saveAllProblems,
    openGroup,
    applyFix,
    keepFaultyRows,
    showProblem,
    load,
    lookAgain,
    cancelLoad,
    filterTables: (tableFilter: string) => update((state) => ({ ...state, tableFilter })),
    cancelOne,
    openColumn,
    readReferenced,
    showDialog,
    copy,
    keepsDefinition: () => keepsDefinition(store.state),
  };
}

const maxTables = 10_000;
const maxLoads = 1000;

/** Returns whether a person has stopped the request, or another one replaces it. */
function wasStopped({ aborted, reason }: AbortSignal): boolean {
  return aborted && !(reason instanceof ChangedFileError);
}

/** The service keeps no answer of more than 1 MiB. Then the page shows what the load itself says. */
function shortResult({ table, rows_read: rows, created_at: from, ended_at: to }: Load): LoadedTable {
  const { schema, name } = table;
  return {
    table: { schema, name, columns: [], constraints: { unique: [], primary_key: null, foreign_keys: [] } },
    load: {
      rows,
      skipped: 0,
      updated: 0,
      format: '',
      warnings: [],
      duration_ms: to === null ? 0 : Date.parse(to) - Date.parse(from),
    },
  } as unknown as LoadedTable;
}

function failureFrom(error: unknown): Failure {
  if (error instanceof ProblemError) {
    const { title, detail, code, errors, errorCount, errorGroups: groups, warnings, loadId } = error;
    return { title, detail, code, errors, errorCount, groups, warnings, loadId };
  }
  const isOfFile = error instanceof ChangedFileError;
  const title =
    error instanceof ConnectionError
      ? 'The service does not answer'
      : isOfFile
        ? 'The file cannot be read'
        : 'The request was not done';
  const detail = error instanceof Error ? error.message : String(error);
  return {
    title,
    detail,
    code: undefined,
    errors: [],
    errorCount: 0,
    groups: [],
    warnings: [],
    loadId: undefined,
    isOfFile,
  };
}
