/** Runs the test files in test/ whose names begin with l, in one process. */
import { runFiles } from '../support/run-files.ts';

runFiles('test/l*.test.ts');
