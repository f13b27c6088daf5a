/** Runs the test files in test/ whose names begin with d, in one process. */
import { runFiles } from '../support/run-files.ts';

runFiles('test/d*.test.ts');
