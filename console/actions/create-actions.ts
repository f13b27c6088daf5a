/** What a person can do. Each file of this folder has the actions of one step or page: functions of the page, which talk to the service and change what the page knows. */
import type { Store } from '../store.ts';
import { applyFix, check, keepFaultyRows, stopCheck, takeChoice } from './check.ts';
import { changeColumn, changeColumns, changeRows, changeTarget, showStep } from './columns.ts';
import { copy, openColumn, readReferenced, showDialog } from './dialogs.ts';
import {
  changeReading,
  chooseFile,
  closeTop,
  forgetFile,
  inspect,
  noteReading,
  openReading,
  readTop,
} from './file.ts';
import { lookAgain } from './follow-load.ts';
import { cancelLoad, load } from './load.ts';
import { createPage, type Page } from './page.ts';
import { cancelOne, filterTables, open } from './pages.ts';
import { openGroup, readAllProblems, saveAllProblems, showProblem } from './problems.ts';
import { followLink, signInAtProvider, signInWith, signOut } from './sign-in.ts';

const all = {
  signInWith,
  followLink,
  signOut,
  startSignIn: signInAtProvider,
  open,
  filterTables,
  cancelOne,
  chooseFile,
  forgetFile,
  inspect,
  changeReading,
  noteReading,
  openReading,
  readTop,
  closeTop,
  takeChoice,
  check,
  stopCheck,
  applyFix,
  keepFaultyRows,
  changeColumn,
  changeColumns,
  changeTarget,
  changeRows,
  showStep,
  readAllProblems,
  saveAllProblems,
  openGroup,
  showProblem,
  load,
  cancelLoad,
  lookAgain,
  openColumn,
  readReferenced,
  showDialog,
  copy,
};

type ActionOn<Does> = Does extends (page: Page, ...facts: infer Facts) => infer Result
  ? (...facts: Facts) => Result
  : never;

/** The actions as the views call them. */
export type Actions = { [Name in keyof typeof all]: ActionOn<(typeof all)[Name]> };

export function createActions(store: Store): Actions {
  const page = createPage(store);
  const onPage = (action: (page: Page, ...facts: never[]) => unknown) => action.bind(undefined, page);
  return Object.fromEntries(Object.entries(all).map(([name, action]) => [name, onPage(action)])) as Actions;
}
