/** Runs the unit tests of src/sources except those of src/sources/spreadsheet, in one process. */
import { runFiles } from '../support/run-files.ts';

runFiles('src/sources/*.test.ts', 'src/sources/!(spreadsheet)/**/*.test.ts');
