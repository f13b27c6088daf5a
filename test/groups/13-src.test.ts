/** Runs the unit tests of src except those of src/readers, in one process. */
import { runFiles } from '../support/run-files.ts';

runFiles('src/*.test.ts', 'src/!(readers)/**/*.test.ts');
