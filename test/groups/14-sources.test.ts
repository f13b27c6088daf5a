/** Runs the unit tests of src/readers except those of src/readers/spreadsheet, in one process. */
import { runFiles } from '../support/run-files.ts';

runFiles('src/readers/*.test.ts', 'src/readers/!(spreadsheet)/**/*.test.ts');
