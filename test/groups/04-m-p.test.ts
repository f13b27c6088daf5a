/** Runs the test files in test/ whose names begin with m to p, in one process. */
import { runFiles } from '../support/run-files.ts';

runFiles('test/[m-p]*.test.ts');
