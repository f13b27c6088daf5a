/** Runs the unit tests of src/sources/spreadsheet, in one process. */
import { runFiles } from '../support/run-files.ts';

runFiles('src/sources/spreadsheet/**/*.test.ts');
