/** Runs the unit tests of src/sources, in one process. */
import { runFiles } from '../support/run-files.ts';

runFiles('src/sources/**/*.test.ts');
