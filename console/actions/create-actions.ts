/**
 * Everything that a user can do. Each file imported here has the actions of one step or page. An action calls the service and
 * changes the state of the page.
 */
import type { Store } from '../store.ts';
import * as changeColumns from './change-columns.ts';
import * as changes from './changes.ts';
import * as check from './check.ts';
import * as checkAlone from './check-alone.ts';
import * as chooseFile from './choose-file.ts';
import * as columns from './columns.ts';
import * as corrections from './corrections.ts';
import * as dialogs from './dialogs.ts';
import * as download from './download.ts';
import * as faultyRows from './faulty-rows.ts';
import * as file from './file.ts';
import * as followLoad from './follow-load.ts';
import * as homes from './homes.ts';
import * as load from './load.ts';
import { createPage, type Page } from './page.ts';
import * as pages from './pages.ts';
import * as problems from './problems.ts';
import * as profiles from './profiles.ts';
import * as signIn from './sign-in.ts';
import * as table from './table.ts';
import * as tableRows from './table-rows.ts';
import * as together from './together.ts';

const steps = {
  ...signIn,
  ...pages,
  ...chooseFile,
  ...file,
  ...columns,
  ...check,
  ...checkAlone,
  ...problems,
  ...corrections,
  ...load,
  ...followLoad,
  ...dialogs,
  ...table,
  sortRows: tableRows.sortRows,
  turnRows: tableRows.turnRows,
  ...changeColumns,
  ...download,
  ...changes,
  ...faultyRows,
  ...profiles,
  ...homes,
  ...together,
};

type Steps = typeof steps;
type ActionOn<Does> = Does extends (page: Page, ...facts: infer Facts) => infer Result
  ? (...facts: Facts) => Result
  : never;

/** The actions with the page already bound, as the views call them. */
export type Actions = { [Name in keyof Steps]: ActionOn<Steps[Name]> };

export function createActions(store: Store): Actions {
  const page = createPage(store);
  const onPage = (action: (page: Page, ...facts: never[]) => unknown) => action.bind(undefined, page);
  return Object.fromEntries(Object.entries(steps).map(([name, action]) => [name, onPage(action)])) as Actions;
}
