/** Runs the unit tests of src/readers/spreadsheet, in one process. */
import { runFiles } from '../support/run-files.ts';

runFiles('src/readers/spreadsheet/**/*.test.ts');
