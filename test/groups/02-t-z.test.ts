/** Runs the test files in test/ whose names begin with t to z, in one process. */
import { runFiles } from '../support/run-files.ts';

runFiles('test/[t-z]*.test.ts');
