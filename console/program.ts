/** The parts of the page that are loaded after its start. */
export { createActions } from './actions/create-actions.ts';
export { losesWork } from './derived/load.ts';
export { losesDraft } from './derived/table-draft.ts';
export { app } from './views/app.ts';
