/** What a person can do: each function talks to the service and changes what the page knows. */

import {
  type Client,
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
import { newKey } from '../client/new-key.ts';
import { sleep } from '../client/sleep.ts';
import { ChangedFileError, changeOf } from './chosen-file.ts';
import { createConnection } from './connection.ts';
import type { OfferedChoice } from './derived/choices.ts';
import { withPlans } from './derived/columns.ts';
import { kindOf, proposedReading, readingQuery } from './derived/file.ts';
import { type Fix, withFix } from './derived/fixes.ts';
import { inspectionOfJson, inspectionOfSheet } from './derived/inspection.ts';
import { isRunning, type KeptLoad, keptLoadOf } from './derived/load.ts';
import { cellOf, rowOfSheet } from './derived/problems.ts';
import { planFaults, requestText, uploadPlan } from './derived/request.ts';
import { hashOf } from './derived/routes.ts';
import { claimsOf, isTokenFailure, pastedToken, withoutTokenFailures } from './derived/session.ts';
import { waitsForService } from './derived/steps.ts';
import { keepsDefinition, noRules, targetOf } from './derived/target.ts';
import { plural } from './derived/words.ts';
import { failureFrom } from './failure.ts';
import { jsonWithDefinition } from './json-with-definition.ts';
import {
  type Ended,
  endOf,
  endOfAnswer,
  endOfRefusal,
  endOfUnsent,
  recordOf,
  shortResult,
} from './load-outcome.ts';
import { rowOfJson } from './row-of-json.ts';
import { serviceUrl } from './service-url.ts';
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

/** The load of this tab (`KeptLoad`). */
const loadKey = 'tablewright.load';

export type Actions = ReturnType<typeof createActions>;

export function createActions(store: Store) {
  const { update } = store;
  const token = (): string | undefined => store.state.session.token;
  const connection = createConnection(
    () => waitsForService(store.state),
    (isAnswering) => {
      if (store.state.isAnswering !== isAnswering) update((state) => ({ ...state, isAnswering }));
    },
  );
  const { transport } = connection;
  const client: Client = createClient({
    url: serviceUrl,
    token,
    transport,
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
    const session = sessionOf(value, signIn);
    const { worker } = store.state;
    // The file and the choices are another person's. They must not be sent with this token.
    if (worker !== undefined && worker !== session.subject) {
      forgetFile();
      update(({ route }) => initialState(session, route));
    }
    const before = store.state;
    update((state) => ({ ...withoutTokenFailures(state), session, worker: session.subject }));
    if (isTokenFailure(before.inspection)) inspect(before.reading);
    if (isTokenFailure(before.existing)) lookUpTarget();
    open(store.state.route);
    lookAgain();
  }

  /**
   * Takes the token of a sign-in link. A link may come from anybody, so it replaces nobody without a question: the file would be sent with
   * the rights of another person.
   */
  async function followLink(text: string): Promise<void> {
    const { session, worker } = store.state;
    const value = pastedToken(text);
    const subject = claimsOf(value)?.subject;
    const isSame = subject !== undefined && subject === worker;
    if (session.token === undefined && (worker === undefined || isSame)) return signInWith(value);
    const problem = await problemOfToken(value);
    if (problem === undefined && isSame) return signInWith(value);
    update((state) => ({ ...state, dialog: { is: 'link', token: value, subject, problem } }));
  }

  /** Returns why the service does not accept the token. A token that may not list loads is valid. */
  async function problemOfToken(value: string): Promise<string | undefined> {
    try {
      const asking = createClient({
        url: serviceUrl,
        token: value,
        transport,
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

  /** Reads an encrypted workbook with its password. */
  function openWith(password: string): void {
    update((state) => ({ ...state, ...(state.file && { file: { ...state.file, password } }) }));
    inspect(store.state.reading);
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
      const ask = (asked: object) => client.inspect({ ...asked, ...sentOf(file), signal, onSent });
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
        ...withPlans(state, inspection),
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
      ...sentOf(file),
      ...(signal && { signal }),
    });
    return answer as InspectedSpreadsheet;
  }

  async function sendUpload(options: {
    dry_run: boolean;
    signal: AbortSignal;
    idempotencyKey?: string | undefined;
    onSent: (bytes: number) => void;
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
      onSent: (bytes) => {
        connection.hear();
        options.onSent(bytes);
      },
      schema,
      table,
      ...sentOf(file!),
      ...(wrapped && { file: wrapped, kind: 'json' as const }),
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
      connection.hear();
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
      const all: Problem[] = [];
      for await (const problem of client.problems(checkedLoadId(), { limit: 10_000 })) all.push(problem);
      changeCheck({ isReadingAll: false, all });
    } catch (error) {
      changeCheck({ isReadingAll: false });
      say(failureOf(error).detail);
    }
  }

  /** Returns the load of the check. The page asks only for the problems of a load that is recorded. */
  function checkedLoadId(): string {
    const { check } = store.state;
    return (check.is === 'ready' && check.value.failure?.loadId) || '';
  }

  async function saveAllProblems(): Promise<void> {
    try {
      const text = await client.problemsCsv(checkedLoadId());
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
    const begun = newLoad({
      key: newKey(),
      fileName: file.name,
      fileBytes: file.size,
      expectedRows: inspection.is === 'ready' ? inspection.value.rowCount : undefined,
    });
    update((state) => ({ ...state, step: 'load', load: begun, announcement: `${file.name} is being sent.` }));
    try {
      await requireFile();
    } catch (error) {
      await endLoad(endOfUnsent(failureOf(error)));
      return;
    }
    keepLoad({ key: begun.key, fileName: file.name });
    try {
      const answer = await sendLoad();
      if ('state' in answer) await follow(answer);
      else await endLoad(endOfAnswer(answer));
    } catch (error) {
      // Otherwise the load was cancelled while it was sent, and the page follows it.
      if (store.state.load?.outcome.is === 'sending') await findEnd(error);
    }
  }

  async function sendLoad(): Promise<Load | LoadedTable> {
    const { signal } = sending;
    const send = (idempotencyKey?: string) =>
      sendUpload({
        dry_run: false,
        signal,
        idempotencyKey,
        onSent: (sentBytes) => changeLoad({ sentBytes }),
      });
    try {
      return await send(store.state.load?.key);
    } catch (error) {
      if (!(error instanceof ProblemError) || error.code !== 'not-enabled') throw error;
      // A service without records keeps no keys, and answers with the table.
      changeLoad({ key: undefined });
      return send();
    }
  }

  /** Finds out how a load has ended whose upload was not answered with success. */
  async function findEnd(error: unknown): Promise<void> {
    const refused = endOfRefusal(error);
    if (refused !== undefined) return endLoad(refused, error);
    const reason = failureOf(error);
    const id = error instanceof ProblemError ? error.loadId : undefined;
    const record = await (id === undefined ? findRecord() : client.describeLoad(id)).catch(() => undefined);
    if (record !== undefined) return follow(record);
    // The request had no end, and without a record the service has begun nothing.
    if (error instanceof ChangedFileError) return endLoad(endOfUnsent(reason));
    loseLoad(reason);
  }

  /** Returns the record of the load by the key of its upload; undefined: the service has none, or not yet. */
  async function findRecord(key = store.state.load?.key): Promise<Load | undefined> {
    if (key === undefined) return undefined;
    for await (const { id } of client.loads({ idempotency_key: key, limit: 1 }))
      return client.describeLoad(id);
    return undefined;
  }

  /** Follows the load on the page until it has ended. */
  async function follow(first: Load): Promise<void> {
    const { id } = first;
    let last = first;
    noteLoad(first);
    try {
      for await (const load of client.watch(id)) {
        if (shownLoadId() !== id) return;
        connection.hear();
        last = load;
        noteLoad(load);
      }
    } catch (error) {
      if (shownLoadId() === id) loseLoad(failureOf(error));
      return;
    }
    await endLoad(endOf(last));
  }

  /** After an error on the way the page does not know how the load goes on. */
  function loseLoad(reason: Failure): void {
    const { outcome } = store.state.load ?? {};
    changeLoad({
      outcome: { is: 'unknown', reason, record: outcome && recordOf(outcome) },
      isCancelling: false,
    });
    say(reason.detail);
  }

  /** Asks again how the load goes on, after the connection or the token was lost. */
  async function lookAgain(): Promise<void> {
    const { outcome } = store.state.load ?? {};
    if (outcome?.is !== 'unknown') return;
    try {
      const record = outcome.record ?? (await findRecord());
      if (record !== undefined) await follow(record);
      else say('The service still knows nothing of the load.');
    } catch (error) {
      loseLoad(failureOf(error));
    }
  }

  function changeLoad(to: Partial<LoadProgress>): void {
    update((state) => (state.load ? { ...state, load: { ...state.load, ...to } } : state));
  }

  function noteLoad(record: Load): void {
    const { rowsSince, fileName } = store.state.load ?? {};
    keepLoad({ id: record.id, ...(fileName !== undefined && { fileName }) });
    const isReading = record.rows_read > 0 && rowsSince === undefined;
    changeLoad({
      outcome: { is: 'running', record },
      ...(isReading && { rowsSince: performance.now() }),
    });
  }

  async function endLoad(end: Ended, error?: unknown): Promise<void> {
    if (end.result !== undefined) {
      // The check was about the table before this load. Another load of the file needs a new check.
      update((state) => ({
        ...state,
        check: { is: 'none' },
        checkedRequest: undefined,
        shownProblem: undefined,
      }));
    }
    changeLoad({ outcome: end, isCancelling: false });
    if (end.result === undefined) {
      // Another token may be needed.
      if (error !== undefined) failureOf(error);
      say(end.failure?.detail ?? '');
      return;
    }
    await showResult(end.result);
  }

  async function showResult({ table: { schema, name } }: LoadedTable): Promise<void> {
    if (store.state.file !== undefined) lookUpTarget();
    say(`The rows are in the table ${schema}.${name}.`);
    try {
      changeLoad({ rows: await client.rows(name, { schema, limit: 20 }) });
    } catch (error) {
      changeLoad({ rowsFailure: failureFrom(error) });
    }
    update((state) => ({ ...state, tables: { is: 'none' } }));
  }

  /** Cancels the load by its record. If the page only gave up its request, the load could be committed all the same. */
  async function cancelLoad(): Promise<void> {
    const { load } = store.state;
    if (load === undefined) return;
    changeLoad({ isCancelling: true });
    try {
      const record = await awaitRecord();
      if (record === undefined) return;
      await client.cancel(record.id).catch((error: unknown) => {
        // Its record says how it has ended.
        if (!(error instanceof ProblemError) || error.code !== 'load-ended') throw error;
      });
      if (store.state.load?.outcome.is !== 'sending') return;
      const following = follow(record);
      sending.abort(new Error('The load was cancelled.'));
      await following;
    } catch (error) {
      // The load goes on, and the page still follows it.
      changeLoad({ isCancelling: false });
      say(failureOf(error).detail);
    }
  }

  /** Returns the record of the load, as soon as there is one; undefined: the upload was answered without one, or there will be none. */
  async function awaitRecord(): Promise<Load | undefined> {
    for (;;) {
      const { outcome, key } = store.state.load!;
      if (outcome.is !== 'sending') return recordOf(outcome);
      if (key === undefined) {
        // Without records nothing else can end the load, and nothing says whether it has ended before.
        sending.abort(new Error('The load was given up before the service had answered.'));
        return undefined;
      }
      const record = await findRecord();
      if (record !== undefined) return record;
      await sleep(recordPauseMs);
    }
  }

  function shownLoadId(): string | undefined {
    const { outcome } = store.state.load ?? {};
    return outcome && recordOf(outcome)?.id;
  }

  /** Finds the load of this tab again after the page was loaded again. */
  async function findLoad(): Promise<void> {
    const kept = keptLoadOf(sessionStorage.getItem(loadKey));
    const isBusy = (): boolean => store.state.load !== undefined || store.state.file !== undefined;
    if (kept === undefined || isBusy()) return;
    try {
      const { id, key } = kept;
      const found = await (id === undefined ? findRecord(key) : client.describeLoad(id));
      if (isBusy()) return;
      if (found === undefined) {
        sessionStorage.removeItem(loadKey);
        return;
      }
      const { table } = found;
      const load = {
        ...newLoad({
          key: kept.key,
          fileName: kept.fileName ?? `${table.schema}.${table.name}`,
          fileBytes: found.bytes_expected ?? found.bytes_received,
          expectedRows: undefined,
        }),
        sentBytes: found.bytes_received,
        isCancelling: found.cancel_requested,
      };
      update((state) => ({ ...state, step: 'load', load }));
      await follow(found);
    } catch (error) {
      if (error instanceof ProblemError && error.code === 'load-not-found')
        sessionStorage.removeItem(loadKey);
      else say(failureOf(error).detail);
    }
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
    followLink,
    signOut,
    startSignIn: signInAtProvider,
    go,
    open,
    chooseFile,
    forgetFile,
    openWith,
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

/** Returns the file as the client sends it. */
function sentOf({ content: file, name, kind, password }: ChosenFile) {
  return { file, name, kind, password };
}

const maxTables = 10_000;
const maxLoads = 1000;

/** Returns whether a person has stopped the request, or another one replaces it. */
function wasStopped({ aborted, reason }: AbortSignal): boolean {
  return aborted && !(reason instanceof ChangedFileError);
}

/** How long to wait before the record of a load is looked for again. */
const recordPauseMs = 250;

function keepLoad(load: KeptLoad): void {
  sessionStorage.setItem(loadKey, JSON.stringify(load));
}

function newLoad(facts: Pick<LoadProgress, 'key' | 'fileName' | 'fileBytes' | 'expectedRows'>): LoadProgress {
  return {
    ...facts,
    sentBytes: 0,
    startedAt: performance.now(),
    rowsSince: undefined,
    isCancelling: false,
    outcome: { is: 'sending' },
    rows: undefined,
    rowsFailure: undefined,
  };
}
