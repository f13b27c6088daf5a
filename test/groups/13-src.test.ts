/** Runs the unit tests of src except those of src/sources, in one process. */
import { runFiles } from '../support/run-files.ts';

runFiles('src/*.test.ts', 'src/!(sources)/**/*.test.ts');
