/** Runs the test files in test/ whose names begin with e, in one process. */
import { runFiles } from '../support/run-files.ts';

runFiles('test/e*.test.ts');
